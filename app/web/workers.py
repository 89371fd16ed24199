"""`/workers`: who works, what they hold, the servers they ask; and a word that lets one go home."""

from dataclasses import dataclass
from typing import Any

from litestar import get

from app.leasing.workers import drain as drain_worker
from app.model.ids import WorkerId
from app.progress import wording
from app.progress.gathering import overview
from app.progress.worker_words import worker_words
from app.progress.workers import EndpointCard, LeaseLine, WorkerLine, workers_page
from app.progress.workers_json import workers_json
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked, json_response
from app.web.asking import Said, query, row_number
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
    first: str  # when it was seen
    last: str
    current: bool
    unknown: bool


def routes(site: Site) -> list[Any]:
    """The page, its twin, and drain."""

    @get("/workers")
    async def page(request: Asked) -> Answer:
        asked = query(request, SAID)
        found = await workers_page(site.store)
        now = await overview(site.store)
        around = frame(site, now, "Workers", "Workers - Thinkledger", said=said(asked))
        return show(
            request, "workers/page.html", around,
            rows=[_row(site, one, found.as_of_ms) for one in found.workers if one.open],
            closed=[_row(site, one, found.as_of_ms) for one in found.workers if not one.open],
            note=wording.workers(found), leases=f"{found.leases:,}", oldest=[_lease(site, one) for one in found.oldest],
            cards=[_card(one) for one in found.endpoints],
            asked=[(one.base_url, endpoint_mark(one)) for one in found.asked.asked],
        )  # fmt: skip

    @get("/api/v1/workers")
    async def twin(request: Asked) -> Answer:
        query(request)
        found = await workers_page(site.store)
        return json_response({"data": workers_json(found), "as_of": found.as_of_ms, "seq": found.seq})

    async def drain(request: Asked, _form: Said) -> Outcome:
        number = row_number(int(request.path_params["number"]), "worker")
        moved = await drain_worker(site.store, WorkerId(number))
        go = site.url("/workers", **{SAID: "draining" if moved else "not_open"})
        return Outcome(go, data={"worker": number, "draining": moved})

    return [page, twin, *action(site, "/workers/{number:int}/drain", (), drain)]


def _row(site: Site, one: WorkerLine, now_ms: int) -> Row:
    mark, said = liveness_mark(one.liveness), worker_words(one, now_ms)
    return Row(
        key=f"worker-{one.id}",
        name=one.name,
        where=said.where,
        mark=Mark(mark.tone, mark.icon, said.state),
        version=one.version,
        slots=said.slots,
        oldest=said.oldest,
        rate=said.rate,
        failed=said.failed,
        heartbeat=said.heartbeat,
        started=said.started,
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
        first=wording.moment(one.first_seen_ms),
        last=wording.moment(one.last_seen_ms),
        current=one.current,
        unknown=one.unknown,
    )
