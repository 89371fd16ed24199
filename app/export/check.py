"""Check an export: its files against their manifest, row by row, and against the store that it came from."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.export.census import take_census
from app.export.naming import manifest_of, target_of
from app.export.parquet import refuse_without_pyarrow
from app.export.presets import SHAPES, Preset
from app.export.reading_back import opened, read_back
from app.export.request import Container, Format, Only, Packing
from app.export.sink import LineSink
from app.export.template import Template
from app.export.walk import Taking, write_lines
from app.model.errors import IntegrityFailure, NotFound, UsageError
from app.model.ids import JobId, Seq
from app.store.store import Store

_MANIFEST = manifest_of(Path("x")).name[1:]


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as a manifest lists it."""

    path: Path
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a check needs of a manifest."""

    path: Path
    dataset: str
    store_id: str
    epoch: int
    seq: Seq
    highest_job: JobId
    replicated: bool
    only: Only
    limit: int | None
    container: Container
    template: Template | None
    rows: int
    line_sha256: str
    files: tuple[Listed, ...]


def load_manifest(file: Path) -> Manifest:
    """The manifest of an export, by its file, by the name that its shards are made of, by one of them, or itself."""
    path = _manifest_path(file)
    try:
        manifest = _manifest(path, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no manifest of this version ({error!r}).") from error
    for listed in manifest.files:
        if not listed.path.exists():
            raise NotFound(f"There is no {listed.path}. A check needs every file that {path.name} lists, beside it.")
    return manifest


def _manifest_path(file: Path) -> Path:
    whole = target_of(file.name)
    names = [manifest_of(file), file if file.name.endswith(_MANIFEST) else None]
    names += [] if whole is None else [manifest_of(file.with_name(whole))]
    for path in names:
        if path is not None and path.is_file():
            return path
    raise NotFound(f"There is no {manifest_of(file)}. A check needs the exported file and its manifest beside it.")


def _manifest(path: Path, said: dict[str, Any]) -> Manifest:
    shards = said["shards"]
    return Manifest(
        path=path, dataset=said["dataset"], store_id=said["store"]["id"], epoch=said["store"]["epoch"],
        seq=Seq(said["store"]["seq"]), highest_job=JobId(said["store"]["highest_job"]), replicated=said["replicated"],
        only=Only(said["filters"]["only"]), limit=said["filters"]["limit"],
        container=Container(Format(said["format"]), Packing(said["packing"]), Preset(said["preset"])),
        template=_template(said["template"]), rows=said["rows"], line_sha256=said["uncompressed_sha256"],
        files=tuple(
            Listed(path.with_name(one["file"]), one["rows"], one["bytes"], one["sha256"])
            for one in ([said] if shards is None else shards)
        ),
    )  # fmt: skip


def _template(said: dict[str, str] | None) -> Template | None:
    return None if said is None else Template(said["name"], said["text"], said["end_token"], said["variables"])


def check_file(manifest: Manifest) -> None:
    """Each file is the one that the manifest speaks of, and each row of it is whole."""
    if manifest.container.format is Format.PARQUET:
        refuse_without_pyarrow()
    for listed in manifest.files:
        _check_file(listed, manifest.container)
    rows = sum(listed.rows for listed in manifest.files)
    if rows != manifest.rows:
        raise IntegrityFailure(f"{manifest.path} speaks of {manifest.rows:,} rows, and its files have {rows:,}.")


def _check_file(listed: Listed, container: Container) -> None:
    found = read_back(listed.path, container)
    for name, has, said in (
        ("sha256", found.sha256, listed.sha256),
        ("bytes", found.bytes, listed.bytes),
        ("rows", found.rows, listed.rows),
    ):
        if has != said:
            raise IntegrityFailure(f"{listed.path} is not what its manifest says: {name} is {has}, not {said}.")
    if container.format is Format.PARQUET:
        _check_columns(listed.path, container.preset)
        return
    with opened(listed.path, container.packing) as lines:
        for number, line in enumerate(lines, 1):
            _check_line(listed.path, number, line, container.preset)


def _check_line(file: Path, number: int, line: bytes, preset: Preset) -> None:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise IntegrityFailure(f"{file} line {number} is no JSON ({error}).") from error
    shape = SHAPES[preset]
    if not isinstance(row, dict) or [key for key in row if key not in shape.optional] != [*shape.fields]:
        raise IntegrityFailure(f"{file} line {number} has other keys than {', '.join(shape.fields)}.")


def _check_columns(file: Path, preset: Preset) -> None:
    """The columns are those of the preset, and every row group can be decoded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from app.export.parquet import schema_of

    try:
        with pq.ParquetFile(file) as table:
            same = table.schema_arrow.equals(schema_of(preset))
            for _ in table.iter_batches(batch_size=256, use_threads=False):
                pass
    except pa.ArrowException as error:
        raise IntegrityFailure(f"{file} cannot be decoded ({error}).") from error
    if not same:
        raise IntegrityFailure(f"{file} has other columns than preset {preset}.")


async def check_against(store: Store, manifest: Manifest) -> bool:
    """Whether the store gives the very same lines as of the manifest's seq; False where it is another store.

    A store that was restored counts as another one: its numbers may mean other transactions by now.
    """
    if (store.store_id, store.epoch) != (manifest.store_id, manifest.epoch) or await store.seq() < manifest.seq:
        return False
    now = await take_census(store, manifest.dataset)
    then = replace(now, seq=manifest.seq, highest_job=manifest.highest_job, replicated=manifest.replicated)
    sink, container = LineSink(None), manifest.container
    taking = Taking(
        manifest.only,
        manifest.limit,
        allow_uncaptured=True,
        preset=container.preset,
        format=container.format,
        template=manifest.template,
    )
    await write_lines(store, then, taking, sink)
    written = sink.finish()
    if written.sha256 != manifest.line_sha256:
        raise IntegrityFailure(
            f"The store gives other lines than were exported as of seq {manifest.seq}: {written.rows:,} rows, "
            f"{manifest.rows:,} in the file. Run `thinkledger verify`."
        )
    return True
