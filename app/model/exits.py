"""What the exit code of a command says."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command; scripts and service files rely on them."""

    DONE = 0
    UNEXPECTED = 1
    USAGE = 2  # usage or configuration
    NOT_FOUND = 3  # dataset, sample, file or store
    REFUSED = 4  # for safety: open bind without a token, target exists, needs --yes
    TEMPORARY = 5  # store busy, endpoint unreachable; try again
    INCOMPLETE = 6  # finished, but rows were rejected, left out or failed
    GATE = 7  # reasoning is not captured
    INTEGRITY = 8  # the store or a file is damaged
    RESOURCE = 9  # disk or memory
    INTERRUPTED = 130  # SIGINT, after a clean release
    TERMINATED = 143  # SIGTERM, after a clean release
