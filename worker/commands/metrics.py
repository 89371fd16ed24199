"""`thinkledger metrics`: what `/metrics` of the dashboard tells Prometheus, without a dashboard."""

import sys

import typer

from app.model.exits import Exit
from worker import cli_context

HELP = """Print the metrics of a store in the text form of Prometheus.

The same as /metrics of the dashboard, without a server: for the text file collector of a node exporter.
"""


def register(app: typer.Typer) -> None:
    app.command("metrics", help=HELP)(metrics)


def metrics(ctx: typer.Context) -> None:
    """Read the store once."""
    settings = cli_context.context(ctx)

    async def command() -> Exit:
        from app.progress.metric_facts import metric_facts
        from app.progress.metric_text import metric_text
        from app.store.store import open_store

        async with open_store(settings.db) as store:
            found = await metric_facts(store)
        sys.stdout.write(metric_text(found).decode())
        sys.stdout.flush()
        return Exit.DONE

    cli_context.run(command)
