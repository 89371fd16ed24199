"""No block of a document stands there untried: a test runs it, or the page says why none does."""

import json

import pytest
import yaml

from tests.acceptance.test_pages_as_typed import SCENES
from tests.support.documents import RUNBOOK, Block, blocks, documents

TYPED = {"console", "sh"}
READ = {"json": json.loads, "yaml": yaml.safe_load}
RUN = {
    "README.md": "tests/acceptance/test_stranger.py",
    "docs/how-to/run-as-a-service.md": "tests/acceptance/test_stranger.py",
    RUNBOOK: "tests/acceptance/test_runbook.py",
    "docs/reference/commands.md": "tests/unit/worker/test_examples.py",  # made from the code
    **dict.fromkeys(SCENES, "tests/acceptance/test_pages_as_typed.py"),
}


def untried(block: Block) -> bool:
    """Whether nobody would notice that it is wrong."""
    return block.reason is None and block.language not in READ and block.page not in RUN


def test_every_block_is_run_or_says_why_not() -> None:
    found = [block for page in documents() for block in blocks(page)]
    assert len(found) > 100
    assert [str(block) for block in found if untried(block)] == []


def test_a_page_that_is_run_has_something_to_run() -> None:
    for page in RUN:
        assert any(block.language in TYPED and block.reason is None for block in blocks(page)), page


@pytest.mark.parametrize("block", [b for page in documents() for b in blocks(page) if b.language in READ], ids=str)
def test_what_is_to_be_copied_into_a_file_can_be_read(block: Block) -> None:
    assert READ[block.language](block.text)


def test_the_rule_sees_an_untried_block() -> None:
    assert untried(Block("docs/new.md", 1, "console", "$ thinkledger\n"))
    assert not untried(Block("docs/new.md", 1, "console", "$ thinkledger\n", "it takes eight GPUs"))
