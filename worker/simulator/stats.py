"""What the simulator saw and sent, as the truth that tests compare with."""

from collections import Counter
from typing import cast

import msgspec

Object = dict[str, object]


class Stats:
    """Counters since the start or the last reset."""

    def __init__(self) -> None:
        self.connections = 0
        self.open = 0
        self.reset()

    def reset(self) -> None:
        """Forget all counts; what is open stays open."""
        self.requests = 0
        self.answers = 0
        self.aborted = 0
        self.cut = 0
        self.max_open = self.open
        self.connections = 0
        self.by_status: Counter[int] = Counter()
        self.by_persona: Counter[str] = Counter()
        self.requested: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.last_body = b""

    def opened(self) -> None:
        """A chat request came."""
        self.requests += 1
        self.open += 1
        self.max_open = max(self.max_open, self.open)

    def closed(self) -> None:
        """A chat request is over, however it ended."""
        self.open -= 1

    def asked(self, key: str, persona: str, body: bytes) -> None:
        """A chat request was understood."""
        self.requested[key] += 1
        self.by_persona[persona] += 1
        self.last_body = body

    def sent(self, status: int) -> None:
        """A whole HTTP body was sent."""
        self.by_status[status] += 1

    def answer(self, key: str) -> None:
        """The whole body was a completion with an end."""
        self.answers += 1
        self.answered[key] += 1

    def as_object(self, with_prompts: bool) -> Object:
        """All counters, for JSON; prompts one by one only on request, for they may be many."""
        counts: Object = {
            "requests": self.requests,
            "answers": self.answers,
            "bodies": self.by_status.total(),
            "by_status": {str(status): number for status, number in sorted(self.by_status.items())},
            "by_persona": dict(self.by_persona),
            "aborted": self.aborted,
            "cut": self.cut,
            "open": self.open,
            "max_open": self.max_open,
            "connections": self.connections,
            "prompts": len(self.requested),
            "requests_a_prompt": _histogram(self.requested),
            "answers_a_prompt": _histogram(self.answered),
            "last_request": self._last_request(),
        }
        if with_prompts:
            counts["by_prompt"] = {
                key: {"requests": number, "answers": self.answered[key]} for key, number in self.requested.items()
            }
        return counts

    def _last_request(self) -> Object | None:
        """The parameters of the last chat request; messages are left out."""
        if not self.last_body:
            return None
        request = cast("Object", msgspec.json.decode(self.last_body))
        return {name: value for name, value in request.items() if name != "messages"}


def _histogram(counts: Counter[str]) -> dict[str, int]:
    """How many prompts have each count."""
    return {str(number): prompts for number, prompts in sorted(Counter(counts.values()).items())}
