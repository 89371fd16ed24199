"""The messages of a conversation as a script: each answer gives way to a place, for the model to fill."""

from app.intake.strict_json import Json
from app.model.conversation import is_place


def as_script(messages: list[Json]) -> list[Json]:
    """The script. Of answers in a row only the last leaves a place: the model answers once."""
    script: list[Json] = []
    open_place = False
    for message in messages:
        assert isinstance(message, dict)
        answer = message["role"] == "assistant"
        if answer and open_place:
            script.pop()
        script.append({key: message[key] for key in ("role", "tool_calls") if key in message} if answer else message)
        open_place = answer
    return script


def turns_in(messages: list[Json]) -> int:
    """How many answers a prompt asks for."""
    return 1 + sum(isinstance(message, dict) and is_place(message) for message in messages)
