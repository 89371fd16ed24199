"""A page that tells of an error leads on: it has the way to every other page, and the way back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.store.raw import connection, spoil
from tests.integration.web.kit import fill_free
from tests.support.dashboard import Answer, Dashboard, dashboard

EVERYWHERE = ["/", "/datasets", "/workers", "/alerts", "/exports"]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("errors")
    fill_free(folder)
    with dashboard(folder, "--no-auth", "--read-only") as running:
        yield running


def sections(answer: Answer) -> list[str]:
    """The links of the header."""
    header = answer.body[answer.body.index('<nav aria-label="Pages"') : answer.body.index("</nav>")]
    return re.findall(r'<a href="([^"]+)"', header)


def back(answer: Answer) -> list[tuple[str, str]]:
    """The way back, as address and word."""
    return re.findall(r'<a href="([^"]+)">([^<]+)</a>', answer.body.partition("Back to ")[2].partition("</p>")[0])


@pytest.mark.parametrize(
    ("path", "status", "way"),
    [
        ("/nothing", 404, [("/", "Overview")]),
        ("/datasets/none", 404, [("/datasets", "Datasets")]),
        ("/datasets/free/samples/s9", 404, [("/datasets", "Datasets"), ("/datasets/free", "free")]),
        ("/datasets/free/pause", 405, [("/datasets", "Datasets"), ("/datasets/free", "free")]),
        ("/datasets/free/samples?state=lost", 400, [("/datasets", "Datasets"), ("/datasets/free", "free")]),
        ("/workers?colour=red", 400, [("/workers", "Workers")]),
        ("/alerts/1/acknowledge", 405, [("/alerts", "Alerts")]),
        ("/exports/none.jsonl", 404, [("/exports", "Exports")]),
        ("/?colour=red", 400, [("/", "Overview")]),
        ("//nothing", 404, [("/", "Overview")]),
        (
            "/datasets/%3Cb%3E%22/retry",
            404,
            [("/datasets", "Datasets"), ("/datasets/%3Cb%3E%22", "&lt;b&gt;&#34;")],
        ),
    ],
)
def test_an_error_has_the_frame_and_a_way_back(
    opened: Dashboard, path: str, status: int, way: list[tuple[str, str]]
) -> None:
    answer = opened.ask(path)
    assert answer.status == status
    assert sections(answer) == EVERYWHERE
    assert back(answer) == way


def test_a_refused_change_leads_back_to_its_dataset(opened: Dashboard) -> None:
    answer = opened.submit("/datasets/free/pause")
    assert answer.status == 403
    assert sections(answer) == EVERYWHERE
    assert back(answer) == [("/datasets", "Datasets"), ("/datasets/free", "free")]
    assert "<code>thinkledger serve</code> without" in answer.body


def test_an_error_of_ours_and_a_store_that_cannot_be_read_have_it_too(tmp_path: Path) -> None:
    fill_free(tmp_path)
    with dashboard(tmp_path, "--no-auth") as running:
        with connection(tmp_path / "t.db") as store:
            store.execute("UPDATE dataset SET config = 'no json'")
        ours = running.ask("/datasets")
    spoil(tmp_path / "t.db", ["counter", "event"])
    with dashboard(tmp_path, "--no-auth", "--root-path", "/below") as running:
        damaged = running.ask("/below/")
    assert (ours.status, damaged.status) == (500, 503)
    assert sections(ours) == EVERYWHERE
    assert sections(damaged) == [f"/below{path}" for path in EVERYWHERE]
    assert back(damaged) == [("/below/", "Overview")]


def test_a_page_before_the_login_shows_no_way_to_others(tmp_path: Path) -> None:
    fill_free(tmp_path)
    with dashboard(tmp_path) as running:
        assert '<nav aria-label="Pages"' not in running.ask("/login").body


def test_a_name_that_no_static_file_has_is_not_found_without_a_token(tmp_path: Path) -> None:
    """Anybody may ask for static files: a name may not reach the file system and end as an error in the log."""
    fill_free(tmp_path)
    with dashboard(tmp_path) as running:
        for name in ("%00", "style.css%00", "a" * 300, "%2e%2e/application.py", "x/style.css", "", "%ff"):
            assert running.ask(f"/static/{name}").status == 404, name
        assert running.ask("/static/style.css").status == 200
