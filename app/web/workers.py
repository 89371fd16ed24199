"""`/workers`: who works, what they hold, the servers they ask; and a word that lets one go home."""

from dataclasses import dataclass
from typing import Any

from litestar import get

from app.leasing.workers import Leave, leave
from app.model.errors import NotFound
from app.model.ids import WorkerId
from app.progress import wording
from app.progress.gathering import overview
from app.progress.overview import Liveness
from app.progress.workers import EndpointCard, LeaseLine, WorkerLine, WorkersPage, workers_page
from app.progress.workers_json import workers_json
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked, json_response
from app.web.asking import Said, query
from app.web.frame import frame
from app.web.marks import Mark, endpoint_mark, liveness_mark
from app.web.pages import show
from app.web.said import SAID, said
from app.web.site import Site


@dataclass(frozen=True, slots=True)
class Row:
    """One worker."""

    key: str
    name: str
    where: str
    mark: Mark
    version: str
    slots: str
    oldest: str
    rate: str
    failed: str
    heartbeat: str
    started: str
    drain: str | None


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """One job that is held."""

    key: str
    dataset: str
    sample_id: str
    href: str
    attempt: str
    worker: str
    leased: str
    deadline: str


@dataclass(frozen=True, slots=True)
class Card:
    """One identity of a server."""

    key: str
    url: str
    model: str
    facts: tuple[tuple[str, str], ...]
    seen: str
    current: bool
    unknown: bool


def routes(site: Site) -> list[Any]:
    """The page, its twin, and drain."""

    @get("/workers")
    async def page(request: Asked) -> Answer:
        asked = query(request, SAID)
        found = await workers_page(site.store)
        now = await overview(site.store)
        around = await frame(site, now, "Workers", "Workers - Thinkledger", said=said(asked))
        return show(
            request, "workers/page.html", around,
            rows=[_row(site, one, found.as_of_ms) for one in found.workers if one.open],
            closed=[_row(site, one, found.as_of_ms) for one in found.workers if not one.open],
            note=_counts(found), leases=f"{found.leases:,}", oldest=[_lease(site, one) for one in found.oldest],
            cards=[_card(one) for one in found.endpoints],
            asked=[(one.base_url, endpoint_mark(one)) for one in found.asked.asked],
        )  # fmt: skip

    @get("/api/v1/workers")
    async def twin(request: Asked) -> Answer:
        query(request)
        found = await workers_page(site.store)
        return json_response({"data": workers_json(found), "as_of": found.as_of_ms, "seq": found.seq})

    async def drain(request: Asked, _form: Said) -> Outcome:
        number = int(request.path_params["number"])
        now = await workers_page(site.store)
        if all(worker.id != number for worker in now.workers):
            raise NotFound(f"There is no open worker {number}. The page of workers lists them.")
        moved = await site.store.write(leave, Leave(WorkerId(number), "draining"))
        go = site.url("/workers", **{SAID: "draining" if moved else "not_open"})
        return Outcome(go, data={"worker": number, "draining": moved})

    return [page, twin, *action(site, "/workers/{number:int}/drain", (), drain)]


def _counts(found: WorkersPage) -> str:
    return ", ".join(f"{found.count(liveness)} {liveness}" for liveness in Liveness)


def _row(site: Site, one: WorkerLine, now_ms: int) -> Row:
    mark = liveness_mark(one.liveness)
    late = f"{wording.age(now_ms - one.heartbeat_ms)} ago"
    return Row(
        key=f"worker-{one.id}",
        name=one.name,
        where=f"{one.host}, process {one.pid}",
        mark=Mark(mark.tone, mark.icon, f"{mark.word}, draining") if one.draining and one.open else mark,
        version=one.version,
        slots=f"{one.leases:,} of {one.slots:,}",
        oldest="-" if one.oldest_lease_ms is None else wording.moment(one.oldest_lease_ms),
        rate=wording.per_hour(one.rate) if one.open else "-",
        failed=f"{one.failed_last_hour:,}",
        heartbeat="on time" if one.liveness is Liveness.LIVE else late,
        started=wording.moment(one.started_ms),
        drain=site.url(f"/workers/{one.id}/drain") if one.open and not one.draining else None,
    )


def _lease(site: Site, one: LeaseLine) -> LeaseRow:
    return LeaseRow(
        key=f"lease-{one.worker}-{one.dataset}-{one.sample_id}-{one.replica}",
        dataset=one.dataset,
        sample_id=one.sample_id,
        href=site.sample_url(one.dataset, one.sample_id, one.replica),
        attempt=str(one.attempt),
        worker=one.worker_name,
        leased="-" if one.leased_ms is None else wording.moment(one.leased_ms),
        deadline=wording.moment(one.deadline_ms),
    )


def _card(one: EndpointCard) -> Card:
    return Card(
        key=f"endpoint-{one.id}",
        url=one.base_url,
        model=one.model,
        facts=one.facts,
        seen=f"{wording.moment(one.first_seen_ms)} - {wording.moment(one.last_seen_ms)}",
        current=one.current,
        unknown=one.unknown,
    )
