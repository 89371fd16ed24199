"""What holds for every test: the store's SQLite library is the process's only one, whatever is imported later, and
what a command prints is as wide as its reader's terminal, not as the test runner says."""

import os

import app.store  # noqa: F401 - makes the fixed library `sqlite3` before anything else can import that

os.environ.pop("COLUMNS", None)  # given by the runner to processes that run tests side by side
