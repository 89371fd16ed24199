"""What needs a person stands in one place at the head of a page, the worst open, and no word of it is lost."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from app.gates.evaluating import Look, evaluate
from app.gates.health import Found, note_health
from app.gates.soundness import Verified, note_verified
from app.leasing.workers import renew
from app.model.verdicts import Verdict
from app.store.store import wall_ms
from tests.integration.store.raw import connection
from tests.support.dashboard import Dashboard, dashboard
from tests.support.filled import LOST, filled, thought

FULL_DISK = (2**29, 2**40)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """`lost` is held by its gate, `slow` has lost one; the server is down, the disk full, `verify` found something."""
    folder = tmp_path_factory.mktemp("attention")

    async def make() -> None:
        async with filled(folder / "t.db") as at:
            at.watched = True
            await at.dataset("slow", 60)
            at.clock.ms = wall_ms() - 20 * 60_000
            await at.answer_next("slow", *map(thought, range(30)), LOST[Verdict.LEAKED])
            await at.dataset("lost", 30)
            await at.answer_next("lost", *[LOST[Verdict.MISSING]] * 2)
            await at.store.write(note_health, Found(at.worker, "http://server:30000/v1", "it refuses"))
            at.clock.ms = wall_ms()
            await at.store.write(renew, at.worker)
            await at.store.write(note_verified, Verified(3, full=True, seq=1))
            await at.store.write(evaluate, Look("worker 1", FULL_DISK))
            await at.answer_next("slow", *map(thought, range(5)))

    anyio.run(make)
    with connection(folder / "t.db") as store:
        store.execute("UPDATE evaluator SET until_ms = 9999999999999")  # nobody looks anew: the server's disk has room
    with dashboard(folder, "--no-auth", "--read-only") as running:
        yield running


def parts(page: str) -> str:
    return page[page.index('id="attention"') : page.index('id="summary"')]


def titles(part: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r"</span> ([^<]+)</(?:h2|summary)>", part)]


def test_the_worst_stands_open_three_are_a_line_each_and_the_rest_waits_behind_its_number(opened: Dashboard) -> None:
    part = parts(opened.ask("/").body)
    first, others = (
        ["lost: held by gate", "integrity", "disk low", "endpoint down"],
        ["slow: lost any", "lost: lost any"],
    )
    assert titles(part) == first + others
    assert part.count('class="alert ') == 1
    opens = part[: part.index('class="others"')]
    assert titles(opens) == ["lost: held by gate"]
    assert '<summary id="more-alerts-head">2 more</summary>' in part
    assert titles(part[part.index("more-alerts") :]) == others
    assert " open>" not in part


def test_no_word_of_an_alarm_is_lost(opened: Dashboard) -> None:
    shown = _plain(parts(opened.ask("/").body))
    data = opened.ask("/api/v1/overview").json["data"]
    messages = [alarm["message"] for alarm in data["alarms"]]
    messages += [hold["reason"] for one in data["datasets"] for hold in one["holds"]]
    assert len(set(messages)) == 6
    assert "`" not in shown
    for message in messages:
        assert message.replace("`", "") in shown, message


def _plain(part: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", part))


def test_a_command_in_an_alarm_is_code(opened: Dashboard) -> None:
    command = '<code>thinkledger retry slow <span class="option">--verdict</span> missing</code> asks what was lost'
    for path in ("/", "/datasets/slow", "/alerts"):
        assert command in opened.ask(path).body, path


def test_a_dataset_shows_its_own_and_no_others(opened: Dashboard) -> None:
    assert titles(parts(opened.ask("/datasets/lost").body)) == ["lost: held by gate", "lost: lost any"]
    assert titles(parts(opened.ask("/datasets/slow").body)) == ["slow: lost any"]


def test_numbers_of_an_alarm_say_of_when_they_are_and_what_they_are_now(opened: Dashboard) -> None:
    page = _plain(opened.ask("/datasets/slow").body)
    assert "1 of 31 answers came without usable reasoning" in page
    assert re.search(r"since \S+ \S+ UTC, numbers of \S+ \S+ UTC \S now 35/36 captured, 97.2 %; 1 lost", page)
    listed = _plain(opened.ask("/alerts").body)
    assert re.search(r"1/31 \(3.2 %\).*since \S+ \S+ UTC, numbers of \S+ \S+ UTC \S now 35/36 captured", listed)
    assert re.search(r"numbers of \S+ \S+ UTC \S now endpoint down", listed)


def test_an_alarm_that_is_over_says_when_it_ended(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.store.write(evaluate, Look("worker 1", FULL_DISK))
            at.clock.ms += 10 * 60_000
            await at.store.write(evaluate, Look("worker 1", (2**39, 2**40)))

    anyio.run(make)
    with dashboard(tmp_path, "--no-auth", "--read-only") as running:
        page = _plain(running.ask("/alerts").body)
    assert "since 2026-02-02 02:40:00 UTC, over since 2026-02-02 02:50:00 UTC" in page
    assert "numbers of" not in page


def test_the_capture_rate_is_never_better_than_its_alarms(opened: Dashboard) -> None:
    page = opened.ask("/").body
    summary = page[page.index('id="summary"') : page.index('class="counts"')]
    assert '<dd class="value bad"><span aria-hidden="true">!</span> 92.1 %</dd>' in summary
    assert "35/38, held" in summary
    rows = re.sub(r"\s+", " ", page[page.index('id="dataset-list"') :])
    sign = '<span aria-hidden="true">!</span>'
    assert f'strong warn">{sign} 97.2 %</span> <span class="note">35/36, alarm open<' in rows
    assert f'strong bad">{sign} 0.0 %</span> <span class="note">0/2, held<' in rows
    for path in ("/datasets/slow", "/datasets"):
        shown = opened.ask(path).body
        assert re.search(r'warn"><span aria-hidden="true">!</span> 97.2 %<', shown), path
        assert "35/36, alarm open" in shown, path
