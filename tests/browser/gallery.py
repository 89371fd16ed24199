"""A store that looks like a run of some hours, and the pictures of its pages. `make screenshots` runs this."""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from playwright.sync_api import sync_playwright
from sqlalchemy import text

from app.gates.health import Found, note_health
from app.leasing.workers import renew
from app.model.lease import Cause, Settle
from app.model.verdicts import Verdict
from app.store.store import wall_ms
from app.store.transaction import Tx
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.support.dashboard import Dashboard, dashboard
from tests.support.filled import LOST, Filled, chat, filled
from worker.simulator.answers import answer_of

STEP_MS = 28_000  # from one answer to the next
TAKEN_MS = 1_600  # from a lease to its answer
IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDE = 1280
SHOTS = (
    ("overview", "/", "light", WIDE),
    ("overview-dark", "/", "dark", WIDE),
    ("overview-phone", "/", "light", 360),
    ("dataset", "/datasets/B1_glaive", "light", WIDE),
    ("sample", "/datasets/B1_glaive/samples/s1", "dark", WIDE),
    ("workers", "/workers", "light", WIDE),
    ("alerts", "/alerts", "light", WIDE),
    ("exports", "/exports?dataset=Magicoder", "light", WIDE),
)
TALLEST = 900
PATIENCE_MS = 300_000  # beside other work; a picture that comes late is as good


def said(number: int, name: str) -> bytes:
    """An answer as the simulator would give it."""
    answer = answer_of(f"{name} {number}", 600 + 137 * (number * number % 97))
    return chat(answer.text)


async def fill(folder: Path) -> None:
    """B1_glaive is under way, Magicoder is complete, UltraChat is held, ShareGPT has not begun."""
    async with filled(folder / "t.db") as at:
        at.watched = True
        at.clock.ms = wall_ms() - 250 * STEP_MS
        await at.dataset("B1_glaive", 1000, prompts=_prompts())
        await at.dataset("Magicoder", 40)
        await at.dataset("UltraChat", 300)
        await at.dataset("ShareGPT", 120)
        for number in range(250):
            at.clock.ms += STEP_MS
            await _one(at, number)
        at.clock.ms = wall_ms()  # the filling took a while too
        await at.claim(6, "B1_glaive")
        await _beat(at)


async def _one(at: Filled, number: int) -> None:
    if number < 40:
        await _answer(at, "Magicoder", said(number, "Magicoder"))
    if number == 150:
        await at.answer_next("UltraChat", *[LOST[Verdict.MISSING]] * 2)
    if number % 47 == 30:
        await _answer(at, "B1_glaive", LOST[Verdict.TRUNCATED])
    elif number % 83 == 40:
        (lease,) = await at.claim(1, "B1_glaive")
        await at.fail(lease, Cause.REJECTED, Settle.GIVE_UP)
    elif number == 101:
        await _answer(at, "B1_glaive", LOST[Verdict.MISSING])
    else:
        await _answer(at, "B1_glaive", said(number, "B1_glaive"))


async def _answer(at: Filled, name: str, body: bytes) -> None:
    """Leased, and answered a while later: a request is noted as sent 1.5 s before its answer."""
    (lease,) = await at.claim(1, name)
    at.clock.ms += TAKEN_MS
    assert await at.answer(lease, body)
    at.clock.ms -= TAKEN_MS


async def _beat(at: Filled) -> None:
    """The worker began with the run, and its next beats have come: taking the pictures may take minutes."""
    await at.store.write(_date, (at.clock.ms - 250 * STEP_MS, at.clock.ms))
    await at.store.write(note_health, Found(at.worker, "http://server:30000/v1", None))
    at.clock.ms += 10 * 60_000
    await at.store.write(renew, at.worker)


async def _date(tx: Tx, several: Sequence[tuple[int, int]]) -> list[None]:
    for began_ms, now_ms in several:
        await tx.run(text("UPDATE worker SET started_ms = :began"), {"began": began_ms})
        seen = "UPDATE endpoint SET first_seen_ms = :began, last_seen_ms = :now"
        await tx.run(text(seen), {"began": began_ms, "now": now_ms})
    return [None] * len(several)


def _prompts() -> list[str]:
    """The bundled ones."""
    file = Path(__file__).parents[2] / "worker" / "demo" / "prompts" / "B1_glaive.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [str(row["messages"][-1]["content"]) for row in rows]


def shoot(running: Dashboard, into: Path) -> None:
    """One picture a page, without the foot, which names a folder of this machine."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, path, scheme, width in SHOTS:
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto(running.url + path)
            if name == "exports":
                _export(page)
            bottom = page.evaluate("document.querySelector('main').getBoundingClientRect().bottom + window.scrollY")
            clip: Any = {"x": 0, "y": 0, "width": width, "height": min(bottom, TALLEST)}
            page.screenshot(path=into / f"{name}.png", full_page=True, clip=clip)
            context.close()
        browser.close()


def _export(page: Any) -> None:
    page.click("#do-export")
    page.select_option("#interval", "2")
    page.wait_for_selector("#files tbody tr")
    page.evaluate("document.querySelector('#files h2 .note').remove()")  # a folder of this machine
    page.evaluate("window.scrollTo(0, 0)")


def main() -> None:
    """Fill, serve, shoot."""
    into = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        anyio.run(fill, folder)
        with dashboard(folder, "--no-auth") as running:
            shoot(running, into)
    sys.stdout.write(f"{len(SHOTS)} pictures in {into}\n")


if __name__ == "__main__":
    main()
