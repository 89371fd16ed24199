"""Export a dataset: census, refusals, lines, file, manifest."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from anyio import to_thread

from app.export import statements
from app.export.census import Census, take_census
from app.export.manifest import Server, as_text, manifest
from app.export.request import ExportRequest, Only
from app.export.sink import Sink, Written
from app.export.target import part, refuse_target, write_durably
from app.export.walk import Taking, Walked, walk
from app.model.errors import CaptureFailed, ThinkledgerError
from app.model.exits import Exit
from app.spool.looking import look, waiting_words
from app.store.batch import bind_rows
from app.store.store import Store


class Incomplete(ThinkledgerError):
    """The dataset is not finished, and only a finished one was wanted."""

    exit = Exit.INCOMPLETE


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told how far an export is."""

    on_census: Callable[[Census], None] = lambda _census: None  # before anything is written
    on_rows: Callable[[int], None] = lambda _rows: None


@dataclass(frozen=True, slots=True)
class Report:
    """What an export came to."""

    census: Census
    written: Written
    left_out: dict[str, int]
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
    started = _now()
    refuse_target(request)
    in_spool = (await to_thread.run_sync(look, store.place)).of(request.dataset)
    census = await take_census(store, request.dataset)
    told.on_census(census)
    refuse(request, census)
    taking = Taking(request.only, request.limit, request.allow_uncaptured)
    if request.target is None:
        sink = Sink(stream, request.packing)
        walked = await walk(store, census, taking, sink, told.on_rows)
        return _report(census, walked, sink.finish(), None, in_spool)
    with part(request, request.target) as made:
        walked = await walk(store, census, taking, made.sink, told.on_rows)
        written = await to_thread.run_sync(made.seal)
        made.put_in_place()
    if request.manifest_path is not None:
        times = {"started": started, "finished": _now()}
        facts = manifest(request, census, walked, written, await _servers(store, walked), times)
        facts |= {"warnings": [waiting_words(in_spool)]} if in_spool else {}
        write_durably(request.manifest_path, as_text(facts))
    return _report(census, walked, written, request.manifest_path, in_spool)


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


def _report(census: Census, walked: Walked, written: Written, manifest_path: Path | None, in_spool: int) -> Report:
    return Report(census, written, walked.left_out(census), walked.with_tool_calls, manifest_path, in_spool)


async def _servers(store: Store, walked: Walked) -> list[Server]:
    known = bind_rows([(endpoint,) for endpoint in walked.endpoints if endpoint is not None])
    async with store.snapshot() as reads:
        rows = await reads.rows(statements.endpoints(), {"endpoints": known})
    return [Server(row.base_url, row.model, json.loads(row.fingerprint), walked.endpoints[row.id]) for row in rows]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
