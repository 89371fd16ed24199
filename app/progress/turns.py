"""A conversation as its page shows it: turn by turn, what was said to the model and what it answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from app.leasing.conversations import Place, conversations_at
from app.leasing.histories import Sent, histories
from app.model.conversation import Conversation, Message, Said, prompts, without_reasoning
from app.model.ids import JobId, ResponseId
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn. Without an answer it is the one that is asked next."""

    turn: int
    asked: tuple[Message, ...]  # the messages since the answer before, as they were sent
    response: ResponseId | None = None
    reasoning: str | None = None
    content: str | None = None
    read_then: tuple[tuple[int, Message], ...] = ()  # answers before, as they were sent, that are read otherwise now
    as_known: bool = True  # False: it was asked after something that no reading of the answers before says


async def read_turns(reads: Reads, job: Any, responses: dict[int, ResponseId]) -> tuple[TurnView, ...]:
    """The turns of a job of several; none of a job of one. `responses` are the answers that it goes on from."""
    if job.turns == 1:
        return ()
    place = Place(JobId(job.id), job.messages, job.turns, job.turn)
    found = await conversations_at(reads, [place])
    sent = await histories(reads, [place], {place.job: job.tools})
    return tuple(_turns(found[place.job, place.turn], sent[place.job], responses))


def _turns(conversation: Conversation, sent: Sequence[Sent], responses: dict[int, ResponseId]) -> list[TurnView]:
    said = conversation.answers
    shown = []
    for turn, prompt in enumerate(prompts(conversation.script, said)):
        if turn == len(said):
            shown.append(TurnView(turn, _since_the_answer(prompt)))
            continue
        then = sent[turn]
        asked = _since_the_answer(prompt if then.messages is None else then.messages)
        words = (responses.get(turn), said[turn].reasoning, said[turn].content)
        shown.append(TurnView(turn, asked, *words, _read_otherwise(said, then), then.messages is not None))
    return shown


def _since_the_answer(prompt: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(reversed(list(takewhile(lambda message: message["role"] != "assistant", reversed(prompt)))))


def _read_otherwise(now: Sequence[Said], then: Sent) -> tuple[tuple[int, Message], ...]:
    """The answers before a turn that it was not asked after as they are read now."""
    differ = [turn for turn, said in enumerate(then.answers) if not said.goes_on_as(now[turn])]
    return tuple((turn, without_reasoning(then.answers[turn].message())) for turn in differ)
