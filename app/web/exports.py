"""`/exports`: what an export would hold, files that are being built, and files that can be downloaded."""

from dataclasses import dataclass
from typing import Any

from litestar import get
from litestar.response import Stream

from app.export.census import Census, take_census
from app.export.exporting import refuse
from app.export.folder import Exported, ExportFolder, checked, chunks
from app.export.naming import manifest_of
from app.export.request import ExportRequest, Format, Only, Packing, default_name, packing_of
from app.export.target import refuse_target
from app.model.errors import UsageError
from app.model.states import JobState
from app.progress import wording
from app.progress.gathering import overview
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked, disposition, json_response
from app.web.asking import Said, query
from app.web.export_desk import Build, Desk
from app.web.frame import frame
from app.web.pages import show
from app.web.said import SAID, said
from app.web.site import Site

KEYS = ("dataset", "only", "packing", "name", "overwrite", "allow_uncaptured")


@dataclass(frozen=True, slots=True)
class Preview:
    """What a file would hold if it were built now."""

    dataset: str
    rows: str
    left_out: str
    unfinished: str | None
    refused: str | None


@dataclass(frozen=True, slots=True)
class FileRow:
    """One finished file."""

    key: str
    name: str
    href: str
    manifest: str
    dataset: str
    rows: str
    size: str
    sha256: str
    made: str
    whole: str


def routes(site: Site) -> list[Any]:
    """The page, its twin, orders and downloads."""
    folder = ExportFolder(site.store.place.path)
    desk = Desk(site.store, folder)
    return [*_pages(site, folder, desk), *_files(folder), *_orders(site, folder, desk)]


def _pages(site: Site, folder: ExportFolder, desk: Desk) -> list[Any]:
    @get("/exports")
    async def page(request: Asked) -> Answer:
        asked = query(request, "dataset", "only", "packing", SAID)
        now = await overview(site.store)
        names = [dataset.name for dataset in now.datasets]
        name, only = asked.text("dataset"), asked.word("only", Only) or Only.CAPTURED
        around = await frame(site, now, "Exports", "Exports - Thinkledger", said=said(asked))
        return show(
            request, "exports/page.html", around,
            names=names, chosen=name, only=only, choices=tuple(Only), packings=tuple(Packing),
            packing=asked.word("packing", Packing) or Packing.PLAIN, here=site.url("/exports"),
            preview=None if name is None else preview(await take_census(site.store, name), only),
            builds=[_build(one) for one in desk.builds.values()], folder=str(folder.path),
            files=[_file(site, one) for one in folder.finished()],
        )  # fmt: skip

    @get("/api/v1/exports")
    async def twin(request: Asked) -> Answer:
        query(request)
        data = {
            "files": [_facts(site, one) for one in folder.finished()],
            "building": [
                {"name": one.name, "dataset": one.dataset, "rows": one.rows, "of": one.wanted, "error": one.error}
                for one in desk.builds.values()
            ],
        }
        return json_response({"data": data, "as_of": site.store.now_ms(), "seq": await site.store.seq()})

    return [page, twin]


def _files(folder: ExportFolder) -> list[Any]:
    @get("/exports/{file:str}")
    async def download(request: Asked, file: str) -> Stream:
        query(request)
        found = folder.find(file)
        headers = {
            "content-length": str(found.bytes), "content-disposition": disposition(file),
            "x-sha256": found.sha256, "etag": f'"{found.sha256}"',
        }  # fmt: skip
        return Stream(chunks(folder.open(file)), headers=headers, media_type="application/octet-stream")

    @get("/exports/{file:str}/manifest")
    async def manifest(request: Asked, file: str) -> Stream:
        query(request)
        name = folder.find(file).manifest
        return Stream(
            chunks(folder.open(name)), headers={"content-disposition": disposition(name)}, media_type="application/json"
        )

    return [download, manifest]


def _orders(site: Site, folder: ExportFolder, desk: Desk) -> list[Any]:
    async def order(_request: Asked, form: Said) -> Outcome:
        wanted = request_of(folder, form)
        assert wanted.target is not None
        refuse(wanted, await take_census(site.store, wanted.dataset))
        folder.make()
        refuse_target(wanted)
        site.background(desk.take(wanted))
        go = site.url("/exports", dataset=wanted.dataset, **{SAID: "export"})
        return Outcome(go, data={"name": wanted.target.name, "dataset": wanted.dataset}, status=202)

    return action(site, "/exports", KEYS, order)


def request_of(folder: ExportFolder, form: Said) -> ExportRequest:
    """The order that a form speaks of, as the command would understand it."""
    dataset = form.needed("dataset")
    packing = form.word("packing", Packing) or Packing.PLAIN
    name = form.text("name")
    name = default_name(dataset, Format.JSONL, packing) if name is None else checked(name)
    if name.endswith((".part", manifest_of(folder.path / "x").name[1:])):
        raise UsageError(f"{name} would be taken for something else. Name it .jsonl, .jsonl.gz or .jsonl.zst.")
    if packing_of(name) not in (Packing.PLAIN, packing):
        raise UsageError(f"The name {name} asks for {packing_of(name)}, and the form for {packing}.")
    return ExportRequest(
        dataset=dataset,
        target=folder.target(name),
        only=form.word("only", Only) or Only.CAPTURED,
        packing=packing,
        overwrite=form.flag("overwrite"),
        allow_uncaptured=form.flag("allow_uncaptured"),
    )


def preview(census: Census, only: Only) -> Preview:
    """What the command says before it writes."""
    left_out = {reason: count for reason, count in sorted(census.left_out(only).items()) if count}
    why = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
    lost = only is Only.DONE and census.lost
    return Preview(
        dataset=census.name,
        rows=f"{census.taken(only):,} rows of {census.total:,} jobs, {census.state(JobState.DONE):,} done",
        left_out=f"left out {sum(left_out.values()):,}" + (f": {why}" if why else ""),
        unfinished=None if census.complete else "Not finished: the file would hold what is there now.",
        refused=f"{census.lost:,} of these answers have lost their reasoning." if lost else None,
    )


def _build(one: Build) -> dict[str, str | bool]:
    of = "" if one.wanted is None else f" of {one.wanted:,}"
    return {"key": f"build-{one.name}", "name": one.name, "failed": not one.running,
            "text": one.error if one.error is not None else f"{one.rows:,}{of} rows written"}  # fmt: skip


def _file(site: Site, one: Exported) -> FileRow:
    return FileRow(
        key=f"file-{one.name}",
        name=one.name,
        href=site.url(f"/exports/{one.name}"),
        manifest=site.url(f"/exports/{one.name}/manifest"),
        dataset=one.dataset,
        rows=f"{one.rows:,}",
        size=wording.size(one.bytes),
        sha256=one.sha256,
        made=wording.moment(one.modified_ms),
        whole=f"{one.only}, left out {one.left_out:,}" + ("" if one.complete else ", dataset not finished"),
    )


def _facts(site: Site, one: Exported) -> dict[str, Any]:
    return {
        "name": one.name, "dataset": one.dataset, "rows": one.rows, "bytes": one.bytes, "sha256": one.sha256,
        "complete": one.complete, "only": one.only, "left_out": one.left_out, "seq": one.seq,
        "modified_ms": one.modified_ms, "url": site.url(f"/exports/{one.name}"),
        "manifest_url": site.url(f"/exports/{one.name}/manifest"),
    }  # fmt: skip
