"""`/alerts`: the alarms that stand, with numbers, evidence and what to do."""

from dataclasses import dataclass
from typing import Any

from litestar import get

from app.gates.alarms import Acknowledge, acknowledge
from app.model.errors import NotFound
from app.progress import wording
from app.progress.alerts import AlarmLine, AlarmState, AlertsPage, Evaluation, alerts_page
from app.progress.alerts_json import alerts_json
from app.progress.gathering import overview
from app.progress.overview import Overview
from app.progress.present import present
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked, json_response
from app.web.asking import Said, query, row_number
from app.web.frame import frame
from app.web.marks import Mark
from app.web.pages import show
from app.web.said import SAID, said
from app.web.site import Site


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """One alarm."""

    key: str
    mark: Mark
    title: str
    message: str
    numbers: str
    when: str
    now: str  # the same numbers at present; empty where there are none
    advice: str
    evidence: str | None
    acknowledge: str | None


_PLACES = {"workers": "/workers", "endpoints": "/workers#endpoints", "store": "/alerts#foot"}


def routes(site: Site) -> list[Any]:
    """The page, its twin, and the word that somebody has seen it."""

    @get("/alerts")
    async def page(request: Asked) -> Answer:
        asked = query(request, SAID)
        found = await alerts_page(site.store)
        now = await overview(site.store)
        around = frame(site, now, "Alerts", "Alerts - Thinkledger", said=said(asked))
        return show(
            request, "alerts/page.html", around,
            standing=[_row(site, one, now) for one in found.standing],
            cleared=[_row(site, one, now) for one in found.cleared],
            evaluation=evaluation(found.evaluation), stale=found.evaluation.stale,
            webhook=wording.webhook(now.untold),
        )  # fmt: skip

    @get("/api/v1/alerts")
    async def twin(request: Asked) -> Answer:
        query(request)
        found = await alerts_page(site.store)
        return json_response({"data": alerts_json(found), "as_of": found.as_of_ms, "seq": found.seq})

    async def seen(request: Asked, _form: Said) -> Outcome:
        number = row_number(int(request.path_params["number"]), "alarm")
        if not _known(await alerts_page(site.store), number):
            raise NotFound(f"There is no alarm {number}. The page of alerts lists them.")
        moved = await site.store.write(acknowledge, Acknowledge(number, "web"))
        go = site.url("/alerts", **{SAID: "acknowledged" if moved else "not_standing"})
        return Outcome(go, data={"alarm": number, "acknowledged": moved})

    return [page, twin, *action(site, "/alerts/{number:int}/acknowledge", (), seen)]


def _known(found: AlertsPage, number: int) -> bool:
    return any(alarm.id == number for alarm in (*found.standing, *found.cleared))


def evaluation(found: Evaluation) -> str:
    """Whether anybody looks at what time triggers."""
    if found.at_ms is None:
        timed = "stalled, worker dead, endpoint down, disk, backup, integrity"
        return f"Nobody has looked yet at the alarms that time triggers ({timed})."
    if found.stale:
        last = f"the last look was at {wording.moment(found.at_ms)} by {found.by}"
        return f"Nobody looks at the alarms that time triggers; {last}."
    return f"Alarms that time triggers are looked at by {found.by}."


def _row(site: Site, one: AlarmLine, now: Overview) -> AlarmRow:
    over = one.state is AlarmState.CLEARED
    last = "over since" if over else "numbers of"
    about = one.dataset or one.endpoint
    kind = one.kind.replace("_", " ")
    return AlarmRow(
        key=f"alarm-{one.id}",
        mark=_mark(one),
        title=f"{about}: {kind}" if about else kind,
        message=one.message,
        numbers="" if one.numbers is None else f"{one.numbers} ({one.numbers.percent})",
        when=f"since {wording.moment(one.since_ms)}, {last} {wording.moment(one.last_ms)}",
        now="" if over else present(one.kind, one.dataset, now),
        advice=one.advice,
        evidence=_evidence(site, one),
        acknowledge=site.url(f"/alerts/{one.id}/acknowledge") if one.state is AlarmState.OPEN else None,
    )


def _mark(one: AlarmLine) -> Mark:
    match one.state:
        case AlarmState.OPEN:
            return Mark("bad", "!", "holds the dataset") if one.holds else Mark("warn", "!", "open")
        case AlarmState.ACKNOWLEDGED:
            return Mark("quiet", "\N{CHECK MARK}", "acknowledged, still stands")
        case AlarmState.CLEARED:
            return Mark("quiet", "\N{WHITE CIRCLE}", "over")


def _evidence(site: Site, one: AlarmLine) -> str | None:
    where = one.evidence
    if where is None:
        return None
    if where.page == "samples" and where.dataset is not None:
        words = {} if where.wanted is None else where.wanted.words()
        return site.dataset_url(where.dataset, "/samples", **words)
    if where.page == "dataset" and where.dataset is not None:
        return site.dataset_url(where.dataset)
    return site.url(_PLACES[where.page])
