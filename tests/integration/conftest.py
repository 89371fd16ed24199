"""The suites that run on both kinds of stores: what they say of a file holds for a database of a server too.

Named are those whose tests run SQL; what a command prints, and what is about files, is looked at on files alone.
"""

from collections.abc import Iterator

import pytest

from tests.support.kinds import KINDS, stores_on

ON_BOTH = frozenset({
    "leasing.test_claim", "leasing.test_epoch", "leasing.test_failures", "leasing.test_rescue", "leasing.test_retry",
    "leasing.test_settle",
    "test_reparse", "test_reparse_token_ids", "turns.test_healing", "turns.test_turns",
    "test_import", "test_import_known",
    "progress.test_lists", "progress.test_numbers_agree", "test_status",
    "test_export", "test_export_resume",
})  # fmt: skip


@pytest.fixture(autouse=True)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    found = getattr(request, "param", KINDS[0])
    with stores_on(found):
        yield found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    named = metafunc.module.__name__.removeprefix("tests.integration.") in ON_BOTH
    on_files = {"product", "folder"} & set(metafunc.fixturenames) or any(metafunc.definition.iter_markers("on_files"))
    if named and not on_files:
        metafunc.parametrize("kind", KINDS, indirect=True)
