"""The reference of the worker: a loop with the openai client that parses answers and appends them as JSON lines.

64 requests in flight, one file, fsync every 64 lines as ours commits. It keeps no raw bodies, has no leases, judges
nothing, and what it asked for when it is killed is lost. `python -m benchmarks.plain_loop URL PROMPTS OUT LIMIT`.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from openai import AsyncOpenAI

IN_FLIGHT = 64
SYNC_EVERY = 64


class Lines:
    """The file that answers are appended to."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._written = 0

    def append(self, record: dict[str, Any]) -> None:
        """One line; every 64th brings all of them to the disk."""
        self._out.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        self._written += 1
        if self._written % SYNC_EVERY == 0:
            self._out.flush()
            os.fsync(self._out.fileno())


async def ask(client: AsyncOpenAI, prompts: Iterator[dict[str, Any]], lines: Lines) -> None:
    """One of the 64: a prompt after the other."""
    for prompt in prompts:
        answer = await client.chat.completions.create(model="kimi-k2.5", messages=prompt["messages"])
        message = answer.choices[0].message
        lines.append(
            {
                "sample_id": prompt["sample_id"],
                "reasoning": getattr(message, "reasoning_content", None),
                "content": message.content,
                "finish_reason": answer.choices[0].finish_reason,
                "usage": None if answer.usage is None else answer.usage.model_dump(),
            }
        )


async def main(url: str, file: str, out: str, limit: str) -> None:
    """Every prompt, and an end."""
    with Path(file).open("rb") as source, Path(out).open("wb") as target:
        prompts = (json.loads(line) for line in islice(source, int(limit)))
        lines = Lines(target)
        async with AsyncOpenAI(base_url=url, api_key="none") as client:
            await asyncio.gather(*(ask(client, prompts, lines) for _ in range(IN_FLIGHT)))
        target.flush()
        os.fsync(target.fileno())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
