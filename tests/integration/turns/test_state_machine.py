"""Real conversations against a small model of them, through any order of answers, failures, deaths and retries."""

import shutil
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.leasing.settle import fail
from app.model.ids import WorkerId
from app.model.lease import Lease, Settle
from tests.integration.leasing.kit import open_room
from tests.integration.store.kit import DEEP, examples
from tests.integration.turns.kit import Talks, talks
from tests.integration.turns.model import Talk
from tests.support.filled import Clock

TURNS = (2, 3)
HOUR_MS = 3_600_000  # longer than any wait


@cache
def _template() -> Path:
    """A store with the conversations of every example, made once."""
    folder = Path(tempfile.mkdtemp(prefix="talks-"))

    async def fill() -> None:
        async with talks(folder, *TURNS):
            pass

    anyio.run(fill)
    return folder / "t.db"


class Conversations(RuleBasedStateMachine):
    """Each rule does one thing to the store and to the model, and both must say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="talks-")))
        shutil.copy(_template(), folder / "t.db")
        self.portal = self.stack.enter_context(start_blocking_portal())
        self.clock = Clock()
        room = self.stack.enter_context(self.portal.wrap_async_context_manager(open_room(folder / "t.db", self.clock)))
        self.store = Talks(room)
        self.talks = {number: Talk(number, turns) for number, turns in enumerate(TURNS, 1)}
        self.leases: list[Lease] = []
        self.words = 0

    def teardown(self) -> None:
        self.do(self.store.check)
        self.stack.close()

    def do(self, work: Any, *args: Any) -> Any:
        return self.portal.call(work, *args)

    @initialize()
    def first_worker(self) -> None:
        self.worker: WorkerId = self.do(self.store.room.worker)

    @rule()
    def claim(self) -> None:
        self.clock.ms += HOUR_MS
        taken = self.do(self.store.room.claim, self.worker)
        assert [(lease.job, lease.attempt) for lease in taken] == [
            (talk.number, talk.attempt) for talk in self.talks.values() if talk.claim(self.worker)
        ]
        self.leases += taken

    def _held(self) -> list[Lease]:
        return [lease for lease in self.leases if self.talks[lease.job].is_held(lease)]

    @precondition(lambda self: self._held())
    @rule(data=st.data(), holds=st.booleans(), goes_on=st.integers(1, max(TURNS)))
    def answer(self, data: st.DataObject, holds: bool, goes_on: int) -> None:
        """Answers to one turn, and to those after it as long as its holder keeps the conversation."""
        self._go_on(data.draw(st.sampled_from(self._held())), goes_on, holds=holds)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def answer_whoever_holds_it(self, data: st.DataObject) -> None:
        self._go_on(data.draw(st.sampled_from(self.leases)), 1, holds=True)

    def _go_on(self, lease: Lease, goes_on: int, *, holds: bool) -> None:
        talk = self.talks[lease.job]
        for _ in range(goes_on):
            turn = talk.turn
            if talk.is_held(lease):
                assert self.do(self.store.sent, lease) == talk.history()
            if turn == talk.turns or (lease.attempt, turn) in talk.answered:
                return
            self.words += 1
            said = f"answer {self.words}"
            expected = talk.answer(lease, said, holds=holds)
            assert self._answer(lease, turn, said, holds=holds) is expected

    def _newer(self) -> list[Lease]:
        """Leases of conversations whose latest turn an older attempt has answered."""
        return [lease for lease in self.leases if self.talks[lease.job].is_behind(lease)]

    @precondition(lambda self: self._newer())
    @rule(data=st.data())
    def answer_a_turn_that_has_one(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self._newer()))
        talk = self.talks[lease.job]
        talk.answered.add((lease.attempt, talk.turn - 1))
        assert self._answer(lease, talk.turn - 1, "late", holds=True) is False

    def _answer(self, lease: Lease, turn: int, said: str, *, holds: bool) -> bool:
        async def answer() -> bool:
            return await self.store.answer(lease, turn, said, holds=holds)

        return bool(self.do(answer))

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), settle_as=st.sampled_from(Settle))
    def fail(self, data: st.DataObject, settle_as: Settle) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        failure = self.store.room.failure(lease, settle_as, counted=False)
        expected = self.talks[lease.job].fail(lease, settle_as)
        assert self.do(self.store.room.store.write, fail, failure) == expected

    @rule()
    def die(self) -> None:
        dead, self.worker = self.worker, self.do(self.store.room.worker)
        expected = sum(talk.expire() for talk in self.talks.values() if talk.holder == dead)
        assert self.do(self.store.room.rescue, dead, self.worker).jobs == expected

    @rule(number=st.integers(1, len(TURNS)))
    def retry(self, number: int) -> None:
        """On a person's word, of a conversation that is alone in its state."""
        talk = self.talks[number]
        if talk.state in ("done", "failed") and sum(one.state == talk.state for one in self.talks.values()) == 1:
            self.do(self.store.retry, talk.state)
            talk.retry()

    @invariant()
    def the_store_is_what_the_model_says(self) -> None:
        for number, talk in self.talks.items():
            row = self.do(self.store.room.job, number)
            assert (row.state, row.turn, row.attempt) == (talk.state, talk.turn, talk.attempt)
            assert self.do(self.store.standing, number) == list(enumerate(talk.standing))


TestConversations = pytest.mark.timeout(0 if DEEP else 600)(Conversations.TestCase)
TestConversations.settings = settings(examples(15), stateful_step_count=25)
