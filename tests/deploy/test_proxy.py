"""The dashboard behind nginx by deploy/nginx.conf: below a path, by TLS, with Host and Origin as browsers say."""

import http.client
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

import anyio
import pytest

from app.web.site import stands_in_a_path
from tests.integration.web.kit import ODD
from tests.support.dashboard import PATIENCE_SECONDS, TOKEN, Answer, dashboard
from tests.support.filled import filled, thought
from tests.support.product import wait_for

CONF = Path(__file__).resolve().parents[2] / "deploy/nginx.conf"
NAME = "gpu.example"
SURROUNDINGS = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  include {folder}/site.conf;
}}
"""


@dataclass
class Proxy:
    """A browser's way to nginx."""

    plain: int
    port: int
    trust: ssl.SSLContext

    @property
    def origin(self) -> str:
        return f"https://{NAME}:{self.port}"

    def ask(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.trust, timeout=PATIENCE_SECONDS)
        raw = socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS)
        connection.sock = self.trust.wrap_socket(raw, server_hostname=NAME)  # the certificate is checked by its name
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, {"Host": f"{NAME}:{self.port}"} | named)
            answer = connection.getresponse()
            got = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, got, answer.read())
        finally:
            connection.close()

    def submit(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        form = "application/x-www-form-urlencoded"
        return self.ask(path, "POST", urlencode(fields), content_type=form, **headers)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def nginx(program: str, folder: Path, dashboard_port: int) -> Iterator[Proxy]:
    """nginx with the file of the project; only ports, certificate and folders are of this test."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subject = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        key,
        "-out",
        certificate,
    ]
    subprocess.run([*made, *subject], check=True, capture_output=True)
    plain, port = _free_port(), _free_port()
    site = CONF.read_text(encoding="utf-8")
    for said, ours in (
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("http://127.0.0.1:8484;", f"http://127.0.0.1:{dashboard_port};"),
        ("/etc/ssl/certs/gpu.example.pem", str(certificate)),
        ("/etc/ssl/private/gpu.example.key", str(key)),
    ):
        assert site.count(said) == 1, said
        site = site.replace(said, ours)
    (folder / "site.conf").write_text(site, encoding="utf-8")
    conf = folder / "nginx.conf"
    conf.write_text(SURROUNDINGS.format(folder=folder), encoding="utf-8")
    order = [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(conf)]
    checked = subprocess.run([*order, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(order, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: _listens(port) and _listens(plain), "nginx listens")
        yield Proxy(plain, port, ssl.create_default_context(cafile=certificate))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    program = shutil.which("nginx")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("no nginx or no openssl here; Debian's packages have them")
    folder = tmp_path_factory.mktemp("proxy")

    async def make() -> None:
        async with filled(folder / "t.db") as at:
            await at.dataset("d", 3)
            await at.answer_next("d", thought(1), thought(2))

    anyio.run(make)
    with dashboard(folder, "--root-path", "/thinkledger", "--allowed-host", NAME) as running:
        with nginx(program, folder, running.port) as found:
            yield found


@pytest.fixture(scope="module")
def session(proxy: Proxy) -> str:
    answer = proxy.submit("/thinkledger/login", {"token": TOKEN}, origin=proxy.origin, sec_fetch_site="same-origin")
    assert answer.status == 303
    assert answer.headers["location"] == "/thinkledger/"
    cookie = answer.headers["set-cookie"]
    assert "Path=/thinkledger;" in cookie
    assert cookie.lower().endswith("; secure")
    return cookie.partition(";")[0]


def test_without_tls_there_is_only_the_way_to_it(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.plain, timeout=PATIENCE_SECONDS)
    connection.request("GET", "/thinkledger/workers", headers={"Host": NAME})
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("location")) == (301, f"https://{NAME}/thinkledger/workers")
    connection.close()


def test_pages_below_the_path_link_below_it(proxy: Proxy, session: str) -> None:
    assert proxy.ask("/thinkledger").headers["location"].endswith("/thinkledger/")
    asked = proxy.ask("/thinkledger/workers", accept="text/html")
    assert (asked.status, asked.headers["location"]) == (303, "/thinkledger/login?next=%2Fworkers")
    page = proxy.ask("/thinkledger/", cookie=session)
    assert page.status == 200
    assert 'href="/thinkledger/datasets/d"' in page.body
    assert 'src="/thinkledger/static/dashboard.js"' in page.body
    assert proxy.ask("/thinkledger/static/dashboard.js").status == 200
    assert page.headers["strict-transport-security"] == "max-age=31536000"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert page.headers["cache-control"] == "no-store"


def test_what_lies_beside_the_path_is_not_ours(proxy: Proxy) -> None:
    assert proxy.ask("/").status == 404
    assert proxy.ask("/api/v1/overview", authorization=f"Bearer {TOKEN}").status == 404


def test_a_change_from_a_page_of_ours_is_taken_and_one_from_elsewhere_is_not(proxy: Proxy, session: str) -> None:
    pause = "/thinkledger/datasets/d/pause"
    for said in (
        {"sec_fetch_site": "cross-site"}, {"origin": "https://evil.example"}, {"origin": "null"},
        {"origin": f"https://{NAME}:1"},
    ):  # fmt: skip
        assert proxy.submit(pause, {}, cookie=session, **said).status == 403, said
    for said in ({"origin": proxy.origin}, {"origin": proxy.origin, "sec_fetch_site": "same-origin"}):
        assert proxy.submit(pause, {}, cookie=session, **said).status == 303, said
    told = proxy.ask("/thinkledger/metrics", cookie=session).body
    assert 'thinkledger_hold{dataset="d",kind="person"} 1.0' in told


def test_a_name_that_is_not_the_servers_gets_nothing(proxy: Proxy, session: str) -> None:
    for host in ("evil.example", "10.0.0.1", f"{NAME}.evil.example"):
        assert proxy.ask("/thinkledger/", host=host, cookie=session).status == 400, host


def test_a_program_comes_with_the_token(proxy: Proxy) -> None:
    assert proxy.ask("/thinkledger/metrics").status == 401
    told = proxy.ask("/thinkledger/metrics", authorization=f"Bearer {TOKEN}")
    assert told.status == 200
    assert 'thinkledger_dataset_jobs{dataset="d"} 3.0' in told.body
    assert proxy.ask("/thinkledger/healthz").body == "ok\n"


@pytest.mark.parametrize("sample", ODD)
def test_an_id_comes_through_as_it_was_written(proxy: Proxy, session: str, sample: str) -> None:
    asked = quote(sample, safe="")
    for path in (f"/sample?id={asked}", *([f"/samples/{asked}"] if stands_in_a_path(sample) else [])):
        answer = proxy.ask(f"/thinkledger/api/v1/datasets/d{path}", cookie=session)
        assert answer.status == 404
        assert repr(sample) in answer.json["detail"]
