"""The Overview: what it shows, and how little of it travels when nothing changed."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.integration.web.kit import fill
from tests.support.dashboard import Dashboard, dashboard
from tests.support.filled import filled
from tests.support.typed import typed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("web")
    fill(made)
    return made


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[Dashboard]:
    with dashboard(folder, "--no-auth") as running:
        yield running


def test_the_page_shows_progress_capture_and_sums(opened: Dashboard) -> None:
    page = opened.ask("/")
    assert page.status == 200
    for shown in ("B1_glaive", "3/10", "30.0 %", "2/3", "66.6 %", "sum 10 of 10", "held by gate"):
        assert shown in page.body
    assert '<progress max="10" value="3"' in page.body
    assert "<title>27.2 % Thinkledger</title>" in page.body


def test_stored_text_is_shown_and_never_obeyed(opened: Dashboard) -> None:
    body = opened.ask("/").body
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\x1b[31m \\u202e" in body
    assert "<script>alert" not in body


def test_a_page_that_did_not_change_does_not_travel_again(opened: Dashboard) -> None:
    first = opened.ask("/", x_live="1")
    again = opened.ask("/", x_live="1", if_none_match=first.headers["etag"])
    assert (first.status, again.status, again.body) == (200, 304, "")
    assert again.headers["x-as-of"].endswith("UTC")
    assert opened.ask("/", x_live="1", if_none_match='"other"').status == 200
    assert "etag" not in opened.ask("/").headers


def test_the_json_twin_says_what_status_says(opened: Dashboard, folder: Path) -> None:
    answer = opened.ask("/api/v1/overview")
    twin = answer.json
    status = json.loads(typed(folder, "--db", "t.db", "status", "--json").stdout)
    assert answer.headers["content-type"] == "application/json"
    assert set(twin) == {"data", "as_of", "seq"}
    for one in (*twin["data"]["datasets"], *status["data"]["datasets"]):
        del one["pace"]  # its span grows with the time of asking
    assert twin["data"]["datasets"] == status["data"]["datasets"]
    assert twin["seq"] == status["seq"]


def test_an_empty_store_shows_the_exact_import_command(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db"):
            pass

    anyio.run(make)
    command = f"thinkledger --db {tmp_path.resolve() / 't.db'} import NAME prompts.jsonl"
    with dashboard(tmp_path, "--no-auth") as running:
        for page in ("/", "/datasets"):
            assert command in running.ask(page).body
        for page in ("/workers", "/alerts", "/exports"):
            assert running.ask(page).status == 200


def test_static_files_come_with_their_types(opened: Dashboard) -> None:
    for name, kind in (("style.css", "text/css"), ("dashboard.js", "javascript"), ("mark.svg", "image/svg+xml")):
        answer = opened.ask(f"/static/{name}")
        assert answer.status == 200
        assert kind in answer.headers["content-type"]
    for outside in ("/static/../door.py", "/static/%2e%2e/door.py", "/static/..%2fdoor.py"):
        assert opened.ask(outside).status == 404


def test_what_is_no_address_is_a_page_or_a_problem(opened: Dashboard) -> None:
    assert "There is no such page." in opened.ask("/nothing").body
    for method in ("PUT", "DELETE", "PATCH", "POST"):
        assert opened.ask("/", method).status == 405
    problem = opened.ask("/api/v1/nothing")
    assert (problem.status, problem.headers["content-type"]) == (404, "application/problem+json")
    assert problem.json["status"] == 404


def test_an_unknown_key_is_refused_on_every_page(opened: Dashboard) -> None:
    pages = ("/", "/datasets", "/datasets/B1_glaive", "/datasets/B1_glaive/samples", "/datasets/B1_glaive/samples/s1",
             "/datasets/B1_glaive/retry", "/datasets/B1_glaive/reparse", "/workers", "/alerts", "/exports")  # fmt: skip
    for page in (*pages, "/api/v1/overview", "/api/v1/datasets", "/api/v1/workers", "/api/v1/datasets/B1_glaive"):
        assert opened.ask(page).status == 200, page
        refused = opened.ask(f"{page}?colour=red")
        assert refused.status == 400, page
        assert "colour" in refused.body
