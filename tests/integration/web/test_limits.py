"""What the dashboard takes, and what it gives away: bounds of requests, downloads, errors, files."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.store.raw import connection, spoil
from tests.integration.web.kit import ODD, fill, fill_free
from tests.support.dashboard import TOKEN, Dashboard, dashboard
from tests.support.typed import typed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("web")
    fill_free(made)
    return made


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[Dashboard]:
    with dashboard(folder, "--no-auth") as running:
        yield running


FORM = {"content_type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("reason=" + "x" * 2001, FORM, 400),
        ("reason=" + "x" * 70_000, FORM, 413),
        ("&".join(f"a{number}=1" for number in range(41)), FORM, 400),
        ("reason=a&reason=b", FORM, 400),
        ("reason=%FF", FORM, 400),
        ("colour=red", FORM, 400),
        ('{"reason": "a", "reason": "b"}', {"content_type": "application/json"}, 400),
        ('{"reason": ["a"]}', {"content_type": "application/json"}, 400),
        ('{"reason": "\\ud800"}', {"content_type": "application/json"}, 400),
        ("[1]", {"content_type": "application/json"}, 400),
        ("[" * 30_000, {"content_type": "application/json"}, 400),
        ('{"reason": NaN}', {"content_type": "application/json"}, 400),
        ("x", {"content_type": "multipart/form-data; boundary=x"}, 400),
        ("x", {}, 400),
    ],
)
def test_a_body_out_of_bounds_is_refused(
    opened: Dashboard, folder: Path, body: str, kind: dict[str, str], status: int
) -> None:
    for path in ("/datasets/free/pause", "/api/v1/datasets/free/pause"):
        assert opened.ask(path, "POST", body, **kind).status == status, path
    assert opened.ask("/api/v1/overview").json["data"]["datasets"][0]["holds"] == []


@pytest.mark.parametrize(
    "query",
    [
        "state=lost", "verdict=fine", "sort=random", "per=0", "per=501", "per=x", "after=x", "state=done&state=failed",
        "min_reasoning=-1", "q=" + "x" * 2001, "q=%FF", "q=%00", "since=1e9", "x=" + "y" * 9000,
        "worker=99999999999999999999",
    ],
)  # fmt: skip
def test_a_query_out_of_bounds_is_refused(opened: Dashboard, query: str) -> None:
    for path in ("/datasets/free/samples", "/api/v1/datasets/free/samples"):
        assert opened.ask(f"{path}?{query}").status == 400, path


def test_a_list_is_500_long_at_most(opened: Dashboard) -> None:
    assert opened.ask("/api/v1/datasets/free/samples?limit=500").status == 200
    assert opened.ask("/api/v1/datasets/free/samples?limit=501").status == 400


@pytest.mark.parametrize(
    "text", ["' OR 1=1 --", "free'; DROP TABLE job; --", "%", "_", "\\", '"', "*", "free\u0000x", "𝔉", "a" * 500]
)
def test_text_of_an_address_is_a_value_and_nothing_else(opened: Dashboard, folder: Path, text: str) -> None:
    from urllib.parse import quote

    said = quote(text, safe="")
    assert opened.ask(f"/datasets/{said}").status == 404
    assert opened.ask(f"/datasets/free/sample?id={said}").status == 404
    assert opened.ask(f"/api/v1/datasets/free/samples?finish={said}").status in (200, 400)
    found = opened.ask(f"/api/v1/datasets/free/samples?q={said}")
    assert found.status in (200, 400)
    if found.status == 200:
        assert found.json["data"]["samples"] == []
    with connection(folder / "t.db") as store:
        assert store.execute("SELECT count(*) FROM job").fetchone() == (8,)


def test_downloads_are_attachments_of_a_harmless_kind(opened: Dashboard) -> None:
    for path in (
        "/datasets/free/part?id=s1&part=raw", "/datasets/free/part?id=s1&part=reasoning",
        "/datasets/free/part?id=s1&part=content", "/api/v1/datasets/free/samples/s1/attempts/1/raw",
    ):  # fmt: skip
        answer = opened.ask(path)
        assert answer.status == 200, path
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert answer.headers["content-type"].partition(";")[0] in ("application/octet-stream", "text/plain")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_error_is_shown_as_a_number_and_never_as_a_stack(tmp_path: Path) -> None:
    fill(tmp_path)
    with dashboard(tmp_path, "--no-auth") as running:
        with connection(tmp_path / "t.db") as store:
            store.execute("UPDATE dataset SET config = 'no json'")
        for answer in (running.ask("/datasets"), running.send("/api/v1/datasets/B1_glaive/pause", {})):
            assert answer.status == 500
            for word in ("Traceback", ".py", "config", "Exception", "json.decoder"):
                assert word not in answer.body, word
            assert "The log tells more under" in answer.body
        assert running.ask("/").status == 200


def test_a_store_that_cannot_be_read_is_a_page_that_says_why(tmp_path: Path) -> None:
    fill_free(tmp_path)
    spoil(tmp_path / "t.db", ["counter", "event"])
    with dashboard(tmp_path, "--no-auth") as running:
        page = running.ask("/")
        assert page.status == 503
        assert "The store cannot be read" in page.body
        assert "malformed" in page.body
        problem = running.ask("/api/v1/overview")
        assert (problem.status, problem.headers["content-type"]) == (503, "application/problem+json")
        assert running.ask("/healthz").status == 200
        refused = running.send("/api/v1/datasets/free/pause", {})  # a write tells the writer, if the evaluator has not
        assert (refused.status, "The store is damaged" in refused.body) == (503, True)
        assert running.ask("/").status == 503
        assert running.process.poll() is None


def test_there_is_no_schema_page(opened: Dashboard) -> None:
    for path in ("/schema", "/schema/swagger", "/schema/redoc", "/schema/openapi.json", "/docs", "/openapi.json"):
        assert opened.ask(path).status == 404


def test_no_page_asks_for_anything_elsewhere_or_lets_others_ask(opened: Dashboard) -> None:
    answer = opened.ask("/datasets/free", origin="http://evil.example")
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    preflight = opened.ask("/datasets/free/pause", "OPTIONS", origin="http://evil.example",
                           access_control_request_method="POST")  # fmt: skip
    assert not [name for name in preflight.headers if name.startswith("access-control-")]


def test_odd_ids_have_addresses_that_lead_to_them(tmp_path: Path) -> None:
    fill_free(tmp_path)
    with connection(tmp_path / "t.db") as store:
        for number, odd in enumerate(ODD, 1):
            for table in ("sample", "job"):
                store.execute(f"UPDATE {table} SET sample_id = ? WHERE sample_id = ?", (odd, f"s{number}"))
    with dashboard(tmp_path, "--no-auth") as running:
        import html
        import re

        listed = running.ask("/datasets/free/samples").body
        links = [html.unescape(link) for link in re.findall(r'href="([^"]+)"[^>]* data-line>', listed)]
        assert len(links) == 8
        for odd, link in zip(ODD, links, strict=False):
            page = running.ask(link)
            assert page.status == 200, link
            assert html.escape(odd) in page.body or odd in html.unescape(page.body)
        twin = running.ask("/api/v1/datasets/free/sample?id=a%2Fb")
        assert twin.json["data"]["sample"]["sample_id"] == "a/b"


def test_a_prefix_of_a_proxy_stands_before_every_address(folder: Path) -> None:
    with dashboard(folder, "--no-auth", "--root-path", "/think/ledger/") as running:
        assert running.login.endswith("/think/ledger")
        for path in ("/think/ledger/", "/think/ledger/datasets/free", "/datasets/free", "/think/ledger"):
            page = running.ask(path)
            assert page.status == 200, path
            assert 'href="/think/ledger/static/style.css"' in page.body
            assert 'href="/datasets' not in page.body
        assert running.ask("/think/ledger/static/style.css").status == 200
        done = running.submit("/think/ledger/datasets/free/resume")
        assert done.headers["location"].startswith("/think/ledger/datasets/free")
    with dashboard(folder, "--root-path", "/think/ledger") as running:
        cookie = running.log_in(TOKEN).headers["set-cookie"]
        assert "Path=/think/ledger;" in cookie
        assert running.ask("/think/ledger/").headers["location"] == "/think/ledger/login"


def test_a_trusted_origin_may_send_changes(folder: Path) -> None:
    with dashboard(folder, "--no-auth", "--trusted-origin", "https://gpu.lan") as running:
        said = {"origin": "https://gpu.lan", "sec_fetch_site": "cross-site"}
        assert running.submit("/datasets/free/resume", {}, **said).status == 303
        assert running.submit("/datasets/free/resume", {}, **(said | {"origin": "https://gpu.lan.evil"})).status == 403
        assert running.submit("/datasets/free/resume", {}, origin="null").status == 403


def test_a_socket_file_is_served_to_its_owner_alone_and_removed(folder: Path) -> None:
    with dashboard(folder, "--no-auth", "--uds", "web.sock") as running:
        assert running.ask("/", host="localhost").status == 200
        assert running.ask("/", host="evil.example").status == 400
        assert (folder / "web.sock").stat().st_mode & 0o777 == 0o600
        second = typed(folder, "--db", "t.db", "serve", "--no-auth", "--uds", "web.sock")
        assert second.returncode == 5
        assert running.end(signal.SIGTERM) == 143
    assert not (folder / "web.sock").exists()


def test_a_socket_file_that_a_killed_server_left_is_replaced(folder: Path) -> None:
    with dashboard(folder, "--no-auth", "--uds", "left.sock") as running:
        running.process.kill()
        running.process.wait()
        assert (folder / "left.sock").exists()
    with dashboard(folder, "--no-auth", "--uds", "left.sock") as running:
        assert running.ask("/healthz").body == "ok\n"
    other = folder / "mine.txt"
    other.write_text("mine")
    assert typed(folder, "--db", "t.db", "serve", "--no-auth", "--uds", "mine.txt").returncode == 5
    assert other.read_text() == "mine"


@pytest.mark.parametrize(
    "flags", [["--root-path", "x"], ["--root-path", "/a b"], ["--trusted-origin", "gpu.lan"], ["--port", "70000"]]
)
def test_a_flag_that_cannot_be_meant_is_a_usage_error(folder: Path, flags: list[str]) -> None:
    assert typed(folder, "--db", "t.db", "serve", "--no-auth", *flags).returncode == 2


def test_a_server_that_is_only_looked_at_waits_for_no_writer(tmp_path: Path) -> None:
    fill_free(tmp_path)
    with dashboard(tmp_path, "--no-auth", "--read-only") as running:
        for path in ("/", "/datasets/free", "/workers", "/alerts", "/exports", "/readyz"):
            assert running.ask(path).status == 200, path
        with connection(tmp_path / "t.db") as store:  # the write lock is ours for as long as we like
            store.execute("BEGIN IMMEDIATE")
            assert running.ask("/").status == 200
            store.execute("ROLLBACK")


def test_the_parts_of_a_sample_are_exact(opened: Dashboard, folder: Path) -> None:
    with connection(folder / "t.db") as store:
        sizes = store.execute("SELECT raw_bytes, raw_sha256 FROM response ORDER BY id LIMIT 1").fetchone()
    import hashlib

    raw = opened.ask("/datasets/free/part?id=s1&part=raw").raw
    assert (len(raw), hashlib.sha256(raw).hexdigest()) == sizes
    assert json.loads(raw)["choices"][0]["message"]["content"] == "think 1</think>answer 1"
    assert opened.ask("/datasets/free/part?id=s1&part=reasoning").body == "think 1"
    assert opened.ask("/datasets/free/part?id=s1&part=content").body == "answer 1"
    assert opened.ask("/datasets/free/part?id=s4&part=reasoning").status == 404
    assert opened.ask("/datasets/free/part?id=s7&part=raw").status == 404
    assert opened.ask("/datasets/free/part?id=s1&part=prompt").status == 400
