"""What an action came to, carried over the redirect as one word of the address: no text of an address is shown."""

import re

from app.model.errors import UsageError
from app.web.asking import Said

SAID = "said"
_WORDS = {
    "paused": "Paused: nothing more is claimed; what is in flight ends.",
    "resumed": "Resumed: what held it was taken back, and the checks begin anew.",
    "not_held": "It was not held.",
    "retried": "{n} jobs are ready again. Their earlier answers stand until new ones are accepted.",
    "reparsed": "{n} readings were written.",
    "draining": "The worker claims nothing more and stops when its open answers have come.",
    "not_open": "The worker has stopped already.",
    "acknowledged": "Acknowledged.",
    "not_standing": "The alarm is over or acknowledged already.",
    "export": "The build was begun. The file is below as soon as it is whole.",
}


def said(asked: Said) -> str | None:
    """The sentence of a word such as `retried.30`."""
    word = asked.text(SAID)
    if word is None:
        return None
    found = re.fullmatch(r"([a-z_]+)(?:\.([0-9]{1,12}))?", word)
    if found is None or found[1] not in _WORDS:
        raise UsageError(f"There is no {SAID} {word[:40]!r}.")
    return _WORDS[found[1]].format(n=f"{int(found[2] or 0):,}")
