"""Chromium against the real server, a real store and the simulator. Every page is watched for errors of any kind."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboard import Dashboard, dashboard
from tests.support.product import wait_for

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("BROWSER_TESTS_REQUIRED") == "1"  # set where these tests must not be left out
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-dev-shm-usage",
]  # fmt: skip

if not REQUIRED:
    pytest.importorskip("playwright", reason="the browser tests need the package playwright")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for the tests of a file: its driver keeps an event loop running in this thread, and while it does,
    no test of another folder could run one."""
    if CHROMIUM is None:
        assert not REQUIRED, "the browser tests are required here, and there is no chromium"
        pytest.skip("there is no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Window:
    """A browser window on one dashboard. `trouble` collects what a page must never cause."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.trouble: list[str] = []
        self.expected: Callable[[str], bool] = lambda _text: False
        page.on("console", lambda said: self._note(said.type, f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self._dialog(dialog))
        page.on("request", lambda request: self._request(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not self.expected(text):
            self.trouble.append(text)

    def _dialog(self, dialog: Any) -> None:
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, url: str) -> None:
        if not url.startswith((self.url, "data:", "blob:")):
            self.trouble.append(f"request to another place: {url}")

    def open(self, path: str) -> Any:
        answer = self.page.goto(self.url + path)
        assert answer is not None
        assert answer.status == 200, f"{path}: {answer.status}"
        return self.page


def until(page: Any, holds: str) -> None:
    """Wait until an expression holds in the page. The driver's own way evaluates text, which our policy refuses."""
    wait_for(lambda: bool(page.evaluate(holds)), holds)


Opener = Callable[..., Any]


@pytest.fixture
def window(chromium: Any) -> Iterator[Opener]:
    """Opens windows; at the end none of them may have met an error, a refused script or another host."""
    opened: list[tuple[Any, Window]] = []

    def open_window(running: Dashboard, **settings: Any) -> Window:
        context = chromium.new_context(
            accept_downloads=True, **{"viewport": {"width": 1280, "height": 900}, **settings}
        )
        context.set_default_timeout(15_000)
        made = Window(context.new_page(), running.url)
        opened.append((context, made))
        return made

    yield open_window
    trouble = [text for _, made in opened for text in made.trouble]
    for context, _ in opened:
        context.close()
    assert trouble == []


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Dashboard]:
    """A dashboard without a token, for windows that are about something else."""
    with dashboard(folder, "--no-auth", *arguments) as running:
        yield running
