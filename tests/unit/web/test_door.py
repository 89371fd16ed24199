"""Who is let in, without a server: secrets are compared in constant time, and wrong ones close the door a minute."""

import secrets

import pytest

from app.web.door import FAILURES_A_MINUTE, MINUTE_MS, Door, Knock, same
from tests.support.filled import Clock

TOKEN = "t" * 64


def door(clock: Clock) -> Door:
    return Door(TOKEN, "cookie", clock.now_ms)


def test_a_secret_is_compared_by_digests_of_one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison that ends at the first wrong letter, or at another length, tells a guesser how far he is."""
    seen: list[tuple[bytes, bytes]] = []
    compare = secrets.compare_digest

    def watched(one: bytes, other: bytes) -> bool:
        seen.append((one, other))
        return bool(compare(one, other))

    monkeypatch.setattr(secrets, "compare_digest", watched)
    made = door(Clock())
    session = made.session()
    tries = [made.knock(word) for word in ("", TOKEN[:-1], "\udc80", TOKEN)]
    admitted = [
        made.admits(f"cookie={session}x", None),
        made.admits(None, "Bearer x"),
        made.admits(f"cookie={session}", ""),
    ]
    assert tries == [Knock.WRONG, Knock.WRONG, Knock.WRONG, Knock.OPEN]
    assert admitted == [False, False, True]
    assert len(seen) >= 7
    assert {len(digest) for pair in seen for digest in pair} == {32}
    assert same("a", "a")
    assert not same("a", "A")


def test_after_five_failures_nobody_is_let_in_until_a_minute_has_passed() -> None:
    clock = Clock()
    made = door(clock)
    for _ in range(FAILURES_A_MINUTE):
        assert made.knock("wrong") is Knock.WRONG
        clock.ms += 1000
    assert made.knock(TOKEN) is Knock.TOO_OFTEN
    clock.ms += MINUTE_MS - 5000 - 1
    assert made.knock(TOKEN) is Knock.TOO_OFTEN
    clock.ms += 1
    assert made.knock(TOKEN) is Knock.OPEN


def test_a_session_ends_with_its_time_and_with_another_token() -> None:
    clock = Clock()
    made = door(clock)
    session = made.session()
    assert made.admits(f"cookie={session}", None)
    assert not Door(TOKEN[::-1] + "x", "cookie", clock.now_ms).admits(f"cookie={session}", None)
    assert not made.admits(f"other={session}", None)
    clock.ms = int(session.partition(".")[0])
    assert not made.admits(f"cookie={session}", None)
