"""What holds for every test: the store's SQLite library is the process's only one, whatever is imported later; what a
command prints is as wide as its reader's terminal, not as the test runner says; and Ctrl-C reaches it."""

import os
import signal

import app.store  # noqa: F401 - makes the fixed library `sqlite3` before anything else can import that

os.environ.pop("COLUMNS", None)  # given by the runner to processes that run tests side by side

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a shell starts what runs in its background, and all under it
    signal.signal(signal.SIGINT, signal.default_int_handler)
