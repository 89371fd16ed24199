"""Whether a server goes down by itself: outages all of whose jobs were answered later were no job's doing. Pure.

A prompt that kills its server is never answered, so no outage that it was in is ever cleared, however many such
prompts there are. A server that comes and goes clears its outages as fast as its jobs are answered.
"""

from collections import deque
from dataclasses import dataclass, field

TOGETHER_S = 1.0  # connections that break so close to each other broke for one reason
REMEMBERED_S = 1800.0
BY_ITSELF = 2  # cleared outages of that time; one may be a chance


@dataclass(slots=True)
class _Outage:
    at_s: float
    open_jobs: set[int]


@dataclass(slots=True)
class Outages:
    """The latest outages of one server, with the jobs in flight that were not answered since."""

    _open: deque[_Outage] = field(default_factory=lambda: deque(maxlen=64))
    _cleared: deque[float] = field(default_factory=lambda: deque(maxlen=64))

    def broke(self, now_s: float, job: int) -> None:
        """The server went down with that job in flight."""
        if not self._open or now_s - self._open[-1].at_s > TOGETHER_S:
            self._open.append(_Outage(now_s, set()))
        self._open[-1].open_jobs.add(job)

    def answered(self, job: int) -> None:
        """That job was answered well: it kills no server."""
        for outage in list(self._open):
            outage.open_jobs.discard(job)
            if not outage.open_jobs:
                self._open.remove(outage)
                self._cleared.append(outage.at_s)

    def are_its_own(self, now_s: float) -> bool:
        """Whether the server went down by itself lately, and more than once."""
        return sum(now_s - at_s <= REMEMBERED_S for at_s in self._cleared) >= BY_ITSELF
