"""Alarms leave the store: each is said once in the log of every process, and sent once by one of them.

An alarm that begins to hold, or comes again after it was over, is another one. What is over, or was acknowledged,
before it could be sent is not sent any more. Two messages come of one alarm where a process dies, or the store takes
nothing for a minute, between sending and noting it, and where a webhook answers only after `no answer in time` was
noted: a thread that waits for it is given up, not ended. They carry the same key.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio import to_thread

from app.gates import statements_telling as statements
from app.gates.webhook import TIMEOUT_S, Webhook, post
from app.model.errors import ResourceExhausted, Unavailable
from app.model.gates import AlarmKind
from app.store.store import Store
from app.store.transaction import Tx

LOOK_EVERY_S = 2.0
LEASE_MS = 60_000  # how long one process may take to send
FIRST_WAIT_MS, LONGEST_WAIT_MS = 5_000, 600_000


@dataclass(frozen=True, slots=True)
class News:
    """An alarm as it is told: no words of a server, which may repeat a prompt."""

    id: int
    kind: str
    dataset: str | None
    endpoint: str | None
    holds: bool
    since_ms: int
    part: int | None
    whole: int | None
    message: str


def wait_ms(tries: int) -> int:
    """How long to wait after so many failures in a row: 5 s, 10 s, 20 s ... 10 min."""
    return int(min(FIRST_WAIT_MS * 2 ** min(tries - 1, 20), LONGEST_WAIT_MS))


def news_of(row: Any) -> News:
    """The alarm of a row."""
    return News(
        row.id, row.kind, row.dataset, row.base_url, bool(row.holds), row.since_ms, row.part, row.whole, _message(row)
    )


def _message(row: Any) -> str:
    if row.kind != AlarmKind.ENDPOINT_DOWN:
        return str(row.message)
    return f"{row.base_url or 'A server'} is down for {row.part} of {row.whole} workers; the page of workers says why."


def payload(store_id: str, news: News) -> tuple[bytes, str]:
    """What is sent, and its key. `text` is what chat servers show."""
    key = f"{store_id}-{news.id}-{news.since_ms}"
    about = news.dataset or news.endpoint
    head = f"Thinkledger {'HOLD' if news.holds else 'alarm'} {news.kind}{f' {about}' if about else ''}"
    alarm = {
        "kind": news.kind, "dataset": news.dataset, "endpoint": news.endpoint, "holds": news.holds,
        "since_ms": news.since_ms, "part": news.part, "whole": news.whole, "message": news.message,
    }  # fmt: skip
    return json.dumps({"text": f"{head}: {news.message}", "schema": 1, "key": key, "alarm": alarm}).encode(), key


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears of it in this process."""

    alarm: Callable[[News], None]
    sent: Callable[[News], None]
    failed: Callable[[News, str, int], None]  # why, and for how many milliseconds it is left alone
    trouble: Callable[[str], None]


@dataclass(slots=True)
class Herald:
    """Remembers what this process has said."""

    store: Store
    webhook: Webhook | None
    listener: Listener
    _said: set[tuple[int, int]] = field(default_factory=set)
    _looking: anyio.Lock = field(default_factory=anyio.Lock)

    async def run(self) -> None:
        """Look every other second until cancelled. A store that is busy is looked at later."""
        while True:
            try:
                await self.look()
            except (Unavailable, ResourceExhausted) as error:
                self.listener.trouble(str(error))
            await anyio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Say what is new, send what is due. Nothing is written where there is nothing to send."""
        async with self._looking:  # a last look waits for the one that is sending
            await self._look()

    async def _look(self) -> None:
        async with self.store.snapshot() as reads:
            rows = await reads.rows(statements.open_alarms())
        for row in rows:
            if (row.id, row.since_ms) not in self._said:
                self.listener.alarm(news_of(row))
        self._said = {(row.id, row.since_ms) for row in rows}
        if self.webhook is not None:
            for row in rows:
                if row.told_since_ms != row.since_ms and _is_due(row.tell_due_ms, self.store.now_ms()):
                    await self._send(self.webhook, news_of(row))

    async def _send(self, webhook: Webhook, news: News) -> None:
        end_s = anyio.current_time() + LEASE_MS / 1000
        tries = await self.store.write(_take, _Taking(news.id, news.since_ms))
        if tries is None:
            return
        body, key = payload(self.store.store_id, news)
        error: str | None = "no answer in time"
        with anyio.move_on_after(2 * TIMEOUT_S):
            error = await to_thread.run_sync(post, webhook, body, key, abandon_on_cancel=True)
        await self._write_down(_Came(news.id, news.since_ms, error, wait_ms(tries + 1)), end_s)
        if error is None:
            self.listener.sent(news)
        else:
            self.listener.failed(news, error, wait_ms(tries + 1))

    async def _write_down(self, came: "_Came", end_s: float) -> None:
        """Note what came of it. What was sent and not noted is sent again, so a busy store is asked until then."""
        while True:
            try:
                return await self.store.write(_note, came)
            except (Unavailable, ResourceExhausted) as error:
                if anyio.current_time() + LOOK_EVERY_S >= end_s:
                    raise
                self.listener.trouble(str(error))
            await anyio.sleep(LOOK_EVERY_S)


def _is_due(due_ms: int | None, now_ms: int) -> bool:
    return due_ms is None or due_ms <= now_ms or due_ms > now_ms + LONGEST_WAIT_MS


@dataclass(frozen=True, slots=True)
class _Taking:
    alarm: int
    since_ms: int


@dataclass(frozen=True, slots=True)
class _Came:
    alarm: int
    since_ms: int
    error: str | None
    wait_ms: int


async def _take(tx: Tx, several: Sequence[_Taking]) -> list[int | None]:
    """How often each was tried before; None where another process has it."""
    found = []
    for one in several:
        until = {"now_ms": tx.now_ms, "until": tx.now_ms + LEASE_MS, "far": tx.now_ms + LONGEST_WAIT_MS}
        rows = await tx.rows(statements.take(), {"alarm": one.alarm, "since": one.since_ms, **until})
        if rows:
            await tx.seq()
        found.append(int(rows[0].tell_tries) if rows else None)
    return found


async def _note(tx: Tx, several: Sequence[_Came]) -> list[None]:
    for one in several:
        about = {"alarm": one.alarm, "since": one.since_ms}
        if one.error is None:
            changed = await tx.run(statements.told(), about)
        else:
            again = about | {"until": tx.now_ms + one.wait_ms, "error": one.error}
            changed = await tx.run(statements.not_told(), again)
        if changed:
            await tx.seq()
    return [None] * len(several)
