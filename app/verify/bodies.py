"""Responses: their numbers, and for those that are chosen the very bytes and what the parser reads in them."""

import hashlib
from collections.abc import Iterator
from typing import Any

import zstandard

from app.capture import PARSER_VERSION, Reading
from app.model.ids import ResponseId
from app.responses.read import reading_row
from app.responses.rereading import read_anew
from app.responses.token_ids import other_token_ids
from app.store.codec import unpack
from app.verify.findings import REPARSE, RESTORE, Finding

WAIT = "start a worker, which reads it"
NOT_OF_THE_BODY = frozenset({"response_id", "seq", "parser_version"})


def check_response(row: Any, seq: int, parser_version: int, name: str) -> Iterator[Finding]:
    """What is wrong with the numbers of a response; `seq` and `parser_version` are those of the store."""
    for what, todo in _wrong(row, seq, parser_version):
        yield Finding(f"response {row.id} (attempt {row.attempt}): {what}", todo, name, row.sample_id)


def _wrong(row: Any, seq: int, parser_version: int) -> Iterator[tuple[str, str]]:
    if row.job_attempt is None:
        yield "its job is not there", RESTORE
    elif row.attempt > row.job_attempt:
        yield f"its job has only come to attempt {row.job_attempt}", RESTORE
    if (row.accepted_seq or 0) > seq or (row.superseded_seq or 0) > seq or (row.seq or 0) > seq:
        yield f"it was written in a transaction after the newest one ({seq:,})", RESTORE
    if row.superseded_seq is not None and row.superseded_seq < row.accepted_seq:
        yield "it was superseded before it was accepted", RESTORE
    if row.body is None:
        yield "its body is not there", RESTORE
    if row.seq is None and row.unread is None:
        yield "it has no reading, and waits for none", RESTORE
    if row.seq is not None and row.unread is not None:
        yield "it has a reading, and still waits for one", WAIT
    if row.seq is None and row.accepted_seq is not None:
        yield "it is accepted without a reading", RESTORE
    if (row.parser_version or 0) > parser_version:
        yield (
            f"parser {row.parser_version} wrote its reading, and {parser_version} is the newest known",
            RESTORE,
        )


def check_body(row: Any, name: str) -> Iterator[Finding]:
    """What is wrong with the bytes of a response and with its reading."""
    for what, todo in _wrong_body(row):
        yield Finding(f"response {row.id}: {what}", todo, name, row.sample_id)


def _wrong_body(row: Any) -> Iterator[tuple[str, str]]:
    try:
        body = unpack(row.codec, row.raw)
    except zstandard.ZstdError as error:
        yield f"its body cannot be unpacked ({error})", RESTORE
        return
    if len(body) != row.raw_bytes:
        yield f"its body has {len(body):,} bytes, and {row.raw_bytes:,} were recorded", RESTORE
    digest = hashlib.sha256(body).hexdigest()
    if digest != row.raw_sha256:
        yield f"its body hashes to {digest[:12]}, and {row.raw_sha256[:12]} was recorded", RESTORE
    elif row.seq is not None and row.parser_version == PARSER_VERSION:
        reading = read_anew(row)
        yield from _wrong_reading(row, reading)
        yield from _wrong_tokens(row, reading)


def _wrong_reading(row: Any, reading: Reading) -> Iterator[tuple[str, str]]:
    anew = reading_row(ResponseId(row.id), row.seq, reading)
    wrong = [key for key, value in anew.items() if key not in NOT_OF_THE_BODY and getattr(row, key) != value]
    if wrong:
        yield f"its reading does not come of its body: {', '.join(wrong)}", REPARSE


def _wrong_tokens(row: Any, reading: Reading) -> Iterator[tuple[str, str]]:
    for key in other_token_ids(row, reading):
        yield f"the token ids of its {key} do not come of its body", REPARSE
