"""What the alarms that time triggers say, and their limits. Pure."""

from app.model.limits import BACKUP_LEAST
from app.model.loss_flags import LossFlag
from app.model.stall import Silence
from app.model.verdicts import Fraction

GIB = 2**30
MINUTE_MS = 60_000
DISK_WARN, DISK_CRITICAL = 10 * GIB, 2 * GIB  # free bytes
DEAD_SHOWN_MS = 24 * 60 * MINUTE_MS  # a worker that died earlier is history
DOWN_SAID_MS = MINUTE_MS  # a server that is away for less is asked again, and nobody has to look
LEAST_LOST = 3  # answers with a loss flag; one odd answer is no fault


def stalled(dataset: str, silence: Silence) -> str:
    """No answer comes."""
    allowed = silence.allowed_ms // MINUTE_MS
    return (
        f"{dataset}: {silence.leases:,} requests are open, and no answer came for more than {allowed:,} min. "
        "Look at the server's log and its /health; `thinkledger probe --endpoint URL` asks it once."
    )


def worker_dead(name: str, host: str, number: int) -> str:
    """A worker ended without a word, and nobody came in its place."""
    return (
        f"Worker {name} on {host} (id {number}) died, and no worker was started there since. Its jobs are offered "
        "again by themselves while another worker runs. Look at its log, then start it again."
    )


def endpoint_down(url: str, down: int, asking: int, reason: str) -> str:
    """A server takes no requests, for some or for all of those who ask it."""
    whom = "no worker asks it" if down == asking else f"{down:,} of {asking:,} workers do not ask it"
    return (
        f"{url} is down: {reason}. Until it answers again {whom}; then the run goes on by itself. Look at the server "
        f"and its log; `thinkledger probe --endpoint {url}` asks it once."
    )


def disk_low(free: int, total: int) -> str | None:
    """What to say of the store's disk; None while there is room. Steps of a tenth, so that it changes rarely."""
    if free >= min(DISK_WARN, total // 10):
        return None
    left = "less than 2 GiB" if free < DISK_CRITICAL else f"about {free * 10 // GIB / 10:.1f} GiB"
    return (
        f"The disk of the store has {left} left. Free some space, or move the store: `thinkledger backup`, then "
        "`restore` on a larger disk. On a full disk answers are held in memory."
    )


def backup_old(*, made: bool, answers: int, oldest_ms: int, allowed_ms: int) -> str | None:
    """What to say of answers that no backup holds; `oldest_ms` is the age of the first. None while they may wait."""
    if answers < BACKUP_LEAST or oldest_ms <= allowed_ms:
        return None
    minutes = allowed_ms // MINUTE_MS
    age = f"{minutes // 60:,} h" if minutes >= 60 and minutes % 60 == 0 else f"{minutes:,} min"
    which = "the newest backup does not hold them" if made else "there is no backup"
    return (
        f"Answers have come for more than {age}, and {which}. `thinkledger backup` copies and verifies the store while "
        "workers go on."
    )


def unsound(findings: int, *, full: bool) -> str:
    """What `verify` found the last time."""
    how = "verify --full" if full else "verify"
    count = f"{findings:,} finding{'' if findings == 1 else 's'}"
    return (
        f"`thinkledger {how}` had {count}. Run it again to read them, each with what to do; this ends "
        "when it finds nothing any more."
    )


def damaged(words: str) -> str:
    """A damaged page was met while the store was read or written."""
    return (
        f"A part of the store cannot be read: {words} Run `thinkledger verify --full`; this ends when it finds nothing."
    )


_LOST = {
    LossFlag.TEXT_SHORT: "have less text than their tokens stand for, so a part of it did not arrive",
    LossFlag.CUT_UPSTREAM: "begin with an empty line and have no reasoning, as if a thought had been cut off before it",
}


def text_lost(flag: LossFlag, dataset: str, part: int, whole: int) -> str | None:
    """What to say of `part` of `whole` done jobs whose answers have a loss flag; None of so few."""
    if part < LEAST_LOST:
        return None
    return (
        f"{part:,} of {whole:,} answers, {Fraction(part, whole).percent}, {_LOST[flag]}. "
        f"See `thinkledger samples {dataset} --flag {flag}`; when what drops the text is mended, "
        f"`thinkledger retry {dataset} --flag {flag}` asks them again."
    )
