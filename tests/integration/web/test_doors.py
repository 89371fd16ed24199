"""Whom the dashboard lets in, from where, and what every answer carries."""

import http.client
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.web.kit import fill
from tests.support.dashboard import PATIENCE_SECONDS, TOKEN, Dashboard, dashboard
from tests.support.typed import typed

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


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


def test_every_status_carries_the_headers(opened: Dashboard, locked: Dashboard) -> None:
    answers = [
        opened.ask("/"), opened.ask("/nothing"), opened.ask("/", "POST"), opened.ask("/", host="evil.example"),
        opened.ask("/", "POST", sec_fetch_site="cross-site"), locked.ask("/"), locked.ask("/api/v1/overview"),
        opened.ask("/login", "POST", "x" * 200_000, content_type="application/x-www-form-urlencoded"),
        opened.ask("/static/style.css"), opened.ask("/static/none.css"), opened.ask("/healthz"),
        opened.ask("/", x_live="1", if_none_match=opened.ask("/", x_live="1").headers["etag"]),
    ]  # fmt: skip
    statuses = [200, 404, 405, 400, 403, 303, 401, 413, 200, 404, 200, 304]
    assert [answer.status for answer in answers] == statuses
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, answer.status
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
    assert locked.ask("/workers").status == 401
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
        assert locked.ask("/workers", cookie=f"{name}={forged}").status == 401


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
        assert third.ask("/workers", cookie=session).status == 401


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


def test_unasked_it_listens_for_this_machine_alone(opened: Dashboard) -> None:
    """Whoever listens at every address keeps the port from each of them."""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", opened.port), PATIENCE_SECONDS).close()
    with socket.create_server(("127.0.0.2", opened.port)) as other:
        assert other.getsockname() == ("127.0.0.2", opened.port)


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
