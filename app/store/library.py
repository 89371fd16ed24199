"""One SQLite library a process, and a fixed one where there is a wheel.

SQLite 3.7.0 to 3.51.2 can lose committed pages in WAL mode (the WAL-reset bug, sqlite.org/wal.html, fixed in 3.51.3),
and two libraries on one file in one process cancel each other's POSIX locks. So `pysqlite3`, which brings a newer
SQLite, takes the place of the standard library's module before anything can import that.
"""

import importlib
import sys

FIXED = (3, 51, 3)


def install() -> None:
    """Make pysqlite3 the process's `sqlite3`, where it is installed; calling it again changes nothing."""
    try:
        replacement = importlib.import_module("pysqlite3")
    except ImportError:  # no wheel for this platform: `is_fixed` tells, doctor and the worker warn
        return
    if sys.modules.get("sqlite3") is replacement:
        return
    if "aiosqlite" in sys.modules:
        raise RuntimeError("aiosqlite was imported before app.store: two SQLite libraries would share one process")
    sys.modules["sqlite3"] = replacement
    sys.modules["sqlite3.dbapi2"] = importlib.import_module("pysqlite3.dbapi2")


def version() -> tuple[int, ...]:
    """The version of the SQLite that this process uses."""
    import sqlite3

    return tuple(int(part) for part in sqlite3.sqlite_version.split("."))


def is_fixed() -> bool:
    """Whether that version is free of the WAL-reset bug."""
    return version() >= FIXED
