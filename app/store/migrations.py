"""Alembic, behind two functions. Imported only where a schema is made or refused: it costs 100 ms."""

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from app.paths import data_folder


def scripts() -> ScriptDirectory:
    """The migrations that ship with this version."""
    config = Config()
    config.set_main_option("script_location", str(data_folder("migrations")))
    return ScriptDirectory.from_config(config)


def upgrade(connection: Connection, to: str = "head") -> None:
    """Run the migrations that are missing, in the caller's transaction."""
    script = scripts()

    def steps(revision: object, _context: object) -> object:
        return script._upgrade_revs(to, revision)  # type: ignore[arg-type]  # noqa: SLF001 - what alembic.command.upgrade does

    with EnvironmentContext(Config(), script, fn=steps) as environment:
        environment.configure(connection=connection, transactional_ddl=False, fn=steps)
        environment.run_migrations()


def known() -> set[str]:
    """The schema versions that this program can upgrade from, its own included."""
    return {script.revision for script in scripts().walk_revisions()}
