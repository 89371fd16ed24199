"""What `doctor` looks at: one check a line, each with what to do. It changes nothing."""

import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from anyio import to_thread

from app.capture import PARSER_VERSION
from app.keeping.facts import StoreFacts, store_facts
from app.leasing import locks
from app.model.errors import ThinkledgerError
from app.model.exits import Exit
from app.model.limits import BACKUP_OLD_MS, least_free_disk
from app.progress import wording
from app.progress.disk import disk_usage
from app.progress.gathering import overview
from app.progress.overview import Liveness, Overview
from app.spool.looking import SpoolState
from app.store import library, schema
from app.store import place as places
from app.store.place import Place
from app.store.store import Store, open_store, wall_ms

LARGE_WAL = 2**30
CLOCK_SLACK_MS = 60_000
FIRST_RELEASE_MS = 1_767_225_600_000  # 2026: a clock that says less was never set


class Level(StrEnum):
    """How a check went."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor."""

    name: str
    level: Level
    says: str
    todo: str = ""
    exit: Exit = Exit.DONE  # of a failed one


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server to be asked what it is."""

    url: str
    api_key: str | None


_WORST_FIRST = (Exit.INTEGRITY, Exit.RESOURCE, Exit.USAGE, Exit.NOT_FOUND, Exit.REFUSED, Exit.TEMPORARY)


def exit_of(checks: Sequence[Check]) -> Exit:
    """The exit code of the worst failure; warnings are none."""
    failed = {check.exit for check in checks if check.level is Level.FAIL}
    return next((code for code in _WORST_FIRST if code in failed), Exit.DONE if not failed else Exit.UNEXPECTED)


async def examine(db: str, endpoints: Sequence[Endpoint], *, named: bool) -> AsyncIterator[Check]:
    """Every check, as it is made: the machine, the place, the store, the endpoints. A `named` store must be there."""
    place = places.locate(db)
    if place.server is None:
        yield _sqlite()
        for check in _of_place(place):
            yield check
    if not named and not place.path.exists() and not place.wal.exists():
        yield _no_store_yet(place)
    else:
        for check in await _of_store(db):
            yield check
    for endpoint in endpoints:
        yield await _of_endpoint(endpoint)


def _sqlite() -> Check:
    version = ".".join(map(str, library.version()))
    if library.is_fixed():
        return Check("sqlite", Level.OK, f"{version}, which has the WAL-reset bug fixed")
    least = ".".join(map(str, library.FIXED))
    todo = f"install pysqlite3 or a Python with SQLite {least}; until then run one worker a store, and back up often"
    return Check("sqlite", Level.WARN, f"{version} can lose committed pages (fixed in {least})", todo)


def _of_place(place: Place) -> Iterator[Check]:
    folder = place.path.parent
    kind = places.file_system_of(folder, Path("/proc/self/mountinfo")) or "of an unknown kind"
    if kind in places.NETWORK_FILE_SYSTEMS:
        todo = "put the store on a local disk"
        yield Check("file system", Level.FAIL, f"{folder} is on {kind}, a network file system", todo, Exit.REFUSED)
    else:
        yield Check("file system", Level.OK, f"{folder} is on {kind}")
    if place.path.exists():
        yield _permissions(place)


def _permissions(place: Place) -> Check:
    mode = place.path.stat().st_mode & 0o777
    if mode & 0o077:
        todo = f"chmod 600 {place.path}"
        return Check("permissions", Level.WARN, f"others on this machine may open the store (mode {mode:o})", todo)
    return Check("permissions", Level.OK, f"only its owner may open the store (mode {mode:o})")


def _no_store_yet(place: Place) -> Check:
    """A fresh machine is well; a store that was named and is not there is another thing."""
    free = wording.size(disk_usage(place.path.parent).free)
    says = f"none yet at {place.path}, and {free} are free there; `thinkledger import NAME FILE` makes one"
    return Check("store", Level.OK, says)


async def _of_store(db: str) -> list[Check]:
    checks: list[Check] = []
    try:
        await _look_into(db, checks)
    except ThinkledgerError as error:
        checks.append(_cannot(error))
    except BaseExceptionGroup as group:
        from worker.cli_context import only_error

        one = only_error(group)
        if not isinstance(one, ThinkledgerError):
            raise
        checks.append(_cannot(one))
    return checks


async def _look_into(db: str, checks: list[Check]) -> None:
    async with open_store(db) as store:
        checks.append(Check("schema", Level.OK, f"{schema.NEWEST}, this version's own"))
        checks.append(await _locks(store))
        facts = await store_facts(store)
        checks += [_server(store.place, facts) if store.place.server else _integrity(facts), _parser(facts)]
        if not facts.complaints:  # what a broken file says means nothing
            checks += of_run(await overview(store), facts, store.place)


def _cannot(error: ThinkledgerError) -> Check:
    return Check("store", Level.FAIL, str(error), "see the sentence itself", error.exit)


async def _locks(store: Store) -> Check:
    """Whether a lock of ours keeps another process out."""
    lock = locks.take(store.place.workers, f"doctor-{uuid.uuid4().hex}")
    try:
        works = await to_thread.run_sync(locks.conflicts, lock)
    finally:
        lock.free()
    if works:
        return Check("locks", Level.OK, "flock keeps other processes out, so a killed worker is known at once")
    todo = "a killed worker is known after its --lease-ttl only; before restore or migrate stop workers yourself"
    return Check("locks", Level.WARN, "flock keeps nobody out on this file system", todo)


def _integrity(facts: StoreFacts) -> Check:
    if facts.complaints:
        todo = "stop all workers, keep the file, and restore a backup; `thinkledger verify` says more"
        return Check("integrity", Level.FAIL, f"SQLite says: {facts.complaints[0]}", todo, Exit.INTEGRITY)
    return Check("integrity", Level.OK, "SQLite's quick check finds nothing; `thinkledger verify` looks closer")


def _server(place: Place, facts: StoreFacts) -> Check:
    assert place.server is not None
    return Check("server", Level.OK, f"{place.server.shown} is PostgreSQL {facts.server_version}")


def _parser(facts: StoreFacts) -> Check:
    newest = facts.parser_version
    if newest > PARSER_VERSION:
        says = f"parser {newest} wrote here, and this is {PARSER_VERSION}"
        return Check("parser", Level.FAIL, says, "upgrade thinkledger on this machine", Exit.USAGE)
    if 0 < newest < PARSER_VERSION:
        todo = "`thinkledger reparse --all` shows what would change"
        return Check("parser", Level.WARN, f"the store was read by parser {newest}, and this is {PARSER_VERSION}", todo)
    return Check("parser", Level.OK, f"version {PARSER_VERSION}")


def of_run(now: Overview, facts: StoreFacts, place: Place) -> Iterator[Check]:
    """What the counters, the disk and the workers say."""
    yield _sums(now)
    yield _disk(now)
    if not now.on_server:
        yield _wal(place.wal.stat().st_size if place.wal.exists() else 0)
    yield _spool(now.spool)
    yield _backup(now, facts)
    yield _workers(now)
    yield _clock(now, facts)


def _sums(now: Overview) -> Check:
    if now.adds_up:
        return Check("sums", Level.OK, f"the states of {len(now.datasets)} datasets add up")
    wrong = ", ".join(dataset.name for dataset in now.datasets if not dataset.tally.adds_up)
    todo = "stop the workers and run `thinkledger verify`"
    return Check("sums", Level.FAIL, f"the states do not add up in {wrong}", todo, Exit.INTEGRITY)


def _disk(now: Overview) -> Check:
    free, floor = wording.free(now.disk_free, on_server=now.on_server), wording.size(least_free_disk(now.disk_total))
    says = f"{free}, floor {floor}, needed {'on the server ' if now.on_server else ''}{wording.need(now.need)}"
    if now.disk_low:
        return Check("disk", Level.FAIL, says, "free some space: workers ask nothing new", Exit.RESOURCE)
    if not now.on_server and (now.need.total or 0) > now.disk_free:
        return Check("disk", Level.WARN, says, "free some space: the open jobs will need more than there is")
    return Check("disk", Level.OK, says)


def _spool(found: SpoolState) -> Check:
    """Answers that are on disk and not in the store: none is lost, and somebody has to bring them in."""
    said = list(wording.spool(found))
    if not said:
        return Check("spool", Level.OK, "no answer waits outside the store")
    live = any(file.held for file in found.files if file.waiting)
    todo = (
        "nothing: the live worker brings them in as soon as the store commits"
        if live
        else ("start a worker to bring in what waits; what is kept matches no job of this store and is never deleted")
    )
    return Check("spool", Level.WARN, "; ".join(said), todo)


def _wal(wal_bytes: int) -> Check:
    if wal_bytes > LARGE_WAL:
        todo = "look for a program that keeps the store open, such as a database browser, and close it"
        return Check("wal", Level.WARN, f"{wording.size(wal_bytes)} are not in the file yet", todo)
    return Check("wal", Level.OK, wording.size(wal_bytes))


def _backup(now: Overview, facts: StoreFacts) -> Check:
    if now.on_server:
        return Check("backup", Level.OK, wording.last_backup(None, on_server=True))
    if now.backup_ms is None:
        return Check("backup", Level.WARN, "there is none", "`thinkledger backup` makes one beside busy workers")
    age_ms = now.as_of_ms - now.backup_ms
    says = f"{wording.age(age_ms)} old, as of seq {facts.backup_seq:,} of {now.seq:,}"
    if age_ms > BACKUP_OLD_MS and facts.worked_since_backup:
        return Check("backup", Level.WARN, says, "`thinkledger backup` makes a new one beside busy workers")
    return Check("backup", Level.OK, says)


def _workers(now: Overview) -> Check:
    says = wording.workers(now.workers)
    gone = [worker for worker in now.workers.open if worker.liveness is not Liveness.LIVE]
    if gone:
        names = ", ".join(worker.name for worker in gone)
        todo = "start a worker: it takes back what they held; on this machine nothing waits for a time-out"
        return Check("workers", Level.WARN, f"{says}; silent: {names}", todo)
    return Check("workers", Level.OK, says)


def _clock(now: Overview, facts: StoreFacts) -> Check:
    ahead_ms = max(facts.newest_ms or 0, facts.created_ms) - now.as_of_ms
    if ahead_ms > CLOCK_SLACK_MS:
        says = f"the store holds times {wording.age(ahead_ms)} in the future"
        return Check("clock", Level.WARN, says, "set the clock of this machine; rates and ages are wrong until then")
    if now.as_of_ms < FIRST_RELEASE_MS:
        return Check("clock", Level.WARN, f"it says {wording.moment(wall_ms())}", "set the clock of this machine")
    if abs(now.as_of_ms - wall_ms()) > CLOCK_SLACK_MS:  # leases go by the server's
        says = f"this machine says {wording.moment(wall_ms())}, the store's server {wording.moment(now.as_of_ms)}"
        return Check(
            "clock", Level.WARN, says, "set the clock of this machine; its logs have other times than the store"
        )
    return Check("clock", Level.OK, wording.moment(now.as_of_ms))


async def _of_endpoint(asked: Endpoint) -> Check:
    from worker.endpoint import AskFailed, connect
    from worker.identify import identify

    timeout_s = 30.0
    async with connect(
        asked.url, api_key=asked.api_key, connections=1, timeout_s=timeout_s, stall_s=timeout_s, max_body=2**26,
        now_ms=wall_ms,
    ) as endpoint:  # fmt: skip
        try:
            known = await identify(endpoint, None, raw_text=None, token_ids=True, stream=False)
        except AskFailed as error:
            todo = "check that it is up and that the URL and the key are right"
            return Check("endpoint", Level.FAIL, f"{endpoint.base_url}: {error}", todo, Exit.TEMPORARY)
        except ThinkledgerError as error:
            return Check("endpoint", Level.WARN, f"{endpoint.base_url}: {error}", "see the sentence itself", error.exit)
    models = ", ".join(sorted(known.models))
    return Check("endpoint", Level.OK, f"{asked.url}: {known.dialect.name}, models {models}")
