"""The dashboard over real sockets: what it shows, and whom it lets in."""

import http.client
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import anyio
import pytest

from app.leasing.holds import HoldKind, HoldRequest, hold
from app.model.verdicts import Verdict
from tests.support.filled import LOST, filled, thought
from tests.support.typed import COMMAND, environment, typed

PATIENCE_SECONDS = 30.0  # on a machine with other work; no test passes or fails by it
TOKEN = "a-token-of-the-tests-0123456789"  # noqa: S105 - opens nothing but these servers
HEADERS = {
    "content-security-policy", "x-content-type-options", "referrer-policy", "cross-origin-opener-policy",
    "cross-origin-resource-policy", "cache-control",
}  # fmt: skip


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: str


@dataclass
class Dashboard:
    """A running `thinkledger serve`."""

    process: subprocess.Popen[str]
    port: int
    login: str

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """One request; header names are given with underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            got = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, got, answer.read().decode())
        finally:
            connection.close()

    def log_in(self, token: str, **headers: str) -> Answer:
        form = {"content_type": "application/x-www-form-urlencoded", **headers}
        return self.ask("/login", "POST", urlencode({"token": token}), **form)

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(by)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def dashboard(folder: Path, *arguments: str, token: str | None = TOKEN) -> Iterator[Dashboard]:
    """A server on a free port."""
    said = {} if token is None else {"THINKLEDGER_TOKEN": token}
    process = subprocess.Popen(
        [*COMMAND, "--db", "t.db", "serve", "--port", "0", *arguments],
        cwd=folder, env=environment() | said, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        port = re.search(r":(\d+)", line)
        assert port is not None, line
        yield Dashboard(process, int(port[1]), line.strip().removeprefix("dashboard "))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def fill(folder: Path) -> None:
    async def make() -> None:
        async with filled(folder / "t.db") as at:
            first = await at.dataset("B1_glaive", 10)
            await at.answer_next("B1_glaive", thought(1), thought(2), LOST[Verdict.MISSING])
            await at.dataset("Magicoder", 1)
            reason = "<script>alert(1)</script> \x1b[31m \u202e"
            await at.store.write(hold, HoldRequest(first, HoldKind.GATE, reason))

    anyio.run(make)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("web")
    fill(made)
    return made


@pytest.fixture(scope="module")
def opened(folder: Path) -> Iterator[Dashboard]:
    """A server that asks nobody for a token."""
    with dashboard(folder, "--no-auth") as running:
        yield running


@pytest.fixture(scope="module")
def locked(folder: Path) -> Iterator[Dashboard]:
    """A server with a token."""
    with dashboard(folder) as running:
        yield running


# What it shows


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


def test_the_page_holds_no_script_and_no_style_of_its_own(opened: Dashboard) -> None:
    body = opened.ask("/").body
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?://(?!server)", body)
    assert re.findall(r"<script[^>]*>", body) == ['<script src="/static/refresh.js" defer>']
    assert '<noscript><meta http-equiv="refresh"' in body


def test_the_fragment_is_told_by_its_tag_that_nothing_changed(opened: Dashboard) -> None:
    first = opened.ask("/overview/fragment")
    again = opened.ask("/overview/fragment", if_none_match=first.headers["etag"])
    assert (first.status, again.status, again.body) == (200, 304, "")
    assert again.headers["x-as-of"].endswith("UTC")
    assert first.body in opened.ask("/").body
    assert opened.ask("/overview/fragment", if_none_match='"other"').status == 200


def test_the_json_twin_says_what_status_says(opened: Dashboard, folder: Path) -> None:
    answer = opened.ask("/api/v1/overview")
    twin = json.loads(answer.body)
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
    with dashboard(tmp_path, "--no-auth") as running:
        body = running.ask("/").body
    assert f"thinkledger --db {tmp_path.resolve() / 't.db'} import NAME prompts.jsonl" in body


def test_static_files_come_with_their_types(opened: Dashboard) -> None:
    for name, kind in (("style.css", "text/css"), ("refresh.js", "javascript"), ("mark.svg", "image/svg+xml")):
        answer = opened.ask(f"/static/{name}")
        assert answer.status == 200
        assert kind in answer.headers["content-type"]
    for outside in ("/static/../door.py", "/static/%2e%2e/door.py", "/static/..%2fdoor.py"):
        assert opened.ask(outside).status == 404


def test_there_is_no_schema_page_and_no_route_that_changes_anything(opened: Dashboard) -> None:
    for path in ("/schema", "/schema/swagger", "/schema/openapi.json", "/nothing"):
        assert opened.ask(path).status == 404
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert opened.ask("/", method).status == 405
    problem = opened.ask("/api/v1/nothing")
    assert (problem.status, problem.headers["content-type"]) == (404, "application/problem+json")


# Whom it lets in


def test_every_status_carries_the_headers(opened: Dashboard, locked: Dashboard) -> None:
    answers = [
        opened.ask("/"), opened.ask("/nothing"), opened.ask("/", "POST"), opened.ask("/", host="evil.example"),
        opened.ask("/", "POST", sec_fetch_site="cross-site"), locked.ask("/"), locked.ask("/api/v1/overview"),
        opened.ask("/login", "POST", "x" * 200_000, content_type="application/x-www-form-urlencoded"),
    ]  # fmt: skip
    assert [answer.status for answer in answers] == [200, 404, 405, 400, 403, 303, 401, 413]
    for answer in answers:
        assert answer.headers.keys() >= HEADERS, answer.status
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.1:8484", "LOCALHOST:1", "[::1]:8484"])
def test_names_of_this_machine_are_answered(opened: Dashboard, host: str) -> None:
    assert opened.ask("/healthz", host=host).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "10.0.0.1", "localhost.evil.example:80"]
)
def test_other_names_are_not(opened: Dashboard, host: str) -> None:
    assert opened.ask("/healthz", host=host).status == 400


def test_a_name_can_be_allowed(folder: Path) -> None:
    with dashboard(folder, "--no-auth", "--allowed-host", "GPU-7.lan") as running:
        assert running.ask("/", host="gpu-7.lan:8484").status == 200


@pytest.mark.parametrize(
    "said",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
    ],
)
def test_a_write_from_another_site_is_refused(opened: Dashboard, said: dict[str, str]) -> None:
    assert opened.log_in("x", **said).status == 403


def test_without_a_session_there_is_nothing_but_health_and_login(locked: Dashboard) -> None:
    assert locked.ask("/").headers["location"] == "/login"
    assert locked.ask("/overview/fragment").status == 401
    assert locked.ask("/api/v1/overview").status == 401
    assert locked.ask("/nothing").status == 401
    assert locked.ask("/healthz").body == "ok\n"
    assert locked.ask("/login").status == 200


def test_the_token_opens_a_session_and_a_changed_one_is_none(locked: Dashboard) -> None:
    answer = locked.log_in(TOKEN)
    cookie = answer.headers["set-cookie"]
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert TOKEN not in cookie
    session = cookie.partition(";")[0]
    assert locked.ask("/", cookie=f"other=1; {session}").status == 200
    name, _, value = session.partition("=")
    until, _, signature = value.partition(".")
    for forged in (f"{int(until) + 1}.{signature}", f"{until}.", until, "", f"{until}.{signature[:-1]}0x"):
        assert locked.ask("/overview/fragment", cookie=f"{name}={forged}").status == 401


def test_a_bearer_token_is_a_session(locked: Dashboard) -> None:
    assert locked.ask("/api/v1/overview", authorization=f"Bearer {TOKEN}").status == 200
    assert locked.ask("/api/v1/overview", authorization="Bearer other").status == 401
    assert locked.ask("/api/v1/overview", authorization=f"Basic {TOKEN}").status == 401


def test_the_login_address_works_once_and_a_session_outlives_the_server(folder: Path) -> None:
    with dashboard(folder) as first:
        code = first.login.partition("#")[2]
        session = first.log_in(code).headers["set-cookie"].partition(";")[0]
        assert first.log_in(code).status == 401
    with dashboard(folder) as second:
        assert second.ask("/", cookie=session).status == 200
        assert second.login.partition("#")[2] != code
    with dashboard(folder, token=TOKEN[::-1]) as third:
        assert third.ask("/overview/fragment", cookie=session).status == 401


def test_five_wrong_tokens_close_the_door_for_a_minute(folder: Path) -> None:
    with dashboard(folder) as running:
        session = running.log_in(TOKEN).headers["set-cookie"].partition(";")[0]
        assert [running.log_in(f"wrong {number}").status for number in range(5)] == [401] * 5
        assert running.log_in(TOKEN).status == 429
        assert running.ask("/", cookie=session).status == 200


def test_the_token_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    fill(tmp_path)
    file = tmp_path / "t.db.token"
    with dashboard(tmp_path, token=None) as running:
        token = file.read_text().strip()
        assert running.log_in(token).status == 303
    assert (file.stat().st_mode & 0o777, len(token)) == (0o600, 64)
    with dashboard(tmp_path, token=None) as running:
        assert running.log_in(token).status == 303
    file.chmod(0o644)
    assert typed(tmp_path, "--db", "t.db", "serve", "--port", "0").returncode == 4


def test_an_open_door_is_refused_before_anything_listens(folder: Path) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):  # noqa: S104 - refused
        done = typed(folder, "--db", "t.db", "serve", "--no-auth", "--host", host, "--port", "0")
        assert done.returncode == 4
        assert b"dashboard" not in done.stdout


def test_a_port_that_is_taken_is_a_sentence(folder: Path, opened: Dashboard) -> None:
    done = typed(folder, "--db", "t.db", "serve", "--no-auth", "--port", str(opened.port))
    assert done.returncode == 5
    assert b"--port" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("by", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_although_a_browser_keeps_its_connection(folder: Path, by: signal.Signals, code: int) -> None:
    with dashboard(folder, "--no-auth") as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        assert running.end(by) == code
        connection.close()


def test_no_store_is_an_error_and_makes_no_token(tmp_path: Path) -> None:
    assert typed(tmp_path, "--db", "t.db", "serve", "--port", "0").returncode == 3
    assert list(tmp_path.iterdir()) == []
