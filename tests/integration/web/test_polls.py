"""Tabs that poll the same page share one making of it; nobody is shown what was before a change of theirs."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.web.kit import fill_free
from tests.support.dashboard import Dashboard, dashboard


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("polls")
    fill_free(folder)
    with dashboard(folder, "--no-auth") as running:
        yield running


@pytest.mark.parametrize("path", ["/", "/datasets/free", "/datasets/free/samples", "/datasets/free/samples/s1"])
def test_tabs_at_one_instant_are_shown_the_same_and_each_by_what_it_has(opened: Dashboard, path: str) -> None:
    tag = opened.ask(path, x_live="1").headers["etag"]
    with ThreadPoolExecutor(8) as tabs:
        shown = list(tabs.map(lambda _: opened.ask(path, x_live="1", if_none_match='"old"'), range(4)))
        again = list(tabs.map(lambda _: opened.ask(path, x_live="1", if_none_match=tag), range(4)))
    assert [one.status for one in shown] == [200] * 4
    for one in again:  # the foot tells of the disk, which may change between any two polls
        same = one.headers["etag"] == tag
        assert (one.status, one.raw == b"") == ((304, True) if same else (200, False))
        assert {"x-as-of", "content-security-policy", "server-timing"} <= one.headers.keys()


def test_a_change_is_shown_by_the_next_poll(opened: Dashboard) -> None:
    before = opened.ask("/datasets/free", x_live="1")
    assert opened.submit("/datasets/free/pause").status == 303
    paused = opened.ask("/datasets/free", x_live="1", if_none_match=before.headers["etag"])
    assert opened.send("/api/v1/datasets/free/resume", {}).status == 200
    resumed = opened.ask("/datasets/free", x_live="1", if_none_match=paused.headers["etag"])
    assert ["paused by a person" in one.body for one in (before, paused, resumed)] == [False, True, False]
    assert [one.status for one in (before, paused, resumed)] == [200, 200, 200]


def test_a_download_is_no_poll_and_an_unknown_page_is_one_for_all(opened: Dashboard) -> None:
    part = opened.ask("/datasets/free/part?id=s1&part=raw", x_live="1")
    assert (part.status, part.headers["content-type"]) == (200, "application/octet-stream")
    assert opened.ask("/api/v1/overview", x_live="1").json.keys() == {"data", "as_of", "seq"}
    assert [opened.ask("/datasets/none", x_live="1").status for _ in range(2)] == [404, 404]
    assert opened.ask("/?colour=red", x_live="1").status == 400


def test_every_answer_says_how_long_the_server_took(opened: Dashboard) -> None:
    for path in ("/", "/nothing", "/static/style.css", "/api/v1/overview"):
        said = opened.ask(path).headers["server-timing"]
        assert re.fullmatch(r"app;dur=\d+\.\d", said), path
