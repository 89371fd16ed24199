"""What is sent to a server goes there and nowhere else."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.forks import COMMAND, environment


@contextmanager
def server(location: str | None) -> Iterator[tuple[str, list[str]]]:
    """Answers everything with a redirect, or with 404; its URL, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            asked.append(self.path)
            self.send_response(404 if location is None else 307)
            if location is not None:
                self.send_header("location", location)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST = do_CONNECT = _answer  # noqa: N815 - names of the library

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", asked
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


def test_a_redirect_is_not_followed_and_no_proxy_is_asked(tmp_path: Path) -> None:
    with (
        server(None) as (elsewhere, stolen),
        server(None) as (proxy, passed),
        server(f"{elsewhere}/v1/models") as (url, asked),
    ):
        said = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), proxy)
        done = subprocess.run(
            [*COMMAND, "probe", "--endpoint", url],
            cwd=tmp_path,
            env=environment() | said,
            capture_output=True,
            check=False,
        )
    assert done.returncode != 0
    assert b"Traceback" not in done.stderr
    assert asked
    assert (stolen, passed) == ([], [])
