"""The rules of security from outside: every route of a running `thinkledger serve`, tried as an attacker would.

What single rules mean is tested where `tests/rules/test_security.py` says; here nothing is picked by hand: the routes
are those of the API's own document and of the links that the pages show.
"""

import json
import re
import stat
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.integration.web.kit import REASON
from tests.integration.web.test_doors import HEADERS
from tests.rules.references import FOLDER
from tests.support.dashboard import Answer, Dashboard, dashboard
from tests.support.product import Product
from tests.support.simulator import Simulator

CANARY = "sk-canary-0f9e8d7c6b5a"
MARKUP = "<img src=x onerror=alert(1)>\"'&\x1b[31m\u202e"
PATHS = json.loads((FOLDER / "openapi.json").read_text(encoding="utf-8"))["paths"]
THERE = {"name": "d", "sample_id": "s1", "attempt": "1", "number": "1"}
PAGES = ("/", "/datasets", "/datasets/d", "/datasets/d/samples", "/datasets/d/samples/s1", "/datasets/d/retry",
         "/datasets/d/reparse", "/workers", "/alerts", "/exports", "/metrics")  # fmt: skip


def address(path: str) -> str:
    """A route with what the store has in its places."""
    return re.sub(r"\{(\w+)\}", lambda found: THERE[found[1]], path) + ("?id=s1" if path.endswith("/sample") else "")


GETS = [address(path) for path, methods in PATHS.items() if "get" in methods]
POSTS = [address(path) for path, methods in PATHS.items() if "post" in methods]
FORMS = [path.removeprefix("/api/v1") for path in POSTS]


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    """A store that a worker with a secret key filled, from hostile prompts, at a server that refuses some."""
    found = Product(tmp_path_factory.mktemp("outside"))
    found.import_prompts("d", [f"{MARKUP} {number}" for number in range(12)])
    with Simulator("--persona", "sglang", "--fault", "http_400@every:4") as simulator:
        start = ("worker", "start", "--endpoint", simulator.url, "--skip-preflight", "--until-empty")
        worker = found.start(*start, THINKLEDGER_API_KEY=CANARY)
        try:
            worker.wait(6)
        finally:
            worker.kill()
    assert CANARY not in worker.said()
    return found


@pytest.fixture(scope="module")
def running(product: Product) -> Iterator[Dashboard]:
    with dashboard(product.folder, token=None, db=product.db.name) as found:
        yield found


@pytest.fixture(scope="module")
def token(running: Dashboard, product: Product) -> dict[str, str]:
    assert running.ask("/healthz").status == 200
    return {"authorization": "Bearer " + product.db.with_name(f"{product.db.name}.token").read_text().strip()}


def test_s1_and_s2_nothing_is_told_without_the_token(running: Dashboard) -> None:
    for path in (*GETS, *PAGES, "/exports/x.jsonl"):
        assert running.ask(path).status in (303, 401), path
        assert running.ask(path, authorization="Bearer wrong").status in (303, 401), path
        assert running.ask(path, cookie="session=wrong").status in (303, 401), path
    for path in (*POSTS, *FORMS):
        assert running.send(path, {}).status == 401, path


def test_s4_no_route_answers_to_another_name(running: Dashboard, token: dict[str, str]) -> None:
    for path in (*GETS, *PAGES):
        assert running.ask(path, host="evil.example", **token).status == 400, path


def test_s5_no_change_is_taken_from_another_site(running: Dashboard, token: dict[str, str]) -> None:
    for path in (*POSTS, *FORMS):
        for said in ({"sec_fetch_site": "cross-site"}, {"origin": "http://evil.example"}, {"origin": "null"}):
            assert running.send(path, {}, **said, **token).status == 403, (path, said)


def test_s6_s9_and_s17_every_answer_is_closed_to_others_and_shows_no_stack(
    running: Dashboard, token: dict[str, str]
) -> None:
    for path in (*GETS, *PAGES, *POSTS, "/nothing", "/api/v1/nothing", "/static/none.css", "/datasets/none"):
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            answer = running.ask(path, method, host="evil.example" if method == "OPTIONS" else "127.0.0.1", **token)
            where = f"{method} {path}"
            assert answer.status < 500 or answer.status == 501, where
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, where
            assert not [name for name in answer.headers if name.startswith("access-control-")], where
            assert b"Traceback" not in answer.raw, where


def test_no_get_changes_anything_and_no_other_method_is_taken(
    running: Dashboard, product: Product, token: dict[str, str]
) -> None:
    before = product.value("SELECT count(*) FROM event"), product.value("SELECT sum(attempt) FROM job")
    for path in (*POSTS, *GETS, *PAGES):
        running.ask(path, **token)
        for method in ("PUT", "DELETE", "PATCH"):
            assert running.ask(path, method, **token).status in (404, 405), (method, path)
    assert (product.value("SELECT count(*) FROM event"), product.value("SELECT sum(attempt) FROM job")) == before


def visited(running: Dashboard, token: dict[str, str]) -> dict[str, Answer]:
    """Every page that a link of a page leads to, and every answer of the API."""
    found: dict[str, Answer] = {}
    waiting = [*PAGES, *GETS]
    while waiting:
        path = waiting.pop()
        if path in found or len(found) > 400:
            continue
        found[path] = running.ask(path, **token)
        links = re.findall(r'(?:href|src|action)="([^"#]+)', found[path].body) if path in PAGES else []
        waiting += [unescape(link) for link in links if link.startswith("/") and "/login" not in link]
    return found


def test_s7_and_s12_no_page_obeys_a_text_or_tells_a_secret(
    running: Dashboard, product: Product, token: dict[str, str]
) -> None:
    secret = token["authorization"].removeprefix("Bearer ")
    seen = visited(running, token)
    assert len(seen) > 40
    for path, answer in seen.items():
        for word in (CANARY, secret):
            assert word.encode() not in answer.raw, path
        if answer.headers.get("content-type", "").startswith("text/html"):
            assert "<img src=x" not in answer.body, path
            assert not re.search(r"<[^>]+\son\w+=|<[^>]+\sstyle=|<script(?![^>]*\ssrc=)", answer.body), path
            assert "\x1b" not in answer.body, path
            assert "\u202e" not in answer.body, path
    for file in product.folder.iterdir():
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file.name


def test_s10_and_s11_downloads_are_attachments_and_no_path_leads_out(running: Dashboard, token: dict[str, str]) -> None:
    raw = running.ask(address("/api/v1/datasets/{name}/samples/{sample_id}/attempts/{attempt}/raw"), **token)
    assert (raw.status, raw.headers["content-disposition"].partition(";")[0]) == (200, "attachment")
    for name in ("..%2Fthinkledger.db", "%2e%2e/thinkledger.db", "....//x", "/etc/passwd", ".token", "%00", "a" * 300):
        for path in (f"/exports/{name}", f"/static/{name}", f"/exports/{name}/manifest"):
            answer = running.ask(path, **token)
            assert answer.status in (400, 404), path
            assert b"SQLite format" not in answer.raw, path


def test_s13_and_s14_no_change_takes_a_key_that_is_not_its_own_or_a_body_without_end(
    running: Dashboard, token: dict[str, str]
) -> None:
    for path in POSTS:
        assert running.send(path, {"endpoint": "http://169.254.169.254/"}, **token).status == 400, path
        assert running.send(path, {"reason": "x" * 200_000}, **token).status == 413, path


def test_s15_the_text_of_an_address_is_a_value(running: Dashboard, token: dict[str, str]) -> None:
    for text in ("'%20OR%201=1--", "%22;DROP%20TABLE%20job;--", "%25", "_"):
        answer = running.ask(f"/api/v1/datasets/d/samples?q={text}", **token)
        assert (answer.status, answer.json["data"]["samples"]) == (200, []), text
        assert running.ask(f"/api/v1/datasets/{text}", **token).status == 404


def test_s16_and_s21_a_moved_count_is_refused_and_a_change_leaves_a_line(
    running: Dashboard, product: Product, token: dict[str, str]
) -> None:
    retry = "/api/v1/datasets/d/retry"
    assert running.send(retry, {"state": "failed", "expected_count": 999}, **token).status == 409
    before = product.value("SELECT count(*) FROM event")
    assert running.send("/api/v1/datasets/d/pause", {"reason": REASON}, **token).status == 200
    assert product.value("SELECT count(*) FROM event") > before


def test_s18_no_schema_page_is_served(running: Dashboard, token: dict[str, str]) -> None:
    for path in ("/schema", "/docs", "/redoc", "/openapi.json", "/schema/openapi.json", "/swagger"):
        assert running.ask(path, **token).status == 404, path


def test_s19_what_lies_in_the_folder_is_its_owners_alone(running: Dashboard, product: Product) -> None:
    assert running.process.poll() is None
    ours = [file for file in product.folder.rglob("*") if file.name.startswith(product.db.name)]
    assert len(ours) > 2
    for file in ours:
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file.name


def test_s3_five_wrong_tokens_close_the_login(running: Dashboard) -> None:
    """The last of the file: the door stays closed for a minute."""
    assert [running.log_in(f"wrong {number}").status for number in range(6)][-1] == 429


def test_s20_an_import_takes_no_unsafe_row(product: Product) -> None:
    deep = '{"prompt": ' + "[" * 70 + "]" * 70 + "}"
    rows = ['{"prompt": "a", "prompt": "b"}', '{"prompt": NaN}', deep, json.dumps({"prompt": "x" * (4 * 2**20 + 1)})]
    (Path(product.folder) / "unsafe.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = product.run("import", "unsafe", "unsafe.jsonl", code=6)
    assert b"0 added" in done.stdout
    assert b"4 rejected" in done.stdout
