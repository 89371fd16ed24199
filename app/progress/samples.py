"""Lists of samples: pages in one of several orders, filtered, never a body."""

from dataclasses import dataclass
from typing import Any

from app.model.ids import DatasetId, JobId
from app.model.loss_flags import loaded
from app.model.states import JobState
from app.progress import statements_samples as statements
from app.progress.filters import EVERYTHING, Drive, Filter, Listing, Place, Sort, Way
from app.progress.finding import dataset_named
from app.store.store import Store
from app.store.transaction import Reads

SEARCHED = 20_000  # rows that one page looks through for those that fit
_MOST = 2**63 - 1
_BEHIND_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class SampleLine:
    """One job in a list, with the facts of its accepted answer."""

    job: JobId
    sample_id: str
    ordinal: int
    replica: int
    state: JobState
    attempt: int
    tries: int
    cause: str | None
    finished_ms: int | None
    verdict: str | None
    finish_reason: str | None
    found: str | None
    reasoning_chars: int | None
    content_chars: int | None
    completion_tokens: int | None
    latency_ms: int | None
    preview: str | None
    loss_flags: tuple[str, ...]  # what hints that text was lost

    def place(self, sort: Sort) -> Place | None:
        """Where it stands in a list of that order; None where it is not in it: not finished, or without reasoning."""
        major: int | str | None
        match sort:
            case Sort.ORDER:
                return Place(self.ordinal, self.replica)
            case Sort.ID:
                return Place(self.sample_id, self.replica)
            case Sort.NEWEST | Sort.OLDEST:
                major = self.finished_ms
            case Sort.LONGEST | Sort.SHORTEST:
                major = self.reasoning_chars
        return None if major is None else Place(major, self.job)


@dataclass(frozen=True, slots=True)
class Page:
    """Lines, and where the next page begins; None at the end.

    A page looks through a bounded number of jobs. Where few of them fit it may hold fewer lines than it could, or
    none, and still not be the last: then `searched_all` is False.
    """

    lines: tuple[SampleLine, ...]
    after: Place | None
    searched_all: bool = True  # up to the last of these lines, or to the end


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The sample before or behind another one in a list."""

    sample_id: str
    replica: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """None at either end of a list, or where nothing near fits the filter."""

    previous: Neighbour | None = None
    next: Neighbour | None = None


NOBODY = Neighbours()


async def samples(store: Store, name: str, listing: Listing = EVERYTHING) -> Page:
    """One page of the samples of a dataset."""
    return await store.read(lambda reads: _named(reads, name, listing))


async def _named(reads: Reads, name: str, listing: Listing) -> Page:
    return await page(reads, await dataset_named(reads, name), listing)


async def page(reads: Reads, dataset: DatasetId, listing: Listing) -> Page:
    """The same in a snapshot that is open."""
    drive, way = listing.wanted.read_by(listing.sort)
    start = listing.after or Place(_bounds(drive, listing.wanted)[0 if way is Way.UP else 1], -1)
    params = _params(dataset, listing.wanted) | _place(drive, way, listing, start)
    rows = await reads.rows(statements.listed(drive, way), params | {"limit": listing.per + 1})
    lines = tuple(line(row) for row in rows[: listing.per])
    if len(rows) > listing.per:
        return Page(lines, lines[-1].place(listing.sort))
    end = await reads.first(statements.searched_to(drive, way), params)
    return Page(lines, None) if end is None else Page(lines, Place(end.major, end.minor), searched_all=False)


async def neighbours(reads: Reads, dataset: DatasetId, listing: Listing, current: SampleLine) -> Neighbours:
    """What stands before and behind a sample in a list, as far as one page searches."""
    place = current.place(listing.sort)
    if place is None:
        return NOBODY
    drive, way = listing.wanted.read_by(listing.sort)
    params = _params(dataset, listing.wanted) | {"limit": 1}
    before, behind = [
        await reads.first(statements.listed(drive, one), params | _place(drive, one, listing, place))
        for one in (way.back, way)
    ]
    return Neighbours(_neighbour(before), _neighbour(behind))


def _neighbour(row: Any) -> Neighbour | None:
    return None if row is None else Neighbour(row.sample_id, row.replica)


def _bounds(drive: Drive, wanted: Filter) -> tuple[int | str, int | str]:
    """The first value that is in the list, and the first that is behind it."""
    match drive:
        case Drive.ID:
            start = "" if wanted.q is None else wanted.q
            return start, start + _BEHIND_ALL
        case Drive.FINISHED:
            return _or(wanted.since, 0), _or(wanted.until, _MOST)
        case Drive.REASONING:
            return _or(wanted.min_reasoning, 0), min(_or(wanted.max_reasoning, _MOST - 1) + 1, _MOST)
        case _:
            return -1, _MOST


def _or(said: int | None, unsaid: int) -> int:
    return unsaid if said is None else said


def _place(drive: Drive, way: Way, listing: Listing, place: Place) -> dict[str, int | str]:
    """Where to begin, and the bound at which to end."""
    lower, upper = _bounds(drive, listing.wanted)
    return {"major": place.major, "minor": place.minor, "bound": upper if way is Way.UP else lower}


def _params(dataset: DatasetId, wanted: Filter) -> dict[str, Any]:
    """The filter as the statements take it: each value for the rows, and as the bounds of what is read."""
    return {
        "dataset": dataset, "searched": SEARCHED,
        "state": wanted.state, "verdict": wanted.verdict, "finish": wanted.finish, "cause": wanted.cause,
        "found": wanted.found,
        "q_end": None if wanted.q is None else wanted.q + _BEHIND_ALL,
        "any_state": wanted.state, "any_verdict": wanted.verdict, "any_finish": wanted.finish,
        "any_cause": wanted.cause, "any_found": wanted.found,
        "any_flag": wanted.flag, "any_q": wanted.q,
        "any_min_reasoning": wanted.min_reasoning, "any_max_reasoning": wanted.max_reasoning,
        "any_attempt_gt": wanted.attempt_gt, "any_since": wanted.since, "any_until": wanted.until,
        "any_worker": wanted.worker,
    }  # fmt: skip


def line(row: Any) -> SampleLine:
    """A row of the job table as it is listed."""
    return SampleLine(
        job=JobId(row.id), sample_id=row.sample_id, ordinal=row.ordinal, replica=row.replica, state=JobState(row.state),
        attempt=row.attempt, tries=row.tries, cause=row.cause, finished_ms=row.finished_ms, verdict=row.verdict,
        finish_reason=row.finish_reason, found=row.found, reasoning_chars=row.reasoning_chars,
        content_chars=row.content_chars, completion_tokens=row.completion_tokens, latency_ms=row.latency_ms,
        preview=row.preview, loss_flags=tuple(sorted(loaded(row.loss_flags))),
    )  # fmt: skip
