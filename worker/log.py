"""What a long command says while it runs: one line an event, as text or JSON, never with sample text or a secret."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from app.gates.telling import Listener, News
from app.progress.display import one_line

Fact = str | float | None


def to_stderr(line: str) -> None:
    """The usual place."""
    sys.stderr.write(line)


@dataclass(frozen=True, slots=True)
class Log:
    """Lines on stderr, or in a file (worker.log_file)."""

    json_lines: bool = False
    quiet: bool = False
    secrets: tuple[str, ...] = ()
    write: Callable[[str], None] = to_stderr

    def info(self, event: str, **facts: Fact) -> None:
        """Something that happened as it should."""
        if not self.quiet:
            self._line("info", event, facts)

    def warning(self, event: str, **facts: Fact) -> None:
        """Something that a person may want to look at."""
        self._line("warning", event, facts)

    def _line(self, level: str, event: str, facts: dict[str, Fact]) -> None:
        at, event = time.strftime("%Y-%m-%dT%H:%M:%S%z"), self.scrub(event)
        # Before anything is escaped: a secret with a quote or a line end in it would not be found any more.
        said = {name: self.scrub(fact) if isinstance(fact, str) else fact for name, fact in facts.items()}
        if self.json_lines:
            line = json.dumps({"at": at, "level": level, "event": event, **said})
        else:
            line = one_line(" ".join([at, level, event, *(f"{name}={value}" for name, value in said.items())]))
        self._put(line + "\n")

    def _put(self, line: str) -> None:
        """Where a log belongs, else on stderr: the disk may be full, and a line is no reason to lose answers."""
        try:
            self.write(line)
        except OSError:
            if self.write is not to_stderr:
                with suppress(OSError):
                    to_stderr(line)

    def scrub(self, text: str) -> str:
        """The text without the secrets that this process knows."""
        for secret in self.secrets:
            text = text.replace(secret, "[secret]")
        return text

    def listener(self) -> Listener:
        """Alarms and what comes of sending them, as lines."""
        return Listener(self._alarm, self._sent, self._failed, lambda why: self.warning("alarms_not_told", reason=why))

    def _alarm(self, news: News) -> None:
        self.warning(
            "alarm", kind=news.kind, dataset=news.dataset, endpoint=news.endpoint, holds=news.holds, part=news.part,
            whole=news.whole, says=news.message,
        )  # fmt: skip

    def _sent(self, news: News) -> None:
        self.info("alarm_sent", kind=news.kind, dataset=news.dataset, endpoint=news.endpoint)

    def _failed(self, news: News, why: str, wait_ms: int) -> None:
        self.warning("webhook_failed", kind=news.kind, dataset=news.dataset, reason=why, again_in_s=wait_ms / 1000)


class Records(logging.Handler):
    """What libraries and the dashboard log in Python's way, as lines of ours; a traceback is one fact of its line."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, Fact] = {"says": record.getMessage()}
        if record.exc_info is not None and record.exc_info[1] is not None:
            facts["error"] = "".join(traceback.format_exception(record.exc_info[1]))
        self._log.warning(getattr(record, "event", record.name), **facts)
