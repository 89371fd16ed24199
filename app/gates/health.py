"""How workers find the servers that they ask: the header of every page and the alarm ask the same function."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from app.gates import statements_timed as statements
from app.leasing import locks
from app.model.ids import EndpointId, WorkerId
from app.store.beside import beside_others
from app.store.transaction import Reads, Tx


@dataclass(frozen=True, slots=True)
class Found:
    """What a worker says of a server: None where it may be asked, else why not."""

    worker: WorkerId
    base_url: str
    trouble: str | None


@beside_others
async def note_health(tx: Tx, words: Sequence[Found]) -> list[None]:
    """Keep each as the worker's latest word; the time is that of the last turn from well to ill or back."""
    await tx.seq()
    for one in words:
        row = {"worker_id": one.worker, "base_url": one.base_url, "up": int(one.trouble is None)}
        await tx.run(statements.note_health(), row | {"since_ms": tx.now_ms, "reason": one.trouble})
    return [None] * len(words)


class Reach(StrEnum):
    """Whether the servers of a run can be asked now."""

    NONE = "none"  # no server was ever seen
    NOT_ASKED = "not_asked"  # no worker runs that would ask one
    UP = "up"
    PARTLY = "partly"  # a server is down for a worker, and not every server for every worker
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class AskedEndpoint:
    """A server that open workers ask."""

    base_url: str
    id: EndpointId | None  # its newest identity; None: it was never reached
    model: str | None
    asking: int  # open workers that have it among theirs
    down: int  # of them: those that find it down
    since_ms: int  # the latest turn; of one that is down: the earliest
    reason: str | None  # why, by whoever found it down first

    @property
    def reach(self) -> Reach:
        if self.down == 0:
            return Reach.UP
        return Reach.DOWN if self.down == self.asking else Reach.PARTLY


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The servers that are asked now; `known` is the base URL that was seen last, asked or not."""

    asked: tuple[AskedEndpoint, ...] = ()
    known: str | None = None

    @property
    def reach(self) -> Reach:
        if not self.asked:
            return Reach.NONE if self.known is None else Reach.NOT_ASKED
        found = {one.reach for one in self.asked}
        return found.pop() if len(found) == 1 else Reach.PARTLY

    @property
    def down(self) -> tuple[AskedEndpoint, ...]:
        """Those that somebody finds down."""
        return tuple(one for one in self.asked if one.reach is not Reach.UP)


async def endpoints_in(reads: Reads, now_ms: int, workers: Path | None) -> Endpoints:
    """What the workers that are heard of say. A silent one says nothing, and neither does one that has ended.

    `workers` is the folder of their locks: one that was killed is known by its own at once, and else by its silence.
    """
    heard = [row for row in await reads.rows(statements.health()) if now_ms - row.heartbeat_ms <= row.ttl_ms]
    gone = frozenset() if workers is None else locks.gone(workers, {row.uuid for row in heard})
    words: dict[str, list[Any]] = defaultdict(list)
    for row in heard:
        if row.uuid not in gone:
            words[row.base_url].append(row)
    newest: dict[str, Any] = {}
    for row in await reads.rows(statements.newest_identities()):
        newest.setdefault(row.base_url, row)
    asked = tuple(_asked(url, said, newest.get(url)) for url, said in sorted(words.items()))
    return Endpoints(asked, next(iter(newest), None))


def _asked(url: str, said: Sequence[Any], identity: Any) -> AskedEndpoint:
    down = sorted((row for row in said if not row.up), key=lambda row: (row.since_ms, row.worker_id))
    return AskedEndpoint(
        base_url=url,
        id=None if identity is None else EndpointId(identity.id),
        model=None if identity is None else identity.model,
        asking=len(said),
        down=len(down),
        since_ms=down[0].since_ms if down else max(row.since_ms for row in said),
        reason=down[0].reason if down else None,
    )
