"""The fault drill: real processes against the simulator, under faults, and a table of what held.

`python -m tests.drill` runs it; docs/reliability.md says what is promised and what was tried.
"""

import app.store  # noqa: F401 - the fixed SQLite library before anything else can import another
