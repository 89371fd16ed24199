"""Copy: a whole store moved to a new file or database, and compared with the first one before it may be used."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.keeping import statements
from app.leasing import events, locks
from app.model.errors import NotFound, Refused, UsageError
from app.spool.looking import answers_wait, look
from app.store import place as places
from app.store.copying import room_for
from app.store.moving.ends import held, opened
from app.store.moving.moving import Move, Moved, Progress
from app.store.place import Place
from app.store.store import Store, open_store, wall_ms
from app.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Copied:
    """What lies at the target now."""

    source: str
    target: str
    moved: Moved
    epoch: int
    released: int  # jobs that were leased

    @property
    def rows(self) -> int:
        return sum(self.moved.rows.values())


async def copy(source_db: str, target_db: str, progress: Progress) -> Copied:
    """Move a store while nobody works at it. Cut off at any moment, the same call goes on where it was.

    Until its last transaction the target is no store; the source is only read, and nobody else writes to it meanwhile.
    """
    source, target = places.locate(source_db), places.locate(target_db)
    if (source.path, source.server) == (target.path, target.server):
        raise UsageError(f"{source.shown} cannot be copied to itself. Name a new file or database.")
    _check_target(target)
    with _alone(source), _alone(target):
        async with open_store(source_db) as store:
            _refuse_spooled(source)
            await _refuse_workers(store)
            if target.server is None:
                async with store.snapshot() as reads:
                    room_for(target.path, await store.size(reads))
            return await _copy(store, target, progress)


async def _copy(store: Store, target: Place, progress: Progress) -> Copied:
    epoch, released = max(store.epoch + 1, wall_ms()), 0

    async def adopt(tx: Tx) -> None:
        """As after a restore: leases of the source mean nothing here."""
        nonlocal released
        await tx.run(statements.begin_epoch(), {"to_epoch": epoch})
        released = await tx.run(statements.release_every_lease())
        await tx.run(statements.end_every_worker(), {"at_ms": tx.now_ms})
        await events.note(tx, "copied", source=store.place.shown, epoch=epoch, released=released)

    async with held(store.place) as source, opened(target) as written:
        move = Move(source, written, target.shown, progress)
        moved = await move.fill()
        await move.finish(adopt, store.now_ms())
    return Copied(store.place.shown, target.shown, moved, epoch, released)


def _check_target(target: Place) -> None:
    if target.server is None:
        places.check(target, create=True)
    else:
        target.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextmanager
def _alone(place: Place) -> Iterator[None]:
    """Nobody of this host; a folder that held nothing before is left as it was."""
    if place.server is None and not place.path.parent.is_dir():
        raise NotFound(f"{place.path.parent} is no folder, so no store lies there.")
    place.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locks.alone(place.workers):
        yield


def _refuse_spooled(source: Place) -> None:
    waiting = look(source).waiting
    if waiting:
        raise Refused(
            f"{answers_wait(waiting)} in the spool of {source.shown}, not yet in it. Start a worker there to bring "
            "them in, then copy."
        )


async def _refuse_workers(store: Store) -> None:
    """Workers of other hosts: their beats are by the server's clock, as is now."""
    if store.place.server is None:
        return
    async with store.snapshot() as reads:
        beating = int(await reads.value(statements.beating_workers(), {"at_ms": store.now_ms()}))
    if beating:
        raise Refused(
            f"{beating} worker{'s' * (beating != 1)} on {store.place.shown} gave a sign of life just now. "
            "Stop them first; one that was killed is found dead after its --lease-ttl. Nothing was changed."
        )
