"""`thinkledger migrate`: an older store gets this version's schema, with a backup first."""

from typing import Annotated

import typer

from worker import cli_context


def register(app: typer.Typer) -> None:
    app.command("migrate", help=HELP)(migrate)


HELP = """Bring an older store to this version's schema, after a backup into STORE.backups/.

Refused while a worker or a server runs on it.
"""


def migrate(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be done.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Upgrade, or say that there is nothing to do."""
    settings = cli_context.context(ctx)

    async def command() -> None:
        from app.keeping.migrate import migrate as upgrade
        from app.store.place import locate, need_file
        from worker.bar import shown

        need_file(locate(settings.db), "migrate", "There is one schema for PostgreSQL so far.")
        with shown(settings, "backup") as show:
            done = await upgrade(settings.db, show, dry_run=dry_run)
        if as_json:
            kept = None if done.backup is None else str(done.backup)
            cli_context.put_json({"from": done.found, "to": done.wanted, "backup": kept, "dry_run": dry_run})
        elif done.found == done.wanted:
            cli_context.put(f"The store has the schema {done.wanted} already: nothing to do.")
        elif done.backup is None:
            cli_context.put(f"The schema {done.found} would become {done.wanted}, after a backup. Nothing was changed.")
        else:
            cli_context.put(f"The schema {done.found} became {done.wanted}. The store as it was: {done.backup}")

    cli_context.run(command)
