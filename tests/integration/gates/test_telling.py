"""Each alarm is said once and sent once, with retries, and without a word of a sample."""

import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from anyio import from_thread

from app.gates import telling
from app.gates.alarms import Acknowledge, Alarm, acknowledge, raise_alarms
from app.gates.telling import FIRST_WAIT_MS, LEASE_MS, LONGEST_WAIT_MS, Herald, Listener, News, wait_ms
from app.gates.webhook import TOKEN, URL, Webhook, post, webhook_of
from app.model.errors import UsageError
from app.model.gates import AlarmKind
from app.model.ids import DatasetId
from app.progress.gathering import overview
from app.progress.wording import webhook as webhook_words
from app.store.transaction import Tx
from tests.integration.store.raw import connection, lock
from tests.support.filled import Filled, filled
from tests.support.receiver import PATH, Receiver, receiver

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chat() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@dataclass
class Heard:
    """What a process said."""

    alarms: list[News] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    failed: list[tuple[str, int]] = field(default_factory=list)

    @property
    def listener(self) -> Listener:
        return Listener(
            self.alarms.append,
            lambda news: self.sent.append(news.kind),
            lambda _, why, wait: self.failed.append((why, wait)),
            pytest.fail,
        )


def hook(url: str, **more: str) -> Webhook:
    found = webhook_of({URL: url, **more})
    assert found is not None
    return found


async def _raise(tx: Tx, alarms: Sequence[Alarm]) -> list[None]:
    await tx.seq()
    await raise_alarms(tx, alarms)
    return [None] * len(alarms)


async def raised(at: Filled, kind: AlarmKind = AlarmKind.LOST_ANY, **more: bool | str | int) -> None:
    facts = {"message": "1 of 20 answers came without usable reasoning.", "part": 1, "whole": 20} | more
    await at.store.write(_raise, Alarm(kind, dataset=DatasetId(1), **facts))  # type: ignore[arg-type]


async def test_an_alarm_is_sent_once_whoever_looks_and_how_often(tmp_path: Path, chat: Receiver) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        await raised(at)
        one, other = Heard(), Heard()
        heralds = [Herald(at.store, hook(chat.url, **{TOKEN: "hush"}), heard.listener) for heard in (one, other)]
        for herald in (*heralds, *heralds):
            await herald.look()
            at.clock.ms += LONGEST_WAIT_MS
    assert chat.kinds == ["lost_any"]
    assert chat.headers[0]["authorization"] == "Bearer hush"
    (body,) = chat.bodies
    assert body["text"] == "Thinkledger alarm lost_any d: 1 of 20 answers came without usable reasoning."
    assert body["alarm"] == {
        "kind": "lost_any", "dataset": "d", "endpoint": None, "holds": False, "since_ms": body["alarm"]["since_ms"],
        "part": 1, "whole": 20, "message": "1 of 20 answers came without usable reasoning.",
    }  # fmt: skip
    assert chat.headers[0]["idempotency-key"] == body["key"]
    assert (one.sent, other.sent) == (["lost_any"], [])
    assert [len(heard.alarms) for heard in (one, other)] == [1, 1]  # said once in the log of each


async def test_what_gets_worse_or_comes_again_is_news_and_newer_numbers_are_none(
    tmp_path: Path, chat: Receiver
) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        heard = Heard()
        herald = Herald(at.store, hook(chat.url), heard.listener)
        for more in ({}, {"part": 2}, {"holds": True}, {"holds": True, "part": 9}):
            await raised(at, AlarmKind.CAPTURE_LOW, **more)
            await herald.look()
            at.clock.ms += 1000
    assert [(body["alarm"]["holds"], body["alarm"]["part"]) for body in chat.bodies] == [(False, 1), (True, 1)]
    assert chat.bodies[1]["text"].startswith("Thinkledger HOLD capture_low d: ")
    assert len({body["key"] for body in chat.bodies}) == 2
    assert len(heard.alarms) == 2


async def test_what_a_person_has_seen_is_not_sent(tmp_path: Path, chat: Receiver) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        await raised(at)
        assert await at.store.write(acknowledge, Acknowledge(1, "test"))
        await Herald(at.store, hook(chat.url), Heard().listener).look()
    assert chat.bodies == []


async def test_a_refusal_is_shown_and_tried_again_later_and_later_until_it_is_taken(
    tmp_path: Path, chat: Receiver
) -> None:
    chat.status = 503
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        await raised(at)
        heard = Heard()
        herald = Herald(at.store, hook(chat.url), heard.listener)
        for wait in (5_000, 10_000, 20_000):
            await herald.look()
            at.clock.ms += wait - 1
            await herald.look()  # not yet
            at.clock.ms += 1
        assert heard.failed == [("HTTP status 503", 5_000), ("HTTP status 503", 10_000), ("HTTP status 503", 20_000)]
        untold = (await overview(at.store)).untold
        assert webhook_words(untold) == (
            "The webhook fails: 1 alarm could not be sent, tried 3 times in a row, the last time: HTTP status 503."
        )
        chat.status = 204
        await herald.look()
        assert (await overview(at.store)).untold == ()
        assert webhook_words(()) is None
    assert (len(chat.bodies), heard.sent) == (4, ["lost_any"])
    assert len({body["key"] for body in chat.bodies}) == 1


async def test_what_comes_anew_does_not_inherit_the_wait_of_what_was_before(tmp_path: Path, chat: Receiver) -> None:
    chat.status = 503
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        heard = Heard()
        herald = Herald(at.store, hook(chat.url), heard.listener)
        await raised(at, AlarmKind.CAPTURE_LOW)
        await herald.look()
        at.clock.ms += 1
        await raised(at, AlarmKind.CAPTURE_LOW, part=2)  # newer numbers are no news
        await herald.look()
        at.clock.ms += 1
        await raised(at, AlarmKind.CAPTURE_LOW, holds=True)
        assert (await overview(at.store)).untold == ()
        await herald.look()
    assert [body["alarm"]["holds"] for body in chat.bodies] == [False, True]
    assert heard.failed == [("HTTP status 503", 5_000), ("HTTP status 503", 5_000)]


@pytest.mark.parametrize("came", [None, "HTTP status 500"])
async def test_a_late_note_of_an_earlier_alarm_says_nothing_of_the_one_that_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, came: str | None
) -> None:
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        one, other = (Herald(at.store, hook("http://127.0.0.1:9/x"), Heard().listener) for _ in range(2))
        posted: list[bool] = []

        async def worse() -> None:
            at.clock.ms += 1000
            await raised(at, AlarmKind.CAPTURE_LOW, holds=True)
            await other.look()

        def slow(_webhook: Webhook, body: bytes, _key: str) -> str | None:
            posted.append(json.loads(body)["alarm"]["holds"])
            if len(posted) > 1:
                return None
            from_thread.run(worse)
            return came

        monkeypatch.setattr(telling, "post", slow)
        await raised(at, AlarmKind.CAPTURE_LOW)
        for herald in (one, other, one):
            await herald.look()
            at.clock.ms += LONGEST_WAIT_MS
        assert (await overview(at.store)).untold == ()
    assert posted == [False, True]


async def test_what_was_sent_is_noted_when_a_busy_store_is_free_again(
    tmp_path: Path, chat: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "LOOK_EVERY_S", 0.01)
    async with filled(tmp_path / "t.db", busy_timeout_ms=50) as at:
        await at.dataset("d", 1)
        await raised(at)
        with connection(tmp_path / "t.db") as foreign:
            trouble: list[str] = []

            def freed(why: str) -> None:
                trouble.append(why)
                foreign.execute("ROLLBACK")

            def busy(webhook: Webhook, body: bytes, key: str) -> str | None:
                lock(foreign)
                return post(webhook, body, key)

            monkeypatch.setattr(telling, "post", busy)
            herald = Herald(at.store, hook(chat.url), replace(Heard().listener, trouble=freed))
            await herald.look()
        at.clock.ms += 2 * LEASE_MS
        await herald.look()
    assert [why.startswith("The store is busy") for why in trouble] == [True]
    assert chat.kinds == ["lost_any"]


async def test_a_clock_that_was_set_back_keeps_nobody_waiting(tmp_path: Path, chat: Receiver) -> None:
    chat.status = 500
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        await raised(at)
        herald = Herald(at.store, hook(chat.url), Heard().listener)
        await herald.look()
        at.clock.ms -= 100 * LONGEST_WAIT_MS
        await herald.look()
    assert len(chat.bodies) == 2


async def test_an_address_that_nobody_listens_at_is_a_failure_without_the_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        await raised(at)
        heard = Heard()
        await Herald(at.store, hook(f"http://127.0.0.1:{port}{PATH}"), heard.listener).look()
    ((why, wait),) = heard.failed
    assert why == "ConnectionRefusedError: Connection refused"
    assert wait == FIRST_WAIT_MS


async def test_a_redirect_is_not_followed(chat: Receiver) -> None:
    chat.status = 307
    assert post(hook(chat.url), b"{}", "k") == "HTTP status 307"
    assert len(chat.headers) == 1


async def test_the_words_of_a_server_are_not_passed_on(tmp_path: Path, chat: Receiver) -> None:
    """They may repeat a prompt."""
    async with filled(tmp_path / "t.db") as at:
        await at.dataset("d", 1)
        heard = Heard()
        await raised(at, AlarmKind.ENDPOINT_DOWN, message="http://x is down: bad prompt 'my secret question'")
        await Herald(at.store, hook(chat.url), heard.listener).look()
    assert "secret question" not in json.dumps(chat.bodies) + repr(heard.alarms)
    assert chat.bodies[0]["alarm"]["message"] == "A server is down for 1 of 20 workers; the page of workers says why."


NO_ADDRESSES = (
    "ftp://x/y", "alerts.example/x", "https:///path", "https://u:p@x/", "http://x/a b", "http://x:y/", "http://\u00fc/",
    "http://a..b/x", f"http://{'a' * 64}.example/x",
)  # fmt: skip


@pytest.mark.parametrize("said", NO_ADDRESSES)
def test_what_is_no_address_is_refused_without_repeating_it(said: str) -> None:
    with pytest.raises(UsageError) as refused:
        webhook_of({URL: said})
    assert said not in str(refused.value)


@pytest.mark.parametrize("token", ["sec-ret\n", "sec-ret\r", "sec ret", "sec-ret\u00fc", " sec-ret", "\x7fsec-ret"])
def test_a_token_that_no_header_can_carry_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(UsageError, match=TOKEN) as refused:
        webhook_of({URL: "https://alerts.example/x", TOKEN: token})
    assert "sec" not in str(refused.value)


@pytest.mark.parametrize("odd", [{"token": "sec-ret\n"}, {"host": "a..b"}, {"host": "a" * 64}, {"token": "\u20ac"}])
def test_a_request_that_cannot_be_written_is_a_failure_that_repeats_nothing(odd: dict[str, str]) -> None:
    webhook = replace(hook("http://127.0.0.1:9/x"), **odd)  # type: ignore[arg-type]
    assert post(webhook, b"{}", "k") in ("ValueError", "UnicodeError", "UnicodeEncodeError")


def test_an_address_hides_its_path_and_no_address_is_no_webhook() -> None:
    found = hook("https://alerts.example/services/T000/B000?x=1", **{TOKEN: "hush-hush-hush"})
    assert (found.secure, found.host, found.port) == (True, "alerts.example", None)
    assert found.target == "/services/T000/B000?x=1"
    assert "T000" not in repr(found)
    assert "hush" not in repr(found)
    assert found.secrets == ("/services/T000/B000?x=1", "hush-hush-hush")
    assert webhook_of({}) is webhook_of({URL: ""}) is None


def test_waits_double_up_to_ten_minutes_and_a_lease_outlives_a_request() -> None:
    assert [wait_ms(tries) for tries in (1, 2, 3, 7, 8, 1000)] == [5_000, 10_000, 20_000, 320_000, 600_000, 600_000]
    assert LEASE_MS > 2 * 10_000
