"""A conversation that is answered turn by turn. Pure: its script and the answers so far in, what is asked next out.

A script is a prompt in which the model gives every answer itself. Where one belongs stands a *place*: an assistant
message without content. The file's tool calls stay in the place, since the results that follow it are theirs.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """An answer of the model, as its conversation goes on from it."""

    content: str
    reasoning: str | None = None
    calls: Sequence[Message] = ()  # tool calls, where the server sent them in a field
    called: Sequence[tuple[str, str]] = ()  # name and id of each call, wherever it stood

    def message(self) -> Message:
        """It as a message of the history."""
        said: Message = {"role": "assistant", "content": self.content}
        if self.reasoning:
            said["reasoning_content"] = self.reasoning
        if self.calls:
            said["tool_calls"] = list(self.calls)
        return said

    def goes_on_as(self, other: "Said") -> bool:
        """Whether the next turn is asked the same after either: finished turns lose their reasoning, see `as_sent`."""
        reasoning = self.reasoning == other.reasoning or not self.called
        return reasoning and replace(self, reasoning=None) == replace(other, reasoning=None)


def is_place(message: Message) -> bool:
    """Whether an answer of the model belongs here."""
    return message["role"] == "assistant" and "content" not in message


def words_of(messages: Sequence[Message]) -> str:
    """All that a prompt or a script says, as one text."""
    return "\n".join(message["content"] for message in messages if not is_place(message))


def next_prompt(script: Sequence[Message], answers: Sequence[Said]) -> list[Message] | None:
    """What is sent after these answers; None: the conversation is over.

    It is over after the script's last turn, and where the model calls a tool whose result the file does not have. A
    model that calls no tool where the file's did goes on with what the user says next.
    """
    sent = prompts(script, answers)
    return sent[len(answers)] if len(sent) > len(answers) else None


def prompts(script: Sequence[Message], answers: Sequence[Said]) -> list[list[Message]]:
    """What each of these answers is to, and what is sent after the last of them, where something is."""
    opening, exchanges = _parted(script)
    sent, left, answered_early = list(opening), deque(answers), False
    found: list[list[Message]] = []
    for place, after in exchanges:
        results = list(takewhile(lambda message: message["role"] == "tool", after))
        words = after[len(results) :]
        if not answered_early:
            found.append(list(sent))
            if not left:
                return found
            said = left.popleft()
            given = _given(said, place, results)
            if given is None and not left:
                return found
            sent += [said.message(), *([] if given is None else given)]
            answered_early = bool(results) and not said.called
        sent += words
        answered_early = answered_early and not words
    # An answer that was read anew may end a conversation before the turns that it went on to.
    missing = len(answers) - len(found)
    return found + [sent] * (missing if answered_early or missing > 0 else 1)


def as_sent(messages: Sequence[Message]) -> list[Message]:
    """The history as the model should see it: earlier reasoning only inside the running tool loop.

    Templates of thinking models drop the reasoning of finished turns; within a tool loop they need it.
    """
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    last_user = users[-1] if users else -1
    return [message if place > last_user else without_reasoning(message) for place, message in enumerate(messages)]


def without_reasoning(message: Message) -> Message:
    """The message with what was said alone."""
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _parted(script: Sequence[Message]) -> tuple[list[Message], list[tuple[Message, list[Message]]]]:
    """What stands before the first place, and each place with what follows it."""
    opening: list[Message] = []
    exchanges: list[tuple[Message, list[Message]]] = []
    for message in script:
        if is_place(message):
            exchanges.append((message, []))
        else:
            (exchanges[-1][1] if exchanges else opening).append(message)
    return opening, exchanges


def _given(said: Said, place: Message, results: Sequence[Message]) -> list[Message] | None:
    """The file's results for the model's calls, each for the first call of its name; None where one has none."""
    by_call = {result["tool_call_id"]: result for result in results}
    open_calls = [(call["function"]["name"], call["id"]) for call in place.get("tool_calls", ())]
    given = []
    for name, call_id in said.called:
        known = next((of_file for named, of_file in open_calls if named == name and of_file in by_call), None)
        if known is None:
            return None
        open_calls.remove((name, known))
        given.append({**by_call[known], "tool_call_id": call_id})
    return given


@dataclass(frozen=True, slots=True)
class Conversation:
    """A job of several turns: its script, and the answers that it has."""

    script: Sequence[Message]
    turns: int
    answers: Sequence[Said] = ()

    @property
    def turn(self) -> int:
        """The number of the turn that is asked next."""
        return len(self.answers)

    def prompt(self) -> list[Message] | None:
        """What is sent for that turn; None where the conversation is over."""
        return next_prompt(self.script, self.answers)

    def is_over_with(self, answer: Said) -> bool:
        """Whether this answer to the next turn is the last one."""
        return next_prompt(self.script, [*self.answers, answer]) is None
