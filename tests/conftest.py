"""What holds for every test: the store's SQLite library is the process's only one, whatever is imported later."""

import app.store  # noqa: F401 - makes the fixed library `sqlite3` before anything else can import that
