"""Accepted answers as of a census, page by page: each page is a snapshot of its own, so no long one pins the WAL."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from app.export import statements
from app.export.body import tool_calls_of, usage_of
from app.export.census import Census
from app.export.conversations import whole
from app.export.template import Template
from app.export.values import Exported, Facts, Stored
from app.leasing.conversations import worst_of
from app.model.ids import ResponseId
from app.model.verdicts import Verdict
from app.store.batch import bind_rows
from app.store.codec import decode_text, unpack, unpack_ids
from app.store.store import Store

FIRST_PAGE = 200
LARGEST_PAGE = 400
ROOMY_BYTES = 16 * 2**20  # stored bytes of one page; above it the next page is half as long
Tokens = Mapping[int, tuple[bytes | None, bytes | None]]  # of prompt and answer, by the response


@dataclass(frozen=True, slots=True)
class Answered:
    """The accepted answer of one job; of a conversation its worst one, with the rows of all of them."""

    verdict: Verdict
    finish_reason: str | None
    rows: Sequence[Any]  # in the order of turns
    replicated: bool
    tokens: Tokens

    @property
    def sample_id(self) -> str:
        return str(self.rows[-1].sample_id)

    @property
    def replica(self) -> int:
        return int(self.rows[-1].replica)

    def exported(self, template: Template | None = None) -> Exported:
        """Its values for a line; only here the bodies are unpacked."""
        turns = [self._turn(row, template) for row in self.rows]
        return turns[0] if self.rows[0].turns == 1 else whole(turns)

    def _turn(self, row: Any, template: Template | None) -> Exported:
        (
            sample_id,
            replica,
            _,
            messages,
            tools,
            response,
            _,
            form,
            codec,
            raw,
            verdict,
            parser_version,
            text_form,
            reasoning,
            content,
            tool_calls,
            finish_reason,
            parts,
            *facts,
        ) = row  # fmt: skip - by place: to look each of them up by its name took a tenth of an export
        body = unpack(codec, raw)
        prompt, answer = self.tokens.get(response, (None, None))
        known = Facts._make(facts) if facts else None
        return Exported(
            sample_id=sample_id,
            messages=messages,
            tools=tools,
            reasoning=decode_text(text_form, reasoning),
            content=decode_text(text_form, content),
            finish_reason=finish_reason,
            usage=usage_of(response, form, body),
            tool_calls=None if tool_calls is None else tool_calls_of(form, body),
            replica=replica if self.replicated else None,
            stored=Stored(ResponseId(response), replica, verdict, parser_version, form, body, known),
            parts=None if parts is None else tuple(json.loads(parts)),
            tokens=(_ids(prompt), _ids(answer)),
            template=template,
        )


def _ids(packed: bytes | None) -> tuple[int, ...] | None:
    return None if packed is None else unpack_ids(packed)


@dataclass(frozen=True, slots=True)
class Page:
    """The answers of jobs that follow each other, up to and with the job at `until` in the order of import."""

    answers: list[Answered]
    until: int


@dataclass(frozen=True, slots=True)
class Columns:
    """What is read beside what every file needs."""

    facts: bool = True
    tokens: bool = False


async def answers(store: Store, census: Census, after: int = 0, columns: Columns = Columns()) -> AsyncIterator[Page]:
    """Every accepted answer as of the census whose job comes after `after`, in the order of import."""
    length = FIRST_PAGE
    while after < census.last_ordinal:
        until = min(after + length, census.last_ordinal)
        rows, tokens = await _page(store, census, after, until, columns)
        yield Page(_answered(rows, census, tokens), until)
        after, length = until, next_length(length, _stored_bytes(rows))


async def answers_between(
    store: Store, census: Census, after: int, until: int, columns: Columns = Columns()
) -> list[Answered]:
    """The accepted answers of the jobs in (after, until] of the order of import."""
    rows, tokens = await _page(store, census, after, until, columns)
    return _answered(rows, census, tokens)


async def _page(store: Store, census: Census, after: int, until: int, columns: Columns) -> tuple[Sequence[Any], Tokens]:
    params = {
        "dataset": census.dataset, "as_of_seq": census.seq, "highest_job": census.highest_job,
        "after": after, "until": until,
    }  # fmt: skip
    with_facts = columns.facts or census.conversations  # whose earlier turns must be those that were asked
    wanted = statements.answers_with_facts() if with_facts else statements.answers()
    async with store.snapshot() as reads:
        rows = await reads.rows(wanted, params)
        if not columns.tokens:
            return rows, {}
        of = {"responses": bind_rows([(row.id,) for row in rows]), "as_of_seq": census.seq}
        found = await reads.rows(statements.token_ids(), of)
    return rows, {row.response_id: (row.prompt, row.answer) for row in found}


def _stored_bytes(rows: Sequence[Any]) -> int:
    return sum(len(row.raw) + len(row.reasoning or "") + len(row.content or "") for row in rows)


def next_length(length: int, stored_bytes: int) -> int:
    """Shorter pages where bodies are long, so that memory does not grow with them."""
    if stored_bytes > ROOMY_BYTES:
        return max(1, length // 2)
    return min(LARGEST_PAGE, length * 2) if stored_bytes < ROOMY_BYTES // 4 else length


def _answered(rows: Sequence[Any], census: Census, tokens: Tokens) -> list[Answered]:
    """The answers of a page, one a job."""
    jobs = groupby(rows, key=lambda row: (row.sample_id, row.replica))
    return [_of_job(list(of_job), census, tokens) for _, of_job in jobs]


def _of_job(rows: Sequence[Any], census: Census, tokens: Tokens) -> Answered:
    worst = worst_of(rows)
    return Answered(Verdict(worst.verdict), worst.finish_reason, rows, census.replicated, tokens)
