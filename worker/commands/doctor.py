"""`thinkledger doctor`: whether machine, store and endpoints are well, and what to do where they are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.model.exits import Exit
from worker import cli_context

if TYPE_CHECKING:
    from worker.doctor import Check, Endpoint


def register(app: typer.Typer) -> None:
    app.command("doctor", help=HELP)(doctor)


HELP = """Check the SQLite library, the file system, locks, disk, store, backup, workers, clock and endpoints.

One line a check. Warnings exit 0; a failure exits by its kind: 5 for a dead endpoint, 8 for a damaged store.
"""


def doctor(
    ctx: typer.Context,
    endpoint: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Base URL of a model server; repeat for several.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(metavar="VAR", help="Environment variable with the API key.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Look at everything once."""
    from worker.commands.start import api_key

    settings = cli_context.context(ctx)
    key = api_key(api_key_env)

    async def command() -> Exit:
        from worker.doctor import Endpoint, exit_of

        checks = await _look(settings.db, [Endpoint(url, key) for url in endpoint or ()], as_json=as_json)
        if as_json:
            facts = [{"name": c.name, "level": c.level, "says": c.says, "todo": c.todo or None} for c in checks]
            cli_context.put_json({"exit": int(exit_of(checks)), "checks": facts})
        return exit_of(checks)

    cli_context.run(command)


async def _look(db: str, endpoints: list[Endpoint], *, as_json: bool) -> list[Check]:
    from app.progress.display import one_line
    from worker.doctor import examine

    checks = []
    async for check in examine(db, endpoints, named=db != cli_context.DEFAULT_DB):
        checks.append(check)
        if not as_json:
            todo = f". To do: {check.todo}" if check.todo else ""
            cli_context.put(one_line(f"{check.level:4}  {check.name:11}  {check.says}{todo}"))
    return checks
