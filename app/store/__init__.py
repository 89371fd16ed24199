"""The store: one SQLite file, one writer, many readers. The only importer of sqlalchemy, sqlmodel and aiosqlite.

Importing this package makes the fixed SQLite library the process's `sqlite3`; nothing here may be imported before that.
"""

from app.store import library

library.install()
