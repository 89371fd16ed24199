"""`/datasets/{name}/samples`: a list with its filters in the address."""

from dataclasses import dataclass
from typing import Any

from litestar import get

from app.model.found import Found
from app.model.lease import Cause
from app.model.loss_flags import LossFlag
from app.model.states import JobState
from app.model.verdicts import Verdict
from app.progress import filters, wording
from app.progress.filters import KEYS, Listing, Sort
from app.progress.gathering import overview
from app.progress.samples import SampleLine, samples
from app.progress.samples_json import page_json
from app.progress.times import typed
from app.web.answers import Answer, Asked, json_response
from app.web.asking import query
from app.web.frame import frame
from app.web.marks import Mark, job_mark, verdict_mark
from app.web.pages import show
from app.web.site import Site

CHOICES = {
    "state": tuple(map(str, JobState)),
    "verdict": tuple(str(verdict) for verdict in Verdict if verdict is not Verdict.MALFORMED),
    "cause": tuple(map(str, Cause)),
    "found": tuple(map(str, Found)),
    "flag": tuple(map(str, LossFlag)),
    "sort": tuple(map(str, Sort)),
}
NUMBERS = (("min_reasoning", "Reasoning from"), ("max_reasoning", "to characters"), ("attempt_gt", "Attempts over"),
           ("worker", "Worker number"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One line of the list."""

    key: str
    sample_id: str
    href: str
    state: Mark
    verdict: Mark | None
    finish: str
    hints: str  # at lost text
    reasoning: str
    content: str
    tokens: str
    latency: str
    attempts: str
    finished: str
    preview: str


def routes(site: Site) -> list[Any]:
    """The list and its twin."""

    @get("/datasets/{name:str}/samples")
    async def page(request: Asked, name: str) -> Answer:
        listing = filters.parse(query(request, *KEYS).values)
        found = await samples(site.store, name, listing)
        now = await overview(site.store)
        around = frame(site, now, "Datasets", f"Samples of {name}")
        words = listing.words()
        after = None if found.after is None else str(found.after)
        return show(
            request, "samples/page.html", around,
            name=name, dataset=site.dataset_url(name), here=site.dataset_url(name, "/samples"),
            rows=[sample_row(site, name, line, listing) for line in found.lines], words=words, choices=CHOICES,
            numbers=NUMBERS, times=_times(listing), chosen=_chosen(listing), total=f"{now.dataset(name).tally.total:,}",
            searched_all=found.searched_all,
            first=site.dataset_url(name, "/samples", **words) if listing.after else None,
            more=None if after is None else site.dataset_url(name, "/samples", **words, after=after),
        )  # fmt: skip

    @get("/api/v1/datasets/{name:str}/samples")
    async def twin(request: Asked, name: str) -> Answer:
        asked = dict(query(request, *KEYS, "limit").values)
        if "limit" in asked:
            asked["per"] = asked.pop("limit")
        found = await samples(site.store, name, filters.parse(asked))
        seq = await site.store.seq()
        return json_response({"data": page_json(found), "as_of": site.store.now_ms(), "seq": seq})

    return [page, twin]


def _times(listing: Listing) -> tuple[tuple[str, str, str], ...]:
    """The fields for times, with what they hold."""
    fields = (
        ("since", "Finished since (UTC)", listing.wanted.since),
        ("until", "and before (UTC)", listing.wanted.until),
    )
    return tuple((key, label, "" if at_ms is None else typed(at_ms)) for key, label, at_ms in fields)


def _chosen(listing: Listing) -> int:
    """How many filters are set beside that of the id, which stands alone."""
    return len((listing.wanted.words() | listing.words()).keys() - {"q", "per"})


def sample_row(site: Site, name: str, line: SampleLine, listing: Listing) -> SampleRow:
    """One job as a line; its link keeps the filter, so that next and previous go on in the list."""
    replica = f" #{line.replica}" if line.replica else ""
    return SampleRow(
        key=f"job-{line.ordinal}-{line.replica}",
        sample_id=line.sample_id + replica,
        href=site.sample_url(name, line.sample_id, line.replica, **listing.words()),
        state=job_mark(line.state),
        verdict=None if line.verdict is None else verdict_mark(line.verdict),
        finish=_said(line.finish_reason if line.verdict else line.cause),
        hints=" ".join(line.loss_flags),
        reasoning=_count(line.reasoning_chars),
        content=_count(line.content_chars),
        tokens=_count(line.completion_tokens),
        latency="-" if line.latency_ms is None else f"{line.latency_ms / 1000:,.1f} s",
        attempts=f"{line.attempt}",
        finished="-" if line.finished_ms is None else wording.moment(line.finished_ms),
        preview=_said(line.preview),
    )


def _said(text: str | None) -> str:
    return "-" if text is None else text


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
