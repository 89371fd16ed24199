"""A store on PostgreSQL: the same tables, statements and migrations; all that differs from SQLite is in this package.

`opening.open_server` is its door. Nothing here is imported before a `--db postgresql://...` is opened.
"""
