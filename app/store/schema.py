"""The schema's versions: made on an empty store, checked on every other, upgraded on a person's word."""

from collections.abc import Callable
from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from app.model.errors import IntegrityFailure, UsageError
from app.paths import data_folder


def scripts() -> ScriptDirectory:
    """The migrations that ship with this version."""
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()))
    return ScriptDirectory.from_config(config)


def migrations_folder() -> Path:
    return data_folder("migrations")


def newest() -> str:
    """The schema version of this program."""
    head = scripts().get_current_head()
    assert head is not None
    return head


def present(connection: Connection) -> str | None:
    """The schema version of the store, or None for an empty one."""
    return MigrationContext.configure(connection).get_current_revision()


def ensure(connection: Connection) -> None:
    """Make the schema on an empty store; on any other, refuse a version that is not ours, naming the way out.

    The caller holds the write lock, so of several processes that start at once one makes it and the others find it.
    """
    found = present(connection)
    if found is None and not inspect(connection).get_table_names():
        upgrade(connection)
        return
    refuse_other(found)


def refuse_other(found: str | None) -> None:
    """Refuse every schema version but this program's own."""
    if found == newest():
        return
    if found in {script.revision for script in scripts().walk_revisions()}:
        raise UsageError(
            f"The store has the older schema {found}; this version needs {newest()}. "
            "Stop all workers, then upgrade it with `thinkledger migrate`."
        )
    if found is None:
        raise IntegrityFailure("The store has tables but no schema version. Restore it from a backup.")
    raise UsageError(
        f"The store has the schema {found}, which is newer than this version knows ({newest()}). "
        "Upgrade thinkledger on this machine."
    )


def upgrade(connection: Connection) -> None:
    """Run the migrations that are missing, in the caller's transaction."""
    script = scripts()

    def steps(revision: object, _context: object) -> object:
        return script._upgrade_revs("head", revision)  # type: ignore[arg-type]  # noqa: SLF001 - what alembic.command.upgrade does

    _run(connection, script, steps)


def _run(connection: Connection, script: ScriptDirectory, steps: Callable[[object, object], object]) -> None:
    with EnvironmentContext(Config(), script, fn=steps) as environment:
        environment.configure(connection=connection, transactional_ddl=False, fn=steps)
        environment.run_migrations()
