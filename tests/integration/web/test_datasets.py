"""The page of a dataset, the workers and the alerts: numbers, links and twins that say the same."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from app.gates.evaluating import Look, evaluate
from app.model.verdicts import Verdict
from app.store.store import wall_ms
from tests.integration.store.raw import connection
from tests.integration.web.kit import fill_free
from tests.support.dashboard import Dashboard, dashboard
from tests.support.filled import LOST, filled, thought


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("web")
    fill_free(folder)
    with dashboard(folder, "--no-auth") as running:
        yield running


def links(page: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(r'href="([^"#]+)"', page)]


def test_every_link_of_every_page_leads_somewhere(opened: Dashboard) -> None:
    seen, waiting = set[str](), ["/"]
    while waiting:
        path = waiting.pop()
        if path in seen or len(seen) > 150:
            continue
        seen.add(path)
        answer = opened.ask(path)
        assert answer.status == 200, path
        if answer.headers["content-type"].startswith("text/html"):
            waiting += links(answer.body)
    assert len(seen) > 40


def test_a_dataset_shows_where_reasoning_was_found_and_each_cell_leads_to_its_samples(opened: Dashboard) -> None:
    page = opened.ask("/datasets/free").body
    triage = page[page.index('id="triage"') : page.index('id="chart-histogram"')]
    cells = re.findall(r'<a href="([^"]+)">(\d+)</a>', triage)
    assert sorted(count for _, count in cells) == ["1", "1", "2"]
    for path, count in cells:
        found = opened.ask(html.unescape(path)).body
        assert len(re.findall("data-line>", found)) == int(count), path


def test_a_dataset_shows_its_failures_with_a_retry_for_each_cause(opened: Dashboard) -> None:
    page = opened.ask("/datasets/free").body
    assert "rejected" in page
    assert "the server said" in page
    retry = re.search(r'href="([^"]+cause=rejected)" aria-label="Retry rejected"', page)
    assert retry is not None
    assert "2 jobs are chosen" in opened.ask(html.unescape(retry[1])).body


def test_every_figure_says_what_it_speaks_of(opened: Dashboard) -> None:
    page = opened.ask("/datasets/free").body
    notes = re.findall(r'<dd class="note">([^<]*)</dd>', page)
    assert notes == ["4/8 jobs of 8 samples", "3/4, low", "nothing is asked now", "2 jobs to go"]
    assert '<dd class="note">2 jobs to go</dd>' in opened.ask("/").body


@pytest.mark.parametrize(("minutes", "span"), [(3, "10min"), (40, "1h"), (300, "6h"), (3000, "7d")])
def test_a_chart_shows_the_whole_run_until_a_window_is_chosen(tmp_path: Path, minutes: int, span: str) -> None:
    began_ms = wall_ms() - minutes * 60_000

    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("young", 9)
            at.clock.ms = began_ms
            await at.answer_next("young", thought(1))

    anyio.run(make)
    with dashboard(tmp_path, "--no-auth", "--read-only") as running:
        page, chosen = running.ask("/datasets/young").body, running.ask("/datasets/young?span=30d").body
        series = running.ask("/api/v1/datasets/young/series").json["data"]
        assert (series["span"], series["whole_run"]) == (span, True)
        twin = running.ask("/api/v1/datasets/young").json["data"]["series"]
        assert (twin["span"], twin["whole_run"]) == (span, True)
        assert running.ask("/datasets/young?span=2h").status == 400
    assert "1 done, 0 failed in the whole run;" in page
    assert '<a href="/datasets/young" aria-current="true">whole run</a>' in page
    assert "1 done, 0 failed in 30d;" in chosen
    assert '<a href="/datasets/young?span=30d" aria-current="true">30d</a>' in chosen
    before = [point["start_ms"] for point in series["points"] if point["start_ms"] < began_ms - series["step_ms"]]
    assert len(before) <= (0 if minutes * 60_000 >= 10 * series["step_ms"] else 10)
    assert series["points"][0]["start_ms"] <= began_ms


def test_a_bar_of_the_histogram_leads_to_its_samples(opened: Dashboard) -> None:
    page = opened.ask("/datasets/free").body
    bar = re.search(r'<a href="([^"]+min_reasoning=\d+[^"]*)" aria-label="[^"]*: (\d+) answers"', page)
    assert bar is not None
    found = opened.ask(html.unescape(bar[1])).body
    assert len(re.findall("data-line>", found)) == int(bar[2])


@pytest.mark.parametrize("part", ["", "/series", "/series?span=7d", "/histogram", "/triage", "/errors", "/samples"])
def test_a_dataset_has_twins(opened: Dashboard, part: str) -> None:
    answer = opened.ask(f"/api/v1/datasets/free{part}")
    assert answer.status == 200
    assert set(answer.json) == {"data", "as_of", "seq"}
    missing = opened.ask(f"/api/v1/datasets/none{part}")
    assert (missing.status, missing.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("noun", ["overview", "datasets", "workers", "alerts", "exports", "about"])
def test_every_noun_has_a_twin(opened: Dashboard, noun: str) -> None:
    assert set(opened.ask(f"/api/v1/{noun}").json) == {"data", "as_of", "seq"}


def test_an_unknown_dataset_is_not_found(opened: Dashboard) -> None:
    for rest in ("", "/samples", "/samples/s1", "/retry", "/retry?state=done", "/reparse", "/part?id=s1&part=raw"):
        assert opened.ask(f"/datasets/none{rest}").status == 404, rest
    assert opened.submit("/datasets/none/pause").status == 404


def test_alarms_are_shown_counted_and_acknowledged(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            at.watched = True
            await at.dataset("lost", 30)
            await at.answer_next("lost", LOST[Verdict.MISSING], LOST[Verdict.MISSING])

    anyio.run(make)
    with dashboard(tmp_path, "--no-auth") as running:
        page = running.ask("/alerts").body
        assert "holds the dataset" in page
        assert "0/2" in page
        count = re.search(r'<span class="badge">(\d+)', page)
        assert count is not None
        acts = re.findall(r'action="(/alerts/\d+/acknowledge)"', page)
        assert len(acts) == int(count[1])
        for act in acts:
            assert running.submit(act).headers["location"] == "/alerts?said=acknowledged"
        assert running.submit(acts[0]).headers["location"] == "/alerts?said=not_standing"
        after = running.ask("/alerts").body
        assert "acknowledged, still stands" in after
        assert '<span class="badge">' not in after
        assert running.submit("/alerts/4711/acknowledge").status == 404
        assert running.submit(f"/alerts/{2**64}/acknowledge").status == 404
    with connection(tmp_path / "t.db") as store:
        kinds = store.execute("SELECT kind FROM event WHERE kind LIKE 'alarm_ack%'").fetchall()
    assert len(kinds) == len(acts)


def test_the_page_of_alerts_says_whether_anybody_looks(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.store.write(evaluate, Look("a worker of old", (10**12, 10**12)))

    anyio.run(make)
    with dashboard(tmp_path, "--no-auth", "--read-only") as running:
        page = running.ask("/alerts").body
    assert "Nobody looks at the alarms that time triggers; the last look was at" in page
    assert "a worker of old" in page


def test_workers_show_what_they_hold(opened: Dashboard) -> None:
    page = opened.ask("/workers").body
    for shown in ("gpu", "host, process 4242", "0 of 8", "http://server:30000/v1", "kimi", "0.5.23"):
        assert shown in page, shown
