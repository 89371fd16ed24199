"""What the alarms that time triggers say, and their limits. Pure."""

from app.model.loss_flags import LossFlag
from app.model.stall import Silence
from app.model.verdicts import Fraction

GIB = 2**30
DISK_WARN, DISK_CRITICAL = 10 * GIB, 2 * GIB  # free bytes
LEAST_LOST = 3  # answers with a loss flag; one odd answer is no fault
DEAD_SHOWN_MS = 24 * 60 * 60_000  # a worker that died earlier is history


def stalled(dataset: str, silence: Silence) -> str:
    """No answer comes."""
    allowed = silence.allowed_ms // 60_000
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


def disk_low(free: int, total: int) -> str | None:
    """What to say of the store's disk; None while there is room. Steps of a tenth, so that it changes rarely."""
    if free >= min(DISK_WARN, total // 10):
        return None
    left = "less than 2 GiB" if free < DISK_CRITICAL else f"about {free * 10 // GIB / 10:.1f} GiB"
    return (
        f"The disk of the store has {left} left. Free some space, or move the store: `thinkledger backup`, then "
        "`restore` on a larger disk. On a full disk answers are held in memory."
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
