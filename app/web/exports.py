"""`/exports`: what an export would hold, files that are being built, and files that can be downloaded."""

from dataclasses import dataclass
from typing import Any

from litestar import get
from litestar.response import Stream

from app.export.census import take_census
from app.export.exporting import refuse, refuse_means
from app.export.folder import Exported, ExportFolder, File, chunks
from app.export.foreseen import apart, foresee, left_words
from app.export.presets import SHAPES, Preset
from app.export.request import Format, Only, Packing
from app.export.target import refuse_target
from app.model.errors import NotFound, UsageError
from app.progress import wording
from app.progress.gathering import overview
from app.web.actions import Outcome, action
from app.web.answers import Answer, Asked, disposition, json_response
from app.web.asking import Said, query
from app.web.export_desk import Build, Desk
from app.web.export_order import CHOICES, KEYS, request_of
from app.web.frame import frame
from app.web.pages import polled, show
from app.web.said import SAID, said
from app.web.site import Site

SHOWN = 20  # shards that a page links to; the manifest lists all


@dataclass(frozen=True, slots=True)
class Preview:
    """What a file would hold if it were built now, or why it cannot be."""

    account: str | None = None
    unfinished: str | None = None
    lost: str | None = None
    warning: str | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """One file to be downloaded."""

    key: str
    name: str
    href: str


@dataclass(frozen=True, slots=True)
class FileRow:
    """One finished export."""

    key: str
    name: str
    links: list[Link]
    more: str | None
    manifest: str
    preset: str
    rows: str
    size: str
    sha256: str
    made: str
    account: str


def routes(site: Site) -> list[Any]:
    """The page, its twin, orders and downloads."""
    folder = ExportFolder(site.store.place.path)
    desk = Desk(site.store, folder)
    return [*_pages(site, folder, desk), *_files(folder), *_orders(site, folder, desk)]


def _pages(site: Site, folder: ExportFolder, desk: Desk) -> list[Any]:
    @get("/exports")
    async def page(request: Asked) -> Answer:
        asked = query(request, *CHOICES, SAID)
        now = await overview(site.store)
        around = frame(site, now, "Exports", "Exports - Thinkledger", said=said(asked))
        return show(
            request, "exports/page.html", around,
            dialog=_dialog(asked, [dataset.name for dataset in now.datasets], folder), here=site.url("/exports"),
            chosen=[(key, value) for key in CHOICES if (value := asked.text(key)) is not None],
            preview=await _preview(site, folder, asked) if asked.text("dataset") and not polled(request) else None,
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
        _, found = folder.find(file)
        if found is None:
            raise NotFound(f"{file} is in shards. Each has an address of its own; the manifest lists them.")
        headers = {
            "content-length": str(found.bytes), "content-disposition": disposition(file),
            "x-sha256": found.sha256, "etag": f'"{found.sha256}"',
        }  # fmt: skip
        return Stream(chunks(folder.open(file)), headers=headers, media_type="application/octet-stream")

    @get("/exports/{file:str}/manifest")
    async def manifest(request: Asked, file: str) -> Stream:
        query(request)
        name = folder.find(file)[0].manifest
        return Stream(
            chunks(folder.open(name)), headers={"content-disposition": disposition(name)}, media_type="application/json"
        )

    return [download, manifest]


def _orders(site: Site, folder: ExportFolder, desk: Desk) -> list[Any]:
    async def order(_request: Asked, form: Said) -> Outcome:
        wanted = request_of(folder, form)
        assert wanted.target is not None
        refuse_means(wanted)
        refuse(wanted, await take_census(site.store, wanted.dataset))
        folder.make()
        refuse_target(wanted)
        site.background(desk.take(wanted))
        go = site.url("/exports", **{key: form.text(key) for key in CHOICES}, **{SAID: "export"})
        return Outcome(go, data={"name": wanted.target.name, "dataset": wanted.dataset}, status=202)

    return action(site, "/exports", KEYS, order)


def _dialog(asked: Said, names: list[str], folder: ExportFolder) -> dict[str, Any]:
    """What can be chosen, and what is."""
    return {
        "names": names, "dataset": asked.text("dataset"), "templates": folder.templates(),
        "onlys": tuple(Only), "only": asked.word("only", Only) or Only.CAPTURED,
        "presets": tuple(Preset), "preset": asked.word("preset", Preset) or Preset.RUN_INFERENCE,
        "formats": tuple(Format), "format": asked.word("format", Format) or Format.JSONL,
        "packings": tuple(Packing), "packing": asked.word("packing", Packing) or Packing.PLAIN,
        "shard_size": asked.text("shard_size"), "template": asked.text("template"),
        "end_token": asked.text("end_token"),
    }  # fmt: skip


async def _preview(site: Site, folder: ExportFolder, asked: Said) -> Preview:
    """What the command says before it writes."""
    try:
        wanted = request_of(folder, Said({key: value for key, value in asked.values.items() if key in CHOICES}))
        refuse_means(wanted)
    except UsageError as error:
        return Preview(refused=str(error))
    census = await take_census(site.store, wanted.dataset)
    try:
        foreseen = await foresee(site.store, census, wanted)
    except UsageError as error:  # a template that fails on an answer
        return Preview(refused=str(error))
    lost = wanted.only is Only.DONE and census.lost
    return Preview(
        account=foreseen.words(None if foreseen.bytes is None else wording.size(foreseen.bytes)),
        unfinished=None if census.complete else "Not finished: the file would hold what is there now.",
        lost=f"{census.lost:,} of these answers have lost their reasoning." if lost else None,
        warning=SHAPES[wanted.preset].warning,
    )


def _build(one: Build) -> dict[str, str | bool]:
    of = "" if one.wanted is None else f" of {one.wanted:,}"
    return {"key": f"build-{one.name}", "name": one.name, "failed": not one.running,
            "text": one.error if one.error is not None else f"{one.rows:,}{of} rows written"}  # fmt: skip


def _file(site: Site, one: Exported) -> FileRow:
    more = len(one.files) - SHOWN
    left = left_words(*apart(one.left_out)) + ("" if one.complete else "; dataset not finished")
    return FileRow(
        key=f"file-{one.name}",
        name=one.name,
        links=[_link(site, file) for file in one.files[:SHOWN]],
        more=f"and {more:,} more, listed in the manifest" if more > 0 else None,
        manifest=site.url(f"/exports/{one.name}/manifest"),
        preset=one.preset,
        rows=f"{one.rows:,}",
        size=wording.size(one.bytes),
        sha256=one.sha256,
        made=wording.moment(one.modified_ms),
        account=f"{one.only}, {left}",
    )


def _link(site: Site, file: File) -> Link:
    return Link(f"get-file-{file.name}", file.name, site.url(f"/exports/{file.name}"))


def _facts(site: Site, one: Exported) -> dict[str, Any]:
    return {
        "name": one.name, "dataset": one.dataset, "preset": one.preset, "rows": one.rows, "bytes": one.bytes,
        "sha256": one.sha256, "complete": one.complete, "only": one.only, "left_out": one.left_out, "seq": one.seq,
        "modified_ms": one.modified_ms, "url": None if one.sharded else site.url(f"/exports/{one.name}"),
        "manifest_url": site.url(f"/exports/{one.name}/manifest"),
        "files": [
            {"name": file.name, "bytes": file.bytes, "sha256": file.sha256, "url": site.url(f"/exports/{file.name}")}
            for file in one.files
        ],
    }  # fmt: skip
