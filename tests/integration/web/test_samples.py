"""Lists of samples and single samples: what is shown, what is marked, and that no text of a store can break a page."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from app.model.verdicts import Verdict
from tests.integration.store.raw import connection
from tests.integration.web.kit import fill_free
from tests.support.dashboard import Dashboard, dashboard
from tests.support.filled import LOST, chat, filled, thought

ODD = "\x00".join(["lone \ud800", "esc \x1b[31m", "bidi \u202eevil\u2066", "nul", "line \u2028sep \ufeff", "tab\tend"])


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("web")
    fill_free(folder)
    with dashboard(folder, "--no-auth") as running:
        yield running


def listed(page: str) -> list[str]:
    return re.findall(r"data-line>([^<]+)<", page)


def test_a_list_is_filtered_by_its_address(opened: Dashboard) -> None:
    assert listed(opened.ask("/datasets/free/samples").body) == [f"s{number}" for number in range(1, 9)]
    assert listed(opened.ask("/datasets/free/samples?state=failed").body) == ["s5", "s6"]
    assert listed(opened.ask("/datasets/free/samples?verdict=missing").body) == ["s4"]
    assert listed(opened.ask("/datasets/free/samples?q=s3").body) == ["s3"]
    assert "No sample matches." in opened.ask("/datasets/free/samples?q=nothing").body
    assert listed(opened.ask("/datasets/free/samples?state=&q=").body) != []


def test_a_list_is_filtered_by_times_as_they_are_typed(opened: Dashboard) -> None:
    done = [f"s{number}" for number in range(1, 7)]  # all at 2026-02-02 02:40:00 UTC
    for since in ("1770000000000", "2026-02-02", "2026-02-02T02:40", "2026-02-02%2002:40:00%20UTC"):
        assert sorted(listed(opened.ask(f"/datasets/free/samples?since={since}").body)) == done, since
        assert listed(opened.ask(f"/datasets/free/samples?until={since}").body) == [], since
    assert listed(opened.ask("/datasets/free/samples?since=2026-02-02T02:40:00.001").body) == []
    field = '<input type="datetime-local" step="any" name="since" value="2026-02-02T02:40">'
    assert field in opened.ask("/datasets/free/samples?since=1770000000000").body
    refused = opened.ask("/datasets/free/samples?since=yesterday")
    assert refused.status == 400
    assert "since is a time such as 2026-03-01T14:02 (UTC), or milliseconds since 1970" in refused.body


def test_filters_are_folded_until_one_is_set(opened: Dashboard) -> None:
    folded, opens = '<details id="more-filters" class="more">', '<details id="more-filters" class="more" open>'
    for query in ("", "?q=s1", "?per=7", "?state="):
        assert folded in opened.ask(f"/datasets/free/samples{query}").body, query
    for query in ("?state=done", "?since=2026-02-02", "?sort=newest", "?finish=stop&q=s1"):
        page = opened.ask(f"/datasets/free/samples{query}").body
        assert opens in page, query
        assert "More filters, 1 set" in page, query


def test_pages_of_a_list_follow_one_another(opened: Dashboard) -> None:
    seen, path = [], "/datasets/free/samples?per=3"
    for _ in range(9):
        page = opened.ask(path).body
        seen += listed(page)
        more = re.search(r'href="([^"]+)" id="next-page"', page)
        if more is None:
            break
        path = html.unescape(more[1])
    assert seen == [f"s{number}" for number in range(1, 9)]


def test_the_twin_of_a_list_goes_on_where_it_ended(opened: Dashboard) -> None:
    first = opened.ask("/api/v1/datasets/free/samples?limit=5").json["data"]
    second = opened.ask(f"/api/v1/datasets/free/samples?limit=5&after={first['after']}").json["data"]
    ids = [one["sample_id"] for one in (*first["samples"], *second["samples"])]
    assert ids == [f"s{number}" for number in range(1, 9)]
    assert second["after"] is None


def test_a_list_loads_no_body(opened: Dashboard) -> None:
    page = opened.ask("/datasets/free/samples").body
    assert "think 1" not in page
    assert "answer 1" in page


def test_a_sample_shows_three_columns_and_where_it_was_split(opened: Dashboard) -> None:
    page = opened.ask("/datasets/free/samples/s1").body
    assert re.search(r'id="pane-reasoning".*?<pre[^>]*>think 1</pre>', page, re.DOTALL)
    assert re.search(r'id="pane-content".*?<pre[^>]*>answer 1</pre>', page, re.DOTALL)
    assert "think 1<mark" in page
    assert "&lt;/think&gt;</mark>answer 1" in page
    assert "the parts joined equal the server&#39;s text, byte for byte" in page
    for fact in ("question 1", "kimi", "parser", "sha256", "split_from_content", "temperature"):
        assert fact in page, fact


def test_what_the_server_split_is_said_to_be_of_unknown_exactness(opened: Dashboard) -> None:
    page = opened.ask("/datasets/free/samples/s3").body
    assert "split by the server, exactness unknown" in page
    assert "<mark" not in page


def test_a_sample_without_an_answer_says_why(opened: Dashboard) -> None:
    failed = opened.ask("/datasets/free/samples/s5").body
    assert "no stored answer yet; the job is failed" in failed
    assert "the server said \\x1b[31mno" in failed
    assert "It has not been asked yet." in opened.ask("/datasets/free/samples/s8").body
    assert opened.ask("/datasets/free/samples/s9").status == 404
    assert "no reasoning was found" in opened.ask("/datasets/free/samples/s4").body


def test_the_twin_of_a_sample_holds_all_of_it(opened: Dashboard) -> None:
    data = opened.ask("/api/v1/datasets/free/samples/s1").json["data"]
    assert data["texts"]["reasoning"] == "think 1"
    assert data["texts"]["content"] == "answer 1"
    raw = opened.ask("/api/v1/datasets/free/samples/s1/attempts/1/raw")
    assert raw.body == data["texts"]["raw"]["text"]
    assert opened.ask("/api/v1/datasets/free/samples/s1/attempts/9/raw").status == 404
    assert opened.ask(f"/api/v1/datasets/free/samples/s1/attempts/{2**64}/raw").status == 404


def test_no_character_breaks_a_page(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("odd", 3)
            await at.answer_next("odd", chat(f"{ODD}</think>{ODD}", finish="stop\u202e"), LOST[Verdict.MISSING])

    anyio.run(make)
    with connection(tmp_path / "t.db") as store:
        store.execute("UPDATE worker SET name = ?", ("w\x1b[2J\u202e",))
    with dashboard(tmp_path, "--no-auth") as running:
        for path in ("/", "/datasets/odd", "/datasets/odd/samples", "/datasets/odd/samples/s1", "/workers", "/alerts"):
            answer = running.ask(path)
            assert answer.status == 200, path
            assert not re.search("[\x00\x1b\u202e\u2066\u2028\ufeff]", answer.body), path
        page = running.ask("/datasets/odd/samples/s1").body
        for shown in ("lone \\ud800", "esc \\x1b[31m", "bidi \\u202eevil", "\\x00nul"):
            assert shown in page, shown
        twin = running.ask("/api/v1/datasets/odd/samples/s1")
        assert twin.json["data"]["texts"]["reasoning"] == ODD
        part = running.ask("/datasets/odd/part?id=s1&part=reasoning")
        assert part.raw == ODD.encode("utf-8", "surrogatepass")


def test_a_tag_that_json_has_escaped_is_marked_all_the_same(tmp_path: Path) -> None:
    body = thought(1).replace(b"</think>", b"\\u003c\\/think>")

    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("escaped", 1)
            await at.answer_next("escaped", body)

    anyio.run(make)
    with dashboard(tmp_path, "--no-auth") as running:
        assert "\\u003c\\/think&gt;</mark>answer 1" in running.ask("/datasets/escaped/samples/s1").body


def test_a_mention_of_the_tag_within_the_thought_is_not_marked(tmp_path: Path) -> None:
    async def make() -> None:
        async with filled(tmp_path / "t.db") as at:
            await at.dataset("mention", 1)
            await at.answer_next("mention", chat("I write `</think>` here</think>answer"))

    anyio.run(make)
    with dashboard(tmp_path, "--no-auth") as running:
        page = running.ask("/datasets/mention/samples/s1").body
        assert page.count("<mark") == 1
        assert "here<mark" in page
