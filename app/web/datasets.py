"""`/datasets`: all of them, one of them, and whether it may be asked."""

from typing import Any

from litestar import get

import app.progress.dataset_json as twins
from app.gates.resume import resume
from app.leasing.datasets import DatasetSettings, all_datasets, dataset_of
from app.leasing.holds import HoldKind, HoldRequest, LiftRequest, hold
from app.progress.as_json import overview_json
from app.progress.dataset_page import dataset_counts, dataset_page
from app.progress.gathering import overview
from app.progress.series import Span, series_of
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked, json_response
from app.web.asking import Said, query
from app.web.attention import attention
from app.web.dataset_words import dataset_words
from app.web.frame import frame
from app.web.overview_page import dataset_row, import_command
from app.web.pages import show
from app.web.said import SAID, said
from app.web.site import Site

PATH = "/datasets/{name:str}"


def routes(site: Site) -> list[Any]:
    """Pages, twins and changes."""
    return [*_pages(site), *_twins(site), *_changes(site)]


def _pages(site: Site) -> list[Any]:
    @get("/datasets")
    async def listing(request: Asked) -> Answer:
        query(request)
        now = await overview(site.store)
        settings: dict[int, str] = {one.id: _settings(one) for one in await all_datasets(site.store)}
        rows = [(dataset_row(site, one, now), one.samples, settings.get(one.id)) for one in now.datasets]
        around = frame(site, now, "Datasets", "Datasets - Thinkledger")
        command = None if now.datasets else import_command(now.store_path)
        return show(request, "datasets/list.html", around, rows=rows, import_command=command)

    @get(PATH)
    async def page(request: Asked, name: str) -> Answer:
        asked = query(request, "span", SAID)
        span = asked.word("span", Span)
        found = await dataset_page(site.store, name, span=span)
        now = found.overview
        words = dataset_words(site, found, now, span)
        title = f"{words.row.percent} {name}"
        around = frame(site, now, "Datasets", title, say=f"{name}: {words.row.progress} done", said=said(asked))
        alerts = [alert for alert in attention(site, now) if alert.dataset == name]
        return show(
            request, "datasets/page.html", around, page=words, alerts=alerts, to=_addresses(site, name, span), span=span
        )

    return [listing, page]


def _settings(one: DatasetSettings) -> str:
    config = one.config
    said = [config.model, None if config.max_tokens is None else f"max tokens {config.max_tokens:,}"]
    said += [None if config.thinking is None else f"thinking {'on' if config.thinking else 'off'}"]
    return ", ".join(word for word in said if word is not None)


def _addresses(site: Site, name: str, span: Span | None) -> dict[str, str]:
    """Where the buttons and links of a dataset lead. Pages that lead back take the chosen span along."""
    there_and_back = {part: site.dataset_url(name, f"/{part}", span=span) for part in ("retry", "reparse")}
    others = {part: site.dataset_url(name, f"/{part}") for part in ("samples", "pause", "resume")}
    return there_and_back | others | {"export": site.url("/exports", dataset=name)}


def _twins(site: Site) -> list[Any]:
    @get("/api/v1/datasets")
    async def listing(request: Asked) -> Answer:
        query(request)
        now = await overview(site.store)
        return json_response({"data": overview_json(now)["datasets"], "as_of": now.as_of_ms, "seq": now.seq})

    @get(f"/api/v1{PATH}")
    async def one(request: Asked, name: str) -> Answer:
        found = await dataset_page(site.store, name, span=query(request, "span").word("span", Span))
        return json_response({"data": twins.dataset_json(found), "as_of": found.as_of_ms, "seq": found.seq})

    @get(f"/api/v1{PATH}/series")
    async def series(request: Asked, name: str) -> Answer:
        span = query(request, "span").word("span", Span)
        data = twins.series_json(await series_of(site.store, name, span))
        return json_response({"data": data, "as_of": site.store.now_ms(), "seq": await site.store.seq()})

    @get(f"/api/v1{PATH}/histogram")
    async def histogram(request: Asked, name: str) -> Answer:
        query(request)
        found = await dataset_counts(site.store, name)
        return json_response({"data": twins.histogram_json(found.histogram), "as_of": found.as_of_ms, "seq": found.seq})

    @get(f"/api/v1{PATH}/triage")
    async def triage(request: Asked, name: str) -> Answer:
        query(request)
        found = await dataset_counts(site.store, name)
        return json_response({"data": twins.triage_json(found.triage), "as_of": found.as_of_ms, "seq": found.seq})

    @get(f"/api/v1{PATH}/errors")
    async def errors(request: Asked, name: str) -> Answer:
        query(request)
        found = await dataset_counts(site.store, name)
        return json_response({"data": twins.errors_json(found.errors), "as_of": found.as_of_ms, "seq": found.seq})

    return [listing, one, series, histogram, triage, errors]


def _changes(site: Site) -> list[Any]:
    async def pause(request: Asked, form: Said) -> Outcome:
        found = await dataset_of(site.store, str(request.path_params["name"]))
        reason, span = form.text("reason"), form.word("span", Span)
        new = await site.store.write(hold, HoldRequest(found.id, HoldKind.PERSON, reason or "paused on the dashboard"))
        go = site.dataset_url(found.name, "", span=span, **{SAID: "paused"})
        return Outcome(go, data={"dataset": found.name, "paused": True, "new": new})

    async def go_on(request: Asked, form: Said) -> Outcome:
        found = await dataset_of(site.store, str(request.path_params["name"]))
        kinds, span = form.several("kinds", HoldKind) or tuple(HoldKind), form.word("span", Span)
        lifted = await site.store.write(resume, LiftRequest(found.id, kinds))
        word = "resumed" if lifted else "not_held"
        go = site.dataset_url(found.name, "", span=span, **{SAID: word})
        return Outcome(go, data={"dataset": found.name, "lifted": lifted})

    return [
        *action(site, f"{PATH}/pause", ("reason",), pause),
        *action(site, f"{PATH}/resume", ("kinds",), go_on),
    ]
