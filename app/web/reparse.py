"""Read stored bodies anew: the matrix first, and a change only when it is asked for."""

from dataclasses import dataclass
from typing import Any

from litestar import get

from app.capture import PARSER_VERSION
from app.leasing.datasets import dataset_of
from app.progress.gathering import overview
from app.progress.series import Span
from app.responses.rereading import Reparse, reparse
from app.responses.rewriting import End, note_end
from app.responses.transitions import Report, report_json
from app.responses.versions import refuse_newer
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked
from app.web.asking import Said, query
from app.web.frame import frame
from app.web.pages import show
from app.web.rendering import render
from app.web.said import SAID
from app.web.site import Site

PATH = "/datasets/{name:str}/reparse"


@dataclass(frozen=True, slots=True)
class Move:
    """One cell of the matrix of verdicts."""

    before: str
    after: str
    count: str
    note: str
    worse: bool


def routes(site: Site) -> list[Any]:
    """The page that explains, and the change."""

    @get(PATH)
    async def page(request: Asked, name: str) -> Answer:
        span = query(request, "span").word("span", Span)
        await dataset_of(site.store, name)
        around = frame(site, await overview(site.store), "Datasets", f"Re-parse {name}")
        return show(request, "reparse/page.html", around, **_facts(site, name, None, span))

    async def change(request: Asked, form: Said) -> Outcome:
        dataset = await dataset_of(site.store, str(request.path_params["name"]))
        span = form.word("span", Span)
        dry = form.flag("dry_run", unsaid=True)
        if not dry:
            await refuse_newer(site.store)
        report = await reparse(
            site.store, Reparse(dataset, not dry, form.flag("allow_regression")), lambda _done, _all: None
        )
        if not dry and report.changed:
            await site.store.write(note_end, End(dataset.id, report))
        data = _data(report)
        if not dry:
            written = report.changed - report.kept
            go = site.dataset_url(dataset.name, "", span=span, **{SAID: f"reparsed.{written}"})
            return Outcome(go, data=data)
        around = frame(site, await overview(site.store), "Datasets", f"Re-parse {dataset.name}")
        facts = _facts(site, dataset.name, report, span)
        return Outcome(page=render("reparse/page.html", frame=around, **facts), data=data)

    return [page, *action(site, PATH, ("dry_run", "allow_regression"), change)]


def _facts(site: Site, name: str, report: Report | None, span: Span | None) -> dict[str, Any]:
    return {
        "name": name, "dataset": site.dataset_url(name, span=span), "here": site.dataset_url(name, "/reparse"),
        "back": {} if span is None else {"span": span},
        "version": PARSER_VERSION, "report": report, "moves": [] if report is None else _moves(report),
    }  # fmt: skip


def _moves(report: Report) -> list[Move]:
    moves = []
    for one, count in report.transitions.most_common():
        notes = one.remarks + (["worse than before"] if one.regression else [])
        moves.append(Move(one.before, one.after, f"{count:,}", ", ".join(notes), one.regression))
    return moves


def _data(report: Report) -> dict[str, Any]:
    about = {"dataset": report.name, "parser_version": PARSER_VERSION, "applied": report.applied}
    return about | report_json(report)
