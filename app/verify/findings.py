"""What a verification finds, one line a finding."""

from dataclasses import dataclass

RESTORE = "restore a backup (`thinkledger restore`)"
RECOUNT = "stop all workers and restore a backup; the answers themselves are not touched by this"
ASK_AGAIN = "keep the store and ask for it again with `thinkledger retry`, or restore a backup"
REPARSE = "run `thinkledger reparse NAME --apply`, then verify again"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was written."""

    what: str
    todo: str
    dataset: str | None = None
    sample_id: str | None = None

    @property
    def line(self) -> str:
        """`B1_glaive s17: the body does not hash to what was recorded. To do: restore a backup ...`"""
        about = " ".join(name for name in (self.dataset, self.sample_id) if name is not None)
        return f"{about or 'store'}: {self.what}. To do: {self.todo}."


@dataclass(slots=True)
class Report:
    """How much was looked at, and how many findings there were."""

    seq: int = 0
    jobs: int = 0
    responses: int = 0
    bodies: int = 0  # of them: whose bytes were hashed and read anew
    older_readings: int = 0  # of the bodies: read by another parser version, so only hashed
    findings: int = 0

    @property
    def sound(self) -> bool:
        return self.findings == 0
