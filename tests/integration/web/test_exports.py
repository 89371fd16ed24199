"""Files for download: built by the code of the command, served as they lie there, and nothing else is served."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.integration.store.raw import connection
from tests.integration.web.kit import fill_free
from tests.support.dashboard import Dashboard, dashboard
from tests.support.product import wait_for
from tests.support.typed import typed


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Dashboard]:
    fill_free(tmp_path)
    with dashboard(tmp_path, "--no-auth") as running:
        yield running


def build(running: Dashboard, makes: str = "free.jsonl", **fields: object) -> None:
    answer = running.send("/api/v1/exports", {"dataset": "free", **fields})
    assert (answer.status, answer.json["data"]["name"]) == (202, makes)
    wait_for(lambda: makes in names(running), f"the file {makes}")


def names(running: Dashboard) -> list[str]:
    return [one["name"] for one in running.ask("/api/v1/exports").json["data"]["files"]]


def test_a_file_equals_that_of_the_command_and_says_what_it_is(opened: Dashboard, tmp_path: Path) -> None:
    assert typed(tmp_path, "--db", "t.db", "export", "--dataset", "free", "--allow-incomplete").returncode == 0
    build(opened)
    got = opened.ask("/exports/free.jsonl")
    assert got.raw == (tmp_path / "free.jsonl").read_bytes()
    assert got.headers["content-length"] == str(len(got.raw))
    assert got.headers["x-sha256"] == hashlib.sha256(got.raw).hexdigest()
    assert got.headers["content-disposition"].startswith('attachment; filename="free.jsonl"')
    manifest = opened.ask("/exports/free.jsonl/manifest")
    assert manifest.headers["content-disposition"].startswith("attachment;")
    ours, theirs = manifest.json, json.loads((tmp_path / "free.jsonl.manifest.json").read_text())
    del ours["times"], theirs["times"]
    assert ours == theirs
    assert "2 rows" not in opened.ask("/exports").body
    assert got.headers["x-sha256"] in opened.ask("/exports").body


def test_the_preview_says_what_the_command_says(opened: Dashboard, tmp_path: Path) -> None:
    page = opened.ask("/exports?dataset=free").body
    assert typed(tmp_path, "--db", "t.db", "export", "--dataset", "free", "--allow-incomplete").returncode == 0
    size = (tmp_path / "free.jsonl").stat().st_size
    assert f"3 rows, about {size} B; left out 3: 2 failed:rejected, 1 missing; 2 not generated yet" in page
    assert "Not finished" in page


def test_what_lost_its_reasoning_is_exported_on_a_word_only(opened: Dashboard) -> None:
    refused = opened.send("/api/v1/exports", {"dataset": "free", "only": "done"})
    assert refused.status == 409
    assert "lost their reasoning" in refused.json["detail"]
    build(opened, only="done", allow_uncaptured=True)
    assert opened.ask("/exports/free.jsonl").raw.count(b"\n") == 4


def test_packed_files_have_their_suffix_and_a_name_can_be_given(opened: Dashboard) -> None:
    build(opened, "free.jsonl.gz", packing="gzip")
    build(opened, "mine.jsonl", name="mine.jsonl")
    assert opened.ask("/exports/free.jsonl.gz").raw[:2] == b"\x1f\x8b"
    assert opened.send("/api/v1/exports", {"dataset": "free", "name": "x.gz"}).status == 400


ORDERS: list[dict[str, object]] = [
    {"preset": "messages"},
    {"preset": "inline_think", "format": "parquet"},
    {"preset": "specforge", "packing": "zstd", "shard_size": 2},
    {"preset": "sharegpt", "format": "parquet", "shard_size": 1},
    {"preset": "text", "template": "plain.jinja", "end_token": "</s>", "packing": "gzip"},
]
SUFFIX = {"gzip": ".gz", "zstd": ".zst"}
PLAIN = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant] "


def test_every_file_of_an_order_is_that_of_the_command(opened: Dashboard, tmp_path: Path) -> None:
    templates = tmp_path / "t.db.exports" / "templates"
    templates.mkdir(parents=True)
    (templates / "plain.jinja").write_text(PLAIN)
    for number, order in enumerate(ORDERS):
        name = f"f{number}.{order.get('format', 'jsonl')}{SUFFIX.get(str(order.get('packing')), '')}"
        build(opened, name, name=name, **order)
        options = [f"--{key.replace('_', '-')}={value}" for key, value in order.items() if key in OPTIONS]
        options += [f"--{order['packing']}"] if "packing" in order else []
        options += [f"--template={templates / 'plain.jinja'}"] if "template" in order else []
        done = typed(
            tmp_path, "--db", "t.db", "export", "--dataset", "free", "-o", name, "--allow-incomplete", *options
        )
        assert done.returncode == 0, done.stderr
        _compare(opened, tmp_path, name, order)


OPTIONS = ("preset", "format", "shard_size", "end_token")


def _compare(opened: Dashboard, folder: Path, name: str, order: dict[str, object]) -> None:
    (made,) = [one for one in opened.ask("/api/v1/exports").json["data"]["files"] if one["name"] == name]
    assert (made["preset"], made["rows"]) == (order["preset"], 3)
    assert made["left_out"] == {"failed:rejected": 2, "missing": 1, "ready": 2}
    assert len(made["files"]) == {None: 1, 2: 2, 1: 3}[order.get("shard_size")]  # type: ignore[index]
    theirs = json.loads((folder / f"{name}.manifest.json").read_text())
    for file in made["files"]:
        got = opened.ask(f"/exports/{file['name']}")
        assert got.raw == (folder / file["name"]).read_bytes()
        assert got.headers["x-sha256"] == file["sha256"] == hashlib.sha256(got.raw).hexdigest()
        manifest = opened.ask(f"/exports/{file['name']}/manifest").json
        assert {**manifest, "times": None} == {**theirs, "times": None}
    assert "left out 3: 2 failed:rejected, 1 missing; 2 not generated yet" in opened.ask("/exports").body
    assert opened.ask(f"/exports/{name}").status == (404 if "shard_size" in order else 200)


def test_what_cannot_be_made_is_said_before_it_is_ordered(opened: Dashboard, tmp_path: Path) -> None:
    page = opened.ask("/exports?dataset=free&preset=text").body
    assert "Lay the template into" in page
    assert "do-export" not in page
    assert opened.send("/api/v1/exports", {"dataset": "free", "preset": "text"}).status == 400
    order = {"dataset": "free", "preset": "text", "template": "../t.db", "end_token": "x"}
    assert opened.send("/api/v1/exports", order).status == 404
    assert opened.send("/api/v1/exports", {"dataset": "free", "format": "parquet", "packing": "gzip"}).status == 400
    assert opened.send("/api/v1/exports", {"dataset": "free", "name": "x.parquet"}).status == 400
    assert opened.send("/api/v1/exports", {"dataset": "free", "shard_size": 0}).status == 400
    assert "trains without reasoning" in opened.ask("/exports?dataset=free&preset=specforge").body


def test_a_shard_is_served_only_where_its_manifest_lists_it(opened: Dashboard, tmp_path: Path) -> None:
    build(opened, shard_size=2)
    folder = tmp_path / "t.db.exports"
    (folder / "free-00007-of-00009.jsonl").write_text("of another export")
    assert opened.ask("/exports/free-00007-of-00009.jsonl").status == 404
    first = folder / "free-00000-of-00002.jsonl"
    first.unlink()
    first.symlink_to(tmp_path / "t.db")
    assert opened.ask("/exports/free-00000-of-00002.jsonl").status == 404
    assert names(opened) == []


def test_an_existing_file_is_replaced_on_a_word_only(opened: Dashboard) -> None:
    build(opened)
    refused = opened.send("/api/v1/exports", {"dataset": "free"})
    assert refused.status == 409
    assert "exists" in refused.json["detail"]
    assert opened.send("/api/v1/exports", {"dataset": "free", "overwrite": True}).status == 202


def test_an_export_leaves_a_line_in_the_trail(opened: Dashboard, tmp_path: Path) -> None:
    build(opened)

    def detail() -> list[tuple[str]]:
        with connection(tmp_path / "t.db") as store:
            return store.execute("SELECT detail FROM event WHERE kind = 'exported'").fetchall()

    wait_for(lambda: len(detail()) == 1, "the event of the export")
    assert json.loads(detail()[0][0])["rows"] == 3


NO_NAMES = ("../t.db", "..", ".hidden", "a/b", "a\\b", "x" * 101, "ü.jsonl", "a b", "-a", "a\n", "free.jsonl.part")


def test_no_other_name_is_taken(opened: Dashboard, tmp_path: Path) -> None:
    for name in NO_NAMES:
        assert opened.send("/api/v1/exports", {"dataset": "free", "name": name}).status == 400, name
        assert opened.ask(f"/exports/{quote(name, safe='')}").status in (200, 400, 404), name
        assert opened.ask(f"/exports/{quote(name, safe='')}/manifest").status in (400, 404), name
    ours = {"t.db", "t.db-wal", "t.db-shm", "t.db.exports", "t.db.workers"}
    assert {path.name for path in tmp_path.iterdir()} <= ours
    assert not (tmp_path / "t.db.exports").exists()


def test_only_finished_files_of_the_folder_are_served_and_no_link_is_followed(
    opened: Dashboard, tmp_path: Path
) -> None:
    build(opened)
    folder = tmp_path / "t.db.exports"
    secret = tmp_path / "secret.jsonl"
    secret.write_text("secret")
    (folder / "alone.jsonl").write_text("no manifest")
    manifest = (folder / "free.jsonl.manifest.json").read_text()
    (folder / "link.jsonl").symlink_to(secret)
    (folder / "link.jsonl.manifest.json").write_text(manifest)
    (folder / "folder.jsonl").mkdir()
    (folder / "folder.jsonl.manifest.json").write_text(manifest)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "pipe.jsonl.manifest.json").write_text(manifest)
    (folder / "odd.jsonl").write_text("x")
    (folder / "odd.jsonl.manifest.json").write_text('{"rows": "no number"}')
    assert names(opened) == ["free.jsonl"]
    for name in ("alone", "link", "folder", "pipe", "odd"):
        assert opened.ask(f"/exports/{name}.jsonl").status == 404, name
        assert opened.ask(f"/exports/{name}.jsonl/manifest").status == 404, name
    assert opened.ask("/exports/free.jsonl.manifest.json").status == 404


def test_a_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    fill_free(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "t.db.exports").symlink_to(elsewhere)
    with dashboard(tmp_path, "--no-auth") as running:
        assert running.ask("/exports").status == 200
        assert running.send("/api/v1/exports", {"dataset": "free"}).status == 409
    assert list(elsewhere.iterdir()) == []


def test_the_folder_and_its_files_are_their_owners_alone(opened: Dashboard, tmp_path: Path) -> None:
    build(opened)
    folder = tmp_path / "t.db.exports"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_an_error_that_nobody_foresaw_is_kept_with_its_export_and_the_server_goes_on(
    opened: Dashboard, tmp_path: Path
) -> None:
    with connection(tmp_path / "t.db") as store:
        store.execute("PRAGMA busy_timeout = 10000")  # the server looks after its alarms
        store.execute("UPDATE reading SET text_form = 'json' WHERE response_id = 1")
    assert opened.send("/api/v1/exports", {"dataset": "free"}).status == 202
    wait_for(lambda: _error(opened) is not None, "the error of the export")
    told = str(_error(opened))
    assert told.startswith("Something went wrong that was not foreseen; the log of this server tells more under ")
    assert "`thinkledger export --dataset free`" in told
    assert "not built: Something went wrong" in opened.ask("/exports").body
    assert names(opened) == []
    with connection(tmp_path / "t.db") as store:
        store.execute("PRAGMA busy_timeout = 10000")  # the server looks after its alarms
        store.execute("UPDATE reading SET text_form = 'plain' WHERE response_id = 1")
    build(opened)
    wait_for(lambda: _error(opened) is None, "the end of the order")


def _error(running: Dashboard) -> object:
    building = running.ask("/api/v1/exports").json["data"]["building"]
    return building[0]["error"] if building else None
