"""The model of leases against a store on PostgreSQL: the same rules, the same invariants, a database an example."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from tests.integration.leasing.model import MAX_ATTEMPTS
from tests.integration.leasing.test_state_machine import JOBS_EACH, RANKS, Leases
from tests.integration.store.kit import DEEP, examples
from tests.support.kinds import stores_on


class LeasesOnAServer(Leases):
    """Each store is a database of its own."""

    def __init__(self) -> None:
        self.on_server = ExitStack()
        self.on_server.enter_context(stores_on("postgresql"))
        self.filled = False
        super().__init__()

    def lay(self, path: Path) -> None:
        """A database is made when it is opened."""

    def _open(self) -> None:
        super()._open()
        if not self.filled:
            self.filled = True
            for number, rank in enumerate(RANKS):
                self.do(self.room.dataset, f"d{number}", JOBS_EACH, rank, MAX_ATTEMPTS)

    def teardown(self) -> None:
        super().teardown()
        self.on_server.close()


TestLeasesOnAServer = pytest.mark.timeout(0 if DEEP else 600)(LeasesOnAServer.TestCase)
TestLeasesOnAServer.settings = settings(examples(4), stateful_step_count=30)
