"""The process's one SQLite library, for the references' connections and for looks at what a store did."""

import app.store  # noqa: F401 - puts the library in the place of the standard one

import sqlite3  # isort: skip

__all__ = ["sqlite3"]
