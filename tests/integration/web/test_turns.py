"""A conversation on its page, turn by turn, and the same as JSON and in `status`."""

import re
from collections.abc import Iterator

import anyio
import pytest

from tests.integration.turns.kit import talks
from tests.support.dashboard import Dashboard, dashboard


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """c0: two of three turns answered; c1: both of two."""
    folder = tmp_path_factory.mktemp("turns")

    async def make() -> None:
        async with talks(folder, 3, 2) as store:
            first, second = await store.room.claim(await store.room.worker())
            for turn, words in enumerate(("own <a>", "own b")):
                assert await store.answer(first, turn, words)
                assert await store.answer(second, turn, words)

    anyio.run(make)
    with dashboard(folder, "--no-auth") as running:
        yield running


def test_a_page_shows_each_turn_with_what_was_said_and_answered(opened: Dashboard) -> None:
    page = opened.ask("/datasets/talks/samples/c0").body
    said = re.findall(r'aria-label="(?:user message of|answer of) (Turn \d)">([^<]*)</pre>', page)
    assert said == [
        ("Turn 0", "human 0"), ("Turn 0", "own &lt;a&gt;"), ("Turn 1", "human 1"), ("Turn 1", "own b"),
        ("Turn 2", "human 2"),
    ]  # fmt: skip
    assert "not answered yet; the job is leased" in page
    assert re.search(r"turns</span> 2 of 3 answered", page)
    assert 'id="prompt"' not in page


def test_a_turn_leads_to_its_answer_in_the_panes(opened: Dashboard) -> None:
    page = opened.ask("/datasets/talks/samples/c1?turn=0").body
    assert re.search(r'id="pane-reasoning".*?<pre[^>]*>thought of own &lt;a&gt;</pre>', page, re.DOTALL)
    assert re.search(r'id="turn-0" class="here"', page)
    newest = opened.ask("/datasets/talks/samples/c1").body
    assert re.search(r'id="pane-content".*?<pre[^>]*>own b</pre>', newest, re.DOTALL)
    assert opened.ask("/datasets/talks/part?id=c1&turn=0&part=content").body == "own <a>"
    assert opened.ask("/datasets/talks/samples/c1?turn=7").status == 404


def test_the_twin_has_the_turns(opened: Dashboard) -> None:
    data = opened.ask("/api/v1/datasets/talks/samples/c0").json["data"]
    assert [(one["turn"], one["content"]) for one in data["turns"]] == [(0, "own <a>"), (1, "own b"), (2, None)]
    assert data["turns"][1]["asked"] == [{"role": "user", "content": "human 1"}]
    assert (data["turns_asked"], data["shown_turn"]) == (3, 1)
    assert [one["standing"] for one in data["answers"]] == ["taken", "taken"]
    done = opened.ask("/api/v1/datasets/talks/samples/c1?turn=0").json["data"]
    assert done["texts"]["content"] == "own <a>"


def test_pages_count_turns_beside_jobs(opened: Dashboard) -> None:
    words = "conversations: 4/5 turns answered, 80.0 %"
    assert words in opened.ask("/").body
    assert words in opened.ask("/datasets/talks").body
    (dataset,) = opened.ask("/api/v1/overview").json["data"]["datasets"]
    assert dataset["turns"] == {"part": 4, "whole": 5, "percent": "80.0 %"}
    assert dataset["progress"]["part"] == 1
