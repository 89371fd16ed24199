"""What of a conversation a model sees again."""

from typing import Any


def to_send(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The history as the model should see it: earlier reasoning only inside the running tool loop.

    Templates of thinking models drop the reasoning of finished turns; within a tool loop they need it.
    """
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    last_user = users[-1] if users else -1
    return [
        message if place > last_user else {key: value for key, value in message.items() if key != "reasoning_content"}
        for place, message in enumerate(messages)
    ]
