"""What the alarms that time triggers say, and their limits. Pure."""

from app.model.stall import Silence

GIB = 2**30
DISK_WARN, DISK_CRITICAL = 10 * GIB, 2 * GIB  # free bytes
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
