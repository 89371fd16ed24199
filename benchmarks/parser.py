"""What the parser takes for a body of a megabyte: ordinary ones in MB/s, hostile ones as a multiple of them."""

import json
import statistics
import time

from app.capture import Asked, read_body

BYTES = 1_000_000
TURNS = 7


def measure() -> None:
    """Print a line a body."""
    plain, hostile = seconds()
    print(f"ordinary answer              {BYTES / plain / 1e6:8.1f} MB/s")
    for name, taken in hostile.items():
        print(f"{name:28} {taken / plain:8.1f} times an ordinary one")


def seconds() -> tuple[float, dict[str, float]]:
    """CPU seconds of an ordinary body, and of each hostile one."""
    bodies = {name: text if isinstance(text, bytes) else _body(text) for name, text in _hostile().items()}
    return _seconds(_body(_ordinary())), {name: _seconds(body) for name, body in bodies.items()}


def _seconds(body: bytes) -> float:
    """CPU seconds for one reading, the median of some."""
    taken = []
    for _ in range(TURNS):
        begun = time.process_time()
        read_body(200, body, Asked())
        taken.append(time.process_time() - begun)
    return statistics.median(taken)


def _body(content: str) -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}, ensure_ascii=False).encode()


def _ordinary() -> str:
    line = "So the sum of `a` and `b` is what we want, and the loop ends when it is found.\n"
    return _fill(line)[: BYTES // 2] + "</think>" + _fill(line)[: BYTES // 2]


def _fill(piece: str) -> str:
    return piece * (BYTES // len(piece) + 1)


def _hostile() -> dict[str, str | bytes]:
    return {
        "deep nesting": b'{"choices":' + b"[" * BYTES,
        "100,000 back-ticks": "`" * 100_000 + _fill("x ")[: BYTES - 100_000] + "</think>x",
        "back-ticks apart": _fill("` ") + "</think>x",
        "100,000 open tags": "<think>" * 100_000 + _fill("x ")[: BYTES - 700_000] + "</think>x",
        "close tags in blocks": _fill("\n```\n</think>\n```\n"),
        "fences without an end": "".join(f"\n{'`' * n}\n" for n in range(16, 3, -1)) + _fill("\n```\n</think>\n```\n"),
    }
