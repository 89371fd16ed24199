"""The door for the `alembic` command when a new migration is written; the program itself uses app.store.migrations."""

from alembic import context
from sqlalchemy import create_engine

import app.store  # noqa: F401 - the SQLite library first
from app.store.tables import METADATA

with create_engine(context.get_x_argument(as_dictionary=True)["url"]).begin() as connection:
    context.configure(connection=connection, target_metadata=METADATA, render_as_batch=True)
    context.run_migrations()
