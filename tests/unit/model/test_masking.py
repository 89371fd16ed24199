"""Messages that differ only in numbers, ids and hosts are one group."""

import pytest

from app.model.masking import LONGEST, masked


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the prompt has 8,193 tokens, 1 too many", "the prompt has 131073 tokens, 12 too many"),
        ("http://10.0.0.7:30000/v1/chat: refused", "https://gpu-3.lan/v1/chat: refused"),
        ("10.0.0.7:30000 did not answer", "192.168.1.20:8000 did not answer"),
        ("gpu1.lan:30000 reset the connection", "gpu17.lan:30001 reset the connection"),
        ("[::1]:30000 is down", "[fe80::1]:1234 is down"),
        ("request chatcmpl-0a1b2c3d4e5f was aborted", "request chatcmpl-ffee00112233 was aborted"),
        ("id 123e4567-e89b-12d3-a456-426614174000 unknown", "id 00000000-e89b-12d3-a456-426614174fff unknown"),
        ("line one\n  line two", "line one line two"),
    ],
)
def test_what_differs_only_in_numbers_ids_and_hosts_is_one_message(one: str, other: str) -> None:
    assert masked(one) == masked(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("context length exceeded", "rate limit exceeded"),
        ("the face was added", "the fade was added"),
        ("deadbeef", "cafe babe"),
    ],
)
def test_words_stay(one: str, other: str) -> None:
    assert masked(one) != masked(other)


def test_a_masked_message_is_short_and_says_what_it_hides() -> None:
    assert masked("HTTP 500 from 10.1.2.3:80 in 1.5 s") == "HTTP N from HOST in N s"
    assert len(masked("word " * 10_000)) == LONGEST
