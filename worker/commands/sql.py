"""`thinkledger sql`: the read-only door to a store."""

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Annotated

import click
import typer

from worker import cli_context

WIDEST = 60  # characters of a cell of a table


def register(app: typer.Typer) -> None:
    app.command("sql", help=HELP)(sql)


HELP = """Answer one SELECT from the store. Nothing can be changed by it, and workers are not disturbed.

The view `answer` has raw, reasoning and content of every accepted answer.
"""


def sql(
    ctx: typer.Context,
    statement: Annotated[str, typer.Argument(metavar="SELECT", help="One statement.", show_default=False)],
    form: Annotated[
        str,
        typer.Option("--format", click_type=click.Choice(["jsonl", "table"]), help="A JSON object a row, or a table."),
    ] = "jsonl",
) -> None:
    """Print the rows as they come; a blob is {"base64": ...} in JSON and its size in a table."""
    settings = cli_context.context(ctx)

    def show(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
        for line in _lines(columns, rows) if form == "jsonl" else _table(columns, rows):
            cli_context.put(line)

    async def command() -> None:
        from app.store.looking import look
        from app.store.place import locate, need_file
        from app.store.store import open_store

        need_file(locate(settings.db), "sql", "Use psql.")
        async with open_store(settings.db) as store:
            await look(store.place, statement, show)

    cli_context.run(command)


def _lines(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(dict(zip(columns, map(_value, row), strict=True)))


def _value(value: object) -> object:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _table(columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> Iterator[str]:
    """Tab-separated: the names once, then the rows, each cell on one line and safe for a terminal."""
    if not rows:
        yield "\t".join(columns)
    for row in rows:
        yield "\t".join(map(_cell, row))


def _cell(value: object) -> str:
    from app.progress.display import one_line

    if value is None:
        return "-"
    text = f"{len(value):,} bytes" if isinstance(value, bytes) else one_line(str(value))
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
