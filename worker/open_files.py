"""How many files the process may open: each request is a connection, and each connection a file."""

import resource

from app.model.errors import UsageError

OWN_FILES = 64  # the store, its log, locks, libraries


def make_room(concurrency: int, endpoints: int) -> None:
    """Raise the soft limit to the hard one; refuse more connections than that, which would look like dead servers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = files_needed(concurrency, endpoints)
    unlimited = hard == resource.RLIM_INFINITY
    if soft < needed or not unlimited:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed if unlimited else hard, hard))
    if not unlimited and needed > hard:
        most = max(1, (hard - files_needed(0, endpoints)) // endpoints)
        raise UsageError(
            f"--concurrency {concurrency} needs up to {needed:,} open files, and this process may open {hard:,}. "
            f"Give --concurrency {most} or less, or raise the limit (`ulimit -Hn`, LimitNOFILE= of a systemd unit)."
        )


def files_needed(concurrency: int, endpoints: int) -> int:
    """The most files at once: idle connections stay open, so each endpoint may have one a slot."""
    return concurrency * endpoints + OWN_FILES
