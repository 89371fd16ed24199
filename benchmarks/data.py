"""The prompts and answers that are stored, asked and exported here: reproducible text of a given size."""

import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")

_WORDS = """
the a of to and in that is for it with as on be this by an or from at which one all would there what so their if
will each about how up out them then she many some these would other into has more her two like him see time
could no make than first been its who now people my made over did down only way find use may water long little
very after words called just where most know get through back much before go good new write our used me man too
any day same right look think also around another came come work three word must because does part even place
well such here take why things help put years different away again off went old number great tell men say small
every found still between name should home big give air line set own under read last never us left end along
while might next sound below saw something thought both few those always looked show large often together asked
house don't world going want school important until form food keep children feet land side without boy once
"""


def text(number: int, size: int) -> str:
    """About `size` characters of words, in an order of its own: zstd finds in it what it finds in prose."""
    return " ".join(random.Random(number).choices(_words(), k=size // 3))[:size]  # noqa: S311 - no secret


@cache
def _words() -> list[str]:
    """Some words much more often than others, as in any text."""
    return [word for place, word in enumerate(_WORDS.split()) for _ in range(1 + 200 // (place + 4))]


def messages(number: int, size: int = 2048) -> str:
    """A prompt as a sample has it."""
    return json.dumps([{"role": "user", "content": f"{number}: {text(number, size)}"}], separators=(",", ":"))


def body(number: int, size: int = 8192) -> bytes:
    """A chat completion of about `size` bytes, three quarters of them reasoning in front of a closing tag."""
    reasoning, content = text(number, size * 3 // 4), text(-number - 1, size // 4 - 300)
    message = {"role": "assistant", "content": f"{reasoning}</think>{content}", "reasoning_content": None}
    tokens = size // 4
    answer = {
        "id": f"answer-{number}", "object": "chat.completion", "created": 1_770_000_000, "model": "kimi-k2.5",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop", "matched_stop": 1}],
        "usage": {"prompt_tokens": 500, "completion_tokens": tokens, "total_tokens": 500 + tokens},
    }  # fmt: skip
    return json.dumps(answer, separators=(",", ":")).encode()


def batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
