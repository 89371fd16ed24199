"""The suites that run on both kinds of stores: what they say of a file holds for a database of a server too.

Named are those whose tests run SQL; what a command prints, and what is about files, is looked at on files alone. Others
do it themselves, where a store is made once for many tests: `progress.test_metrics`, `progress.test_worker_list`,
`store.test_triggers`, and `leasing.test_state_machine` by way of `postgres.test_leases`.
"""

from collections.abc import Iterator

import pytest

from tests.support import kinds
from tests.support.kinds import KINDS, stores_on

ON_BOTH = frozenset({
    "leasing.test_claim", "leasing.test_epoch", "leasing.test_failures", "leasing.test_rescue", "leasing.test_retry",
    "leasing.test_settle",
    "store.test_writer", "store.test_writer_trouble",
    "test_reparse", "test_reparse_token_ids", "turns.test_healing", "turns.test_turns",
    "test_import", "test_import_known",
    "progress.test_checking", "progress.test_lists", "progress.test_numbers_agree", "test_status",
    "test_export", "test_export_resume", "test_export_foreseen", "test_export_refusals", "test_export_shards",
    "gates.test_evaluating", "gates.test_feeder", "gates.test_health", "gates.test_showing", "gates.test_soundness",
    "gates.test_telling", "gates.test_watching",
    "turns.test_archives", "turns.test_doubtful_commits", "turns.test_exports", "turns.test_history",
    "turns.test_losses", "turns.test_samples", "turns.test_spool_and_reparse", "turns.test_state_machine",
    "turns.test_what_was_sent", "turns.test_which_turns",
})  # fmt: skip


COMMANDS_ON_BOTH = frozenset({  # in them the commands that tests type with the fixture `product` are on both too
    "test_delete_and_cancel", "test_import_results", "test_import_specforge", "test_export_training",
    "turns.test_samples", "turns.test_training_rows", "turns.test_what_was_sent",
    "keeping.test_verify", "test_round_trip",
})  # fmt: skip


@pytest.fixture(autouse=True)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    of_module = kinds.kind() if "folder" in request.fixturenames else KINDS[0]  # whose folder may be of either kind
    found = getattr(request, "param", of_module)
    with stores_on(found):
        yield found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    name = metafunc.module.__name__.removeprefix("tests.integration.")
    of_files = {"folder"} if name in COMMANDS_ON_BOTH else {"product", "folder"}
    on_files = of_files & set(metafunc.fixturenames) or any(metafunc.definition.iter_markers("on_files"))
    if name in ON_BOTH | COMMANDS_ON_BOTH and not on_files:
        metafunc.parametrize("kind", KINDS, indirect=True)
