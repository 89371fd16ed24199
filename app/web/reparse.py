"""Read stored bodies anew: the matrix first, and a change only when it is asked for."""

from dataclasses import dataclass
from typing import Any

from litestar import get

from app.capture import PARSER_VERSION
from app.leasing.datasets import dataset_of
from app.progress.gathering import overview
from app.responses.rereading import Reparse, reparse
from app.responses.rewriting import End, note_end
from app.responses.transitions import Report
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
        query(request)
        await dataset_of(site.store, name)
        around = await frame(site, await overview(site.store), "Datasets", f"Re-parse {name}")
        return show(request, "reparse/page.html", around, **_facts(site, name, None))

    async def change(request: Asked, form: Said) -> Outcome:
        dataset = await dataset_of(site.store, str(request.path_params["name"]))
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
            return Outcome(site.dataset_url(dataset.name, "", **{SAID: f"reparsed.{written}"}), data=data)
        around = await frame(site, await overview(site.store), "Datasets", f"Re-parse {dataset.name}")
        return Outcome(page=render("reparse/page.html", frame=around, **_facts(site, dataset.name, report)), data=data)

    return [page, *action(site, PATH, ("dry_run", "allow_regression"), change)]


def _facts(site: Site, name: str, report: Report | None) -> dict[str, Any]:
    return {
        "name": name, "dataset": site.dataset_url(name), "here": site.dataset_url(name, "/reparse"),
        "version": PARSER_VERSION, "report": report, "moves": [] if report is None else _moves(report),
    }  # fmt: skip


def _moves(report: Report) -> list[Move]:
    moves = []
    for one, count in report.transitions.most_common():
        notes = [] if one.accepted else ["not the accepted answer"]
        notes += ["other text or flags"] if one.before is one.after else []
        notes += ["later turns were asked after the old text"] if one.history else []
        notes += ["worse than before"] if one.regression else []
        moves.append(Move(one.before, one.after, f"{count:,}", ", ".join(notes), one.regression))
    return moves


def _data(report: Report) -> dict[str, Any]:
    return {
        "dataset": report.name, "parser_version": PARSER_VERSION, "applied": report.applied, "bodies": report.bodies,
        "unchanged": report.unchanged,
        "transitions": [
            {"from": one.before, "to": one.after, "accepted": one.accepted, "regression": one.regression, "n": count}
            for one, count in report.transitions.most_common()
        ],
        "loss_flags": {
            flag: {"more": report.flagged[flag], "fewer": report.cleared[flag]}
            for flag in report.loss_flags
        },
        "regressions": report.regressions, "regressions_not_written": report.kept, "finished": report.finished,
        "reopened": report.reopened,
        "overtaken": report.overtaken,
    }  # fmt: skip
