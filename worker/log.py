"""What the worker says while it runs: one line an event, as text or JSON, never with sample text or a secret."""

import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Log:
    """Lines on stderr."""

    json_lines: bool = False
    quiet: bool = False
    secrets: tuple[str, ...] = ()

    def info(self, event: str, **facts: str | float | None) -> None:
        """Something that happened as it should."""
        if not self.quiet:
            self._line("info", event, facts)

    def warning(self, event: str, **facts: str | float | None) -> None:
        """Something that a person may want to look at."""
        self._line("warning", event, facts)

    def _line(self, level: str, event: str, facts: dict[str, str | float | None]) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        if self.json_lines:
            line = json.dumps({"at": at, "level": level, "event": event, **facts}, ensure_ascii=False)
        else:
            line = " ".join([at, level, event, *(f"{name}={value}" for name, value in facts.items())])
        with suppress(OSError):  # the log may lie on the disk that is full, and a line is no reason to lose answers
            sys.stderr.write(self.scrub(line) + "\n")

    def scrub(self, text: str) -> str:
        """The text without the secrets that this process knows."""
        for secret in self.secrets:
            text = text.replace(secret, "[secret]")
        return text
