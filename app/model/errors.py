"""The errors Thinkledger raises on purpose.

ThinkledgerError
├── UsageError          a setting, a flag or an input that cannot be meant
├── NotFound            no such dataset, sample, file or store
├── Refused             safe only with a person's word
├── Unavailable         busy or unreachable for now
├── IntegrityFailure    what is stored is not what was written
│   └── StoreReplaced   another store lies where ours was
└── ResourceExhausted   disk or memory

Each says what happened and what to do, and knows the exit code it means on the command line.
"""

from app.model.exits import Exit


class ThinkledgerError(Exception):
    """The root. Its text is one or two sentences for a person: what happened, what to do."""

    exit: Exit = Exit.UNEXPECTED


class UsageError(ThinkledgerError):
    """A setting, a flag or an input that cannot be meant."""

    exit = Exit.USAGE


class NotFound(ThinkledgerError):
    """No such dataset, sample, file or store."""

    exit = Exit.NOT_FOUND


_LISTED = 20


def no_such_dataset(name: str, names: list[str]) -> NotFound:
    """What to say when no dataset has that name; `names` are those there are."""
    if not names:
        return NotFound(f"There is no dataset {name!r}: the store is empty. `thinkledger import NAME FILE` makes one.")
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return NotFound(f"There is no dataset {name!r}. There are: {', '.join(names[:_LISTED])}{more}.")


class Refused(ThinkledgerError):
    """Not done, because it could lose something; the text says what would allow it."""

    exit = Exit.REFUSED


class Unavailable(ThinkledgerError):
    """Busy or unreachable for now; the same call may succeed later."""

    exit = Exit.TEMPORARY


class CaptureFailed(ThinkledgerError):
    """Reasoning was expected and is not there."""

    exit = Exit.GATE


class IntegrityFailure(ThinkledgerError):
    """What is stored is not what was written."""

    exit = Exit.INTEGRITY


class StoreReplaced(IntegrityFailure):
    """Another store lies where ours was, or ours was restored: what this process knows no longer holds."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} Nothing more is written to it. Start this command again.")


class ResourceExhausted(ThinkledgerError):
    """Disk or memory is used up."""

    exit = Exit.RESOURCE
