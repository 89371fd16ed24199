"""Pages, their JSON twins and exports say the same of the same data, whether it lies in a file or on a server."""

import io
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from app.export.exporting import export_dataset
from app.export.request import ExportRequest, Only, Preset
from app.store.place import locate
from app.store.store import Store, open_store
from app.web.serving import Address, Running, Serving, serve
from tests.integration.moving.kit import copied
from tests.integration.turns.kit import talks
from tests.support.dashboard import Answer, Dashboard
from tests.support.filled import START_MS, every_kind, filled
from tests.support.postgres import server
from tests.support.typed import typed

pytestmark = pytest.mark.anyio
NOW_MS = START_MS + 600_000
MOST_PAGES = 80
LINK = re.compile(r'(?:href|action)="(/[^"#]*)"')
TWINS = [
    "overview", "datasets", "datasets/d", "datasets/d/series", "datasets/d/histogram", "datasets/d/triage",
    "datasets/d/errors", "datasets/d/samples?limit=500", "datasets/d/samples/s1", "datasets/d/samples/s9",
    "datasets/d/samples/s1/attempts/1/raw", "datasets/d-off", "datasets/talks/samples/c1", "workers", "alerts",
    "exports", "datasets/none", "datasets/d/samples?state=none", "about",
]  # fmt: skip
# Where a store lies, how it counts, and what changes under everybody's feet.
OWN = {"store_path", "store_bytes", "wal_bytes", "bytes", "path", "seq", "free", "disk_free_bytes"}
OWN_WORDS = [
    (re.compile(r"store [\d.,]+ [KMG]?i?B(?:, WAL [\d.,]+ [KMG]?i?B)?"), "store SIZE"),
    (re.compile(r"disk [\d.,]+ [KMG]?i?B free(?: here, for the spool)?"), "disk FREE"),
    (re.compile(r"no backup yet|backups by pg_dump"), "BACKUP"),
    (re.compile(r"(?:seq|as of)\W+[\d,]{2,}"), "SEQ"),
    (re.compile(r"SQLite [\d.]+ can lose committed pages; see doctor"), ""),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def served(db: str) -> AsyncIterator[tuple[Store, Callable[[str], Any]]]:
    """A store and its dashboard, at one moment of a clock that stands still."""
    async with open_store(db, now_ms=lambda: NOW_MS) as store, anyio.create_task_group() as tasks:
        ready, found = anyio.Event(), list[Running]()

        def on_ready(running: Running) -> None:
            found.append(running)
            ready.set()

        asked = Serving(Address("127.0.0.1", 0), None, read_only=True)
        tasks.start_soon(partial(serve, store, asked, on_ready, signals=False))
        await ready.wait()
        port = int(found[0].url.rpartition(":")[2].strip("/"))
        dashboard = Dashboard(None, port, "")  # type: ignore[arg-type] - it runs in this process
        yield store, lambda path: to_thread.run_sync(dashboard.ask, path)
        found[0].stop()


async def two_stores(folder: Path) -> tuple[str, str]:
    """The same data on a server and in a file: what came back from there, so that both began an epoch alike."""
    async with filled(folder / "t.db") as at:
        await every_kind(at)
    async with talks(folder, 2, 3) as at_talks:
        leases = await at_talks.room.claim(await at_talks.room.worker(), 2, "talks")
        await at_talks.answer(leases[0], 0, "first")
    on_server, back = server().empty(), str(folder / "back.db")
    await copied(str(folder / "t.db"), on_server)
    await copied(on_server, back)
    return back, on_server


def plain(answer: Answer, db: str) -> tuple[int, Any]:
    """What an answer says, but for where its store lies."""
    if answer.headers.get("content-type", "").startswith("application/json"):
        return answer.status, _without(json.loads(answer.raw), db)
    text = answer.raw.decode("utf-8", errors="surrogateescape")
    place = locate(db)
    for name in (str(place.path), place.shown):
        text = text.replace(name, "STORE")
    for own, word in OWN_WORDS:
        text = own.sub(word, text)
    return answer.status, text


def _without(value: Any, db: str) -> Any:
    if isinstance(value, dict):
        return {key: None if key in OWN else _without(one, db) for key, one in value.items()}
    return [_without(one, db) for one in value] if isinstance(value, list) else value


def _first_difference(one: tuple[int, Any], other: tuple[int, Any]) -> object:
    """Where two answers begin to differ; a page is long."""
    if one == other:
        return None
    texts = [json.dumps(said, indent=1) for said in (one, other)]
    at = next((place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
    return [text[max(0, at - 200) : at + 200] for text in texts]


@pytest.mark.filterwarnings("ignore::DeprecationWarning:litestar")  # of the library about itself
async def test_every_page_and_its_twin_say_the_same_of_a_file_and_of_a_server(tmp_path: Path) -> None:
    in_file, on_server = await two_stores(tmp_path)
    async with served(in_file) as (_, ask), served(on_server) as (_, ask_server):
        waiting, seen = ["/", *(f"/api/v1/{twin}" for twin in TWINS)], set[str]()
        while waiting and len(seen) < MOST_PAGES:
            path = waiting.pop(0)
            seen.add(path)
            one, other = await ask(path), await ask_server(path)
            assert _first_difference(plain(one, in_file), plain(other, on_server)) is None, path
            links = [link.replace("&amp;", "&") for link in LINK.findall(one.raw.decode(errors="replace"))]
            waiting += sorted({link for link in links if "/static/" not in link} - seen - set(waiting))
    assert len(seen) == MOST_PAGES
    kinds = {"/", "/datasets", "/workers", "/alerts", "/exports", "/datasets/d", "/datasets/d/samples"}
    assert kinds <= seen
    assert any(re.fullmatch(r"/datasets/d/samples/s\d+(\?.*)?", path) for path in seen)


async def test_exports_of_a_file_and_of_a_server_are_the_same_bytes(tmp_path: Path) -> None:
    in_file, on_server = await two_stores(tmp_path)
    found: list[list[bytes]] = []
    for db in (in_file, on_server):
        async with open_store(db) as store:
            found.append([])
            for preset in Preset:
                if preset is Preset.TEXT:
                    continue  # it needs a template
                for dataset in ("d", "talks"):
                    out = io.BytesIO()
                    request = ExportRequest(dataset, None, only=Only.DONE, preset=preset, allow_uncaptured=True)
                    await export_dataset(store, request, stream=out)
                    found[-1].append(out.getvalue())
    assert found[0] == found[1]
    assert any(found[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning:litestar")
async def test_what_is_said_of_backups_and_disks_is_true_of_each_kind(tmp_path: Path) -> None:
    spool = "free here, for the spool"
    for db, words in ((str(tmp_path / "t.db"), "no backup yet"), (server().empty(), "backups by pg_dump")):
        async with open_store(db, create=True):
            pass
        status, doctor = (typed(tmp_path, "--db", db, command).stdout.decode() for command in ("status", "doctor"))
        async with served(db) as (_, ask):
            page = (await ask("/")).body
        for said in (status, page):
            assert words in said
        for said in (status, doctor, page):
            assert (spool in said) == db.startswith("postgresql")
        assert ("open jobs: no answer yet on the server" in status) == db.startswith("postgresql")
