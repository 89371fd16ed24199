"""Export a dataset: census, refusals, lines, file, manifest, a record of it in the store."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from app.export import statements
from app.export.census import Census, take_census
from app.export.disk import write_durably
from app.export.foreseen import Foreseen, foresee
from app.export.hashing import Written
from app.export.manifest import Server, as_text, manifest
from app.export.naming import part_of
from app.export.parquet import refuse_without_pyarrow
from app.export.recording import record
from app.export.request import ExportRequest, Format, Only
from app.export.sink import sink_of
from app.export.target import Part, part, refuse_target
from app.export.template import refuse_template
from app.export.unfinished import Place, Unfinished, asked_of, load, refuse_other
from app.export.walk import Taking, Walked, walk
from app.model.errors import CaptureFailed, ThinkledgerError
from app.model.exits import Exit
from app.spool.looking import look, waiting_words
from app.store.batch import bind_rows
from app.store.store import Store

NOTE_EVERY_BYTES = 32 * 2**20  # of lines; what an export that is killed makes again at most


class Incomplete(ThinkledgerError):
    """The dataset is not finished, and only a finished one was wanted."""

    exit = Exit.INCOMPLETE


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told how far an export is."""

    on_census: Callable[[Census, Foreseen], None] = lambda _census, _foreseen: None  # before anything is written
    on_resume: Callable[[int], None] = lambda _rows: None  # rows that lie there already
    on_rows: Callable[[int], None] = lambda _rows: None
    on_unrecorded: Callable[[ThinkledgerError], None] = lambda _error: None  # the file is whole, the store was not told


@dataclass(frozen=True, slots=True)
class Report:
    """What an export came to."""

    census: Census
    written: Written
    left_out: dict[str, int]
    unfit: dict[str, int]  # of them, those that were asked for and have no row in such a file
    with_tool_calls: int
    manifest: Path | None
    in_spool: int = 0  # answers of the dataset that are on disk and not in the store

    @property
    def complete(self) -> bool:
        return self.census.complete


async def export_dataset(
    store: Store, request: ExportRequest, *, stream: BinaryIO | None = None, listener: Listener | None = None
) -> Report:
    """Write the lines of a dataset to the request's file, or to `stream` where it names none."""
    told = listener or Listener()
    refuse_means(request)
    if request.target is not None:
        return await _to_file(store, request, request.target, told)
    census = await take_census(store, request.dataset)
    in_spool = await _in_spool(store, request)
    told.on_census(census, await foresee(store, census, request))
    refuse(request, census)
    sink, walked = sink_of(stream, request.container), Walked()

    async def on_page(_until: int) -> None:
        told.on_rows(walked.rows)

    with closing(sink):
        await walk(store, census, _taking(request), sink, walked, on_page=on_page)
        return _report(census, walked, sink.finish(), None, in_spool)


async def _to_file(store: Store, request: ExportRequest, target: Path, told: Listener) -> Report:
    """The lines into a file, from the first on or from where an export was cut off: the same bytes either way."""
    found = load(part_of(target)) if request.resume else None
    if found is None:
        refuse_target(request)
    else:
        refuse_other(found, request, (store.store_id, store.epoch))
    with part(request, target) as made:
        if found is not None and made.is_placed(found):
            told.on_census(found.census, await foresee(store, found.census, request))
            told.on_resume(found.walked.rows)
            assert found.sealed is not None
            made.end_placing(found.sealed)
            return await _end(store, request, made, found, found.sealed, told)
        refuse_target(request)  # again: the export that held the lock before us may have finished
        unfinished = await _begin(store, request, made, found, told)
        written = await _write(store, request, made, unfinished, told)
        made.put_in_place(written)
        return await _end(store, request, made, unfinished, written, told)


async def _begin(
    store: Store, request: ExportRequest, made: Part, found: Unfinished | None, told: Listener
) -> Unfinished:
    """What is to be written and where it begins, noted down before the first line."""
    census = found.census if found is not None else await take_census(store, request.dataset)
    told.on_census(census, await foresee(store, census, request))
    refuse(request, census)
    unfinished = found or Unfinished(asked_of(request), _now(), census, Walked(), Place())
    if found is None:
        made.begin()
    else:
        await to_thread.run_sync(made.go_on, found)
        told.on_resume(found.walked.rows)
    await to_thread.run_sync(made.note, unfinished)
    return unfinished


async def _write(store: Store, request: ExportRequest, made: Part, unfinished: Unfinished, told: Listener) -> Written:
    """All lines that are missing; how far they go is noted down now and then, and at the end."""
    walked, noted_bytes = unfinished.walked, unfinished.place.bytes

    async def on_page(until: int) -> None:
        nonlocal noted_bytes
        told.on_rows(walked.rows)
        written_bytes, sha256 = made.sink.so_far
        if written_bytes - noted_bytes >= NOTE_EVERY_BYTES:
            noted_bytes = written_bytes
            unfinished.place = Place(until, written_bytes, sha256)
            await to_thread.run_sync(made.note, unfinished)

    census = unfinished.census
    await walk(store, census, _taking(request), made.sink, walked, unfinished.place.after, on_page)
    unfinished.sealed = written = await to_thread.run_sync(made.seal)
    unfinished.place = Place(census.last_ordinal, written.line_bytes, written.line_sha256)
    await to_thread.run_sync(made.note, unfinished)
    return written


async def _end(
    store: Store, request: ExportRequest, made: Part, unfinished: Unfinished, written: Written, told: Listener
) -> Report:
    """The manifest beside the file, and a line in the store about it."""
    census, walked = unfinished.census, unfinished.walked
    in_spool = await _in_spool(store, request)
    if request.manifest_path is not None:
        times = {"started": unfinished.started, "finished": _now()}
        facts = manifest(request, census, walked, written, await _servers(store, walked), times)
        facts |= {"warnings": [waiting_words(in_spool)]} if in_spool else {}
        await to_thread.run_sync(write_durably, request.manifest_path, as_text(facts).encode())
    try:
        await record(store, request, census, walked, written)
    except ThinkledgerError as error:  # a busy store: the file is whole all the same
        told.on_unrecorded(error)
    made.forget()
    return _report(census, walked, written, request.manifest_path, in_spool)


async def _in_spool(store: Store, request: ExportRequest) -> int:
    """Answers for the dataset that wait on disk and are in no line of the file."""
    return (await to_thread.run_sync(look, store.place)).of(request.dataset)


def refuse_means(request: ExportRequest) -> None:
    """Refuse a file that cannot be made here: for want of a package, or by a template that is none."""
    if request.format is Format.PARQUET:
        refuse_without_pyarrow()
    if request.template is not None:
        refuse_template(request.template)


def refuse(request: ExportRequest, census: Census) -> None:
    """What is not exported without a person's word."""
    if request.require_complete and not census.complete:
        raise Incomplete(
            f"Dataset {census.name} is not finished, and --require-complete was given. Nothing was exported."
        )
    if request.only is Only.DONE and census.lost and not request.allow_uncaptured:
        raise CaptureFailed(
            f"{census.lost:,} answers of dataset {census.name} have lost their reasoning. Nothing was exported. "
            "Leave them out with --only captured, or take them along with --allow-uncaptured."
        )


def _taking(request: ExportRequest) -> Taking:
    return Taking(
        request.only, request.limit, request.allow_uncaptured, request.preset, request.format, request.template
    )


def _report(census: Census, walked: Walked, written: Written, manifest_path: Path | None, in_spool: int) -> Report:
    left_out = walked.left_out(census)
    return Report(census, written, left_out, walked.unfit, walked.with_tool_calls, manifest_path, in_spool)


async def _servers(store: Store, walked: Walked) -> list[Server]:
    known = bind_rows([(endpoint,) for endpoint in walked.endpoints if endpoint is not None])
    async with store.snapshot() as reads:
        rows = await reads.rows(statements.endpoints(), {"endpoints": known})
    return [Server(row.base_url, row.model, json.loads(row.fingerprint), walked.endpoints[row.id]) for row in rows]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
