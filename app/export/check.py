"""Check an exported file: against its manifest, line by line, and against the store that it came from."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.export.census import take_census
from app.export.presets import SHAPES, Preset
from app.export.request import Only, Packing, manifest_of
from app.export.sink import Sink
from app.export.target import opened, read_back
from app.export.walk import Taking, write_lines
from app.model.errors import IntegrityFailure, NotFound, UsageError
from app.model.ids import JobId, Seq
from app.store.store import Store


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a check needs of a manifest."""

    dataset: str
    store_id: str
    epoch: int
    seq: Seq
    highest_job: JobId
    replicated: bool
    preset: Preset
    only: Only
    limit: int | None
    packing: Packing
    rows: int
    bytes: int
    sha256: str
    line_sha256: str


def load_manifest(file: Path) -> Manifest:
    """The manifest beside an exported file."""
    path = manifest_of(file)
    for needed in (file, path):
        if not needed.exists():
            raise NotFound(f"There is no {needed}. A check needs the exported file and its manifest beside it.")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return _manifest(said)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no manifest of this version ({error!r}).") from error


def _manifest(said: dict[str, Any]) -> Manifest:
    return Manifest(
        dataset=said["dataset"], store_id=said["store"]["id"], epoch=said["store"]["epoch"],
        seq=Seq(said["store"]["seq"]), highest_job=JobId(said["store"]["highest_job"]), replicated=said["replicated"],
        preset=Preset(said["preset"]),
        only=Only(said["filters"]["only"]), limit=said["filters"]["limit"], packing=Packing(said["packing"]),
        rows=said["rows"], bytes=said["bytes"], sha256=said["sha256"], line_sha256=said["uncompressed_sha256"],
    )  # fmt: skip


def check_file(file: Path, manifest: Manifest) -> None:
    """The file is the one that the manifest speaks of, and each line of it is a whole row."""
    found = read_back(file, manifest.packing)
    for name, has, said in (
        ("sha256", found.sha256, manifest.sha256),
        ("bytes", found.bytes, manifest.bytes),
        ("rows", found.rows, manifest.rows),
    ):
        if has != said:
            raise IntegrityFailure(f"{file} is not what its manifest says: {name} is {has}, not {said}.")
    with opened(file, manifest.packing) as lines:
        for number, line in enumerate(lines, 1):
            _check_line(file, number, line, manifest.preset)


def _check_line(file: Path, number: int, line: bytes, preset: Preset) -> None:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise IntegrityFailure(f"{file} line {number} is no JSON ({error}).") from error
    shape = SHAPES[preset]
    if not isinstance(row, dict) or [key for key in row if key not in shape.optional] != [*shape.fields]:
        raise IntegrityFailure(f"{file} line {number} has other keys than {', '.join(shape.fields)}.")


async def check_against(store: Store, manifest: Manifest) -> bool:
    """Whether the store gives the very same lines as of the manifest's seq; False where it is another store.

    A store that was restored counts as another one: its numbers may mean other transactions by now.
    """
    if (store.store_id, store.epoch) != (manifest.store_id, manifest.epoch) or await store.seq() < manifest.seq:
        return False
    now = await take_census(store, manifest.dataset)
    then = replace(now, seq=manifest.seq, highest_job=manifest.highest_job, replicated=manifest.replicated)
    sink = Sink(None, Packing.PLAIN)
    await write_lines(
        store, then, Taking(manifest.only, manifest.limit, allow_uncaptured=True, preset=manifest.preset), sink
    )
    written = sink.finish()
    if written.sha256 != manifest.line_sha256:
        raise IntegrityFailure(
            f"The store gives other lines than were exported as of seq {manifest.seq}: {written.rows:,} rows, "
            f"{manifest.rows:,} in the file. Run `thinkledger verify`."
        )
    return True
