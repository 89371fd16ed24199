"""A conversation as its page shows it: turn by turn, what was said to the model and what it answered."""

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from app.leasing.conversations import Place, conversations_at
from app.model.conversation import Conversation, Message, prompts
from app.model.ids import JobId, ResponseId
from app.store.transaction import Reads


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn. Without an answer it is the one that is asked next."""

    turn: int
    asked: tuple[Message, ...]  # the messages since the answer before
    response: ResponseId | None = None
    reasoning: str | None = None
    content: str | None = None


async def read_turns(reads: Reads, job: Any, responses: dict[int, ResponseId]) -> tuple[TurnView, ...]:
    """The turns of a job of several; none of a job of one. `responses` are the answers that it goes on from."""
    if job.turns == 1:
        return ()
    place = Place(JobId(job.id), job.messages, job.turns, job.turn)
    found = await conversations_at(reads, [place])
    return tuple(_turns(found[place.job, place.turn], responses))


def _turns(conversation: Conversation, responses: dict[int, ResponseId]) -> list[TurnView]:
    said = conversation.answers
    shown = []
    for turn, sent in enumerate(prompts(conversation.script, said)):
        asked = tuple(reversed(list(takewhile(lambda message: message["role"] != "assistant", reversed(sent)))))
        if turn == len(said):
            shown.append(TurnView(turn, asked))
        else:
            shown.append(TurnView(turn, asked, responses.get(turn), said[turn].reasoning, said[turn].content))
    return shown
