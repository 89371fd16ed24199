"""What must hold after every scenario, read from the store in one snapshot (section 'What is promised' of the page).

Nothing here looks at logs or at what a process claims of itself: the store, the simulator's own counts and the journal
of acknowledged bodies are the three witnesses.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from sqlalchemy import text

from app.capture import Asked, Form, read_body
from app.model.ids import ResponseId
from app.responses.read import reading_row
from app.responses.rereading import COMPARED
from app.responses.unread import prompt_text
from app.store.codec import decode_text, unpack
from app.store.store import open_store
from app.store.transaction import Reads
from worker.simulator.answers import Answer, answer_of, key_of

PAGE = 500
Truth = Callable[[str], Answer]


@dataclass(frozen=True, slots=True)
class Witness:
    """What the store is compared with."""

    asked: Mapping[str, list[str]]  # the prompts of each dataset, in the order of import; a conversation as a text
    requests: Mapping[str, int] = field(default_factory=dict)  # of the simulator, by the key of the prompt
    answers: Mapping[str, int] = field(default_factory=dict)  # whole completions that it sent
    journal: Path | None = None
    spooled: int = 0  # answers that lie in a spool file
    excused: int = 0  # requests that were in flight when somebody was killed or released
    may_fail: frozenset[str] = frozenset()  # prompts that must end as failed; every other one must be done
    unfinished: bool = False  # the run was cut off on purpose: jobs that are still open are no loss
    talks: frozenset[str] = frozenset()  # those of the prompts that are conversations
    truth: Truth = answer_of

    @property
    def keys(self) -> set[str]:
        """The prompts as the simulator counts them."""
        return {key_of(turn) for prompts in self.asked.values() for prompt in prompts for turn in self.turns_of(prompt)}

    def turns_of(self, prompt: str) -> list[str]:
        """What is asked one after another: of a conversation what the user says, a line a turn."""
        return prompt.split("\n") if prompt in self.talks else [prompt]


@dataclass(slots=True)
class Findings:
    """What was found, in numbers, and in words where something does not hold."""

    samples: int = 0
    done: int = 0
    late: int = 0
    failures: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    asked_again: int = 0
    bound: int = 0
    words: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether nothing is lost, doubled or wrong, and no more was asked again than may be."""
        return not self.words

    def note(self, kind: str, count: int, words: str) -> None:
        """Something does not hold, so many times."""
        if count:
            setattr(self, kind, getattr(self, kind) + count)
            self.words.append(f"{count} {kind}: {words}")


def examine(db: str, witness: Witness) -> Findings:
    """Read the store and compare."""
    return anyio.run(_examine, db, witness)


async def _examine(db: str, witness: Witness) -> Findings:
    found = Findings()
    async with open_store(db) as store, store.snapshot() as reads:
        jobs = await _jobs(reads, witness, found)
        await _sums(reads, found)
        await _responses(reads, jobs, witness, found)
        await _account(reads, witness, found)
    return found


@dataclass(slots=True)
class _Job:
    sample_id: str
    prompt: str
    state: str
    verdict: str | None
    turns: Sequence[str]  # what is asked, one after another
    standing: Counter[int] = field(default_factory=Counter)  # all three by turn
    newest_readable: Counter[int] = field(default_factory=Counter)
    accepted_attempt: Counter[int] = field(default_factory=Counter)


async def _jobs(reads: Reads, witness: Witness, found: Findings) -> dict[int, _Job]:
    """Every prompt is a job, once and in its order; every job is where it must be by now."""
    statement = """SELECT job.id, dataset.name, job.sample_id, job.ordinal, job.state, job.verdict, sample.messages
        FROM job JOIN sample ON sample.id = job.sample_ref JOIN dataset ON dataset.id = job.dataset_id
        ORDER BY dataset.id, job.ordinal"""
    jobs: dict[int, _Job] = {}
    there: dict[str, list[str]] = {name: [] for name in witness.asked}
    for row in await reads.rows(text(statement)):
        prompt = prompt_text(row.messages)
        there.setdefault(row.name, []).append(prompt)
        jobs[row.id] = _Job(row.sample_id, prompt, row.state, row.verdict, witness.turns_of(prompt))
        if row.ordinal != len(there[row.name]):
            found.note("wrong", 1, f"{row.name} {row.sample_id} has ordinal {row.ordinal}")
    found.samples = len(jobs)
    for name, prompts in witness.asked.items():
        _compare_prompts(name, prompts, there[name], found)
    _check_ends(jobs.values(), witness, found)
    return jobs


def _compare_prompts(name: str, prompts: list[str], there: list[str], found: Findings) -> None:
    wanted, had = Counter(prompts), Counter(there)
    found.note("lost", (wanted - had).total(), f"prompts of {name} are not in the store")
    found.note("doubled", (had - wanted).total(), f"prompts of {name} are in the store more often than in the file")
    if wanted == had and prompts != there:
        found.note("wrong", 1, f"the order of {name} is not that of its file")


def _check_ends(jobs: Any, witness: Witness, found: Findings) -> None:
    ends = Counter[str]()
    for job in jobs:
        must = "failed" if job.prompt in witness.may_fail else "done"
        found.done += job.state == "done"
        if job.state != must and not (witness.unfinished and job.state in ("ready", "waiting")):
            ends[f"{job.state} where {must} was due"] += 1
    for words, count in ends.items():
        found.note("lost", count, f"jobs are {words}")


async def _sums(reads: Reads, found: Findings) -> None:
    """One state a job, and counters and buckets that add up to the jobs."""
    pairs = {
        "states": (
            "SELECT dataset_id, substr(metric, 7), n FROM counter WHERE metric LIKE 'state:%' AND n <> 0",
            "SELECT dataset_id, state, count(*) FROM job GROUP BY 1, 2",
        ),
        "verdicts": (
            """SELECT dataset_id,
            CASE WHEN metric LIKE 'expected:%' THEN substr(metric, 10) ELSE substr(metric, 12) END, sum(n) FROM counter
            WHERE metric LIKE '%expected:%' GROUP BY 1, 2 HAVING sum(n) <> 0""",
            "SELECT dataset_id, verdict, count(*) FROM job WHERE state = 'done' GROUP BY 1, 2",
        ),
        "late answers": (
            "SELECT dataset_id, '', n FROM counter WHERE metric = 'late' AND n <> 0",
            "SELECT dataset_id, '', count(*) FROM response JOIN job ON job.id = job_id WHERE late = 1 GROUP BY 1",
        ),
        "minutes": (
            "SELECT dataset_id, '', sum(done) FROM bucket GROUP BY 1 HAVING sum(done) <> 0",
            "SELECT dataset_id, '', count(*) FROM job WHERE state = 'done' AND imported = 0 GROUP BY 1",
        ),
    }
    for name, (counted, true) in pairs.items():
        counts = {tuple(row) for row in await reads.rows(text(counted))}
        truth = {tuple(row) for row in await reads.rows(text(true))}
        found.note("wrong", len(counts ^ truth), f"counters of {name} do not add up: {sorted(counts ^ truth)[:4]}")
    found.late = int(await reads.value(text("SELECT count(*) FROM response WHERE late = 1")))
    found.failures = int(await reads.value(text("SELECT count(*) FROM failure")))
    unread = int(await reads.value(text("SELECT count(*) FROM unread")))
    found.note("lost", unread, "stored bodies were never read")
    leased = int(await reads.value(text("SELECT count(*) FROM job WHERE state = 'leased'")))
    found.note("wrong", leased, "jobs are leased and nobody lives")


_COMPARED = ", ".join(f"reading.{name}" for name in sorted({*COMPARED, "reasoning", "content", "text_form"}))
_RESPONSES = f"""SELECT response.*, body.codec, body.raw, reading.seq, {_COMPARED}, sample.messages
    FROM response LEFT JOIN body ON body.response_id = response.id
    JOIN job ON job.id = response.job_id JOIN sample ON sample.id = job.sample_ref
    LEFT JOIN reading ON reading.response_id = response.id
        AND reading.seq = (SELECT max(seq) FROM reading AS newest WHERE newest.response_id = response.id)
    WHERE response.id > :after ORDER BY response.id LIMIT :page"""


async def _responses(reads: Reads, jobs: dict[int, _Job], witness: Witness, found: Findings) -> None:
    """Bodies hash to what was noted, readings can be rebuilt, texts are those that the simulator generated."""
    after = 0
    while rows := await reads.rows(text(_RESPONSES), {"after": after, "page": PAGE}):
        for row in rows:
            _check_response(row, jobs[row.job_id], witness.truth, found)
        after = rows[-1].id
    for number, job in jobs.items():
        _check_job(number, job, found)


def _check_response(row: Any, job: _Job, truth: Truth, found: Findings) -> None:
    if row.raw is None:
        found.note("lost", 1, f"response {row.id} has no body")
        return
    body = unpack(row.codec, row.raw)
    if hashlib.sha256(body).hexdigest() != row.raw_sha256 or len(body) != row.raw_bytes:
        found.note("wrong", 1, f"the body of response {row.id} is not the one that came")
    if row.seq is None:
        return  # counted as unread
    asked = Asked(None if row.expected else False, row.profile, prompt_text(row.messages), Form(row.form))
    anew = reading_row(ResponseId(row.id), row.seq, read_body(row.http_status, body, asked))
    if any(anew[name] != getattr(row, name) for name in COMPARED):
        found.note("wrong", 1, f"response {row.id} is read differently now")
    if row.verdict == "malformed":
        return
    if row.superseded_seq is None or row.accepted_seq is None:
        job.newest_readable[row.turn] = max(job.newest_readable[row.turn], row.attempt)
    if row.accepted_seq is not None and row.superseded_seq is None:
        job.standing[row.turn] += 1
        job.accepted_attempt[row.turn] = row.attempt
        _check_text(row, job, truth, found)


def _check_text(row: Any, job: _Job, truth: Truth, found: Findings) -> None:
    said = truth(job.turns[row.turn])
    reasoning, content = (decode_text(row.text_form, part) for part in (row.reasoning, row.content))
    if (reasoning, content) != (said.reasoning, said.content):
        found.note("wrong", 1, f"{job.sample_id} does not hold what was generated for its prompt")
    if row.verdict != job.verdict:
        found.note("wrong", 1, f"{job.sample_id} says {job.verdict}, its reading {row.verdict}")


def _check_job(number: int, job: _Job, found: Findings) -> None:
    standing = job.standing.total()
    if job.state == "done" and standing < len(job.turns):
        found.note("lost", 1, f"job {number} is done and has {standing} of {len(job.turns)} accepted responses")
    if standing > len(job.turns) or max(job.standing.values(), default=0) > 1 or (standing and job.state != "done"):
        found.note("doubled", 1, f"job {number} is {job.state} and has {standing} accepted responses")
    if any(attempt < job.newest_readable[turn] for turn, attempt in job.accepted_attempt.items()):
        found.note("wrong", 1, f"job {number} has accepted an older attempt than its newest answer")


async def _account(reads: Reads, witness: Witness, found: Findings) -> None:
    """The simulator's counts and the journal against what is stored."""
    stored = Counter[str]()
    statement = """SELECT sample.messages, response.turn, count(*) FROM response JOIN job ON job.id = response.job_id
        JOIN sample ON sample.id = job.sample_ref
        LEFT JOIN reading ON reading.response_id = response.id AND reading.verdict = 'malformed'
        WHERE response.http_status = 200 AND reading.response_id IS NULL GROUP BY job.id, sample.id, response.turn"""
    for messages, turn, count in await reads.rows(text(statement)):
        stored[key_of(witness.turns_of(prompt_text(messages))[turn])] += count
    missing = (Counter(dict(witness.answers)) - stored).total() - witness.spooled
    _bound_missing(missing, witness, found)
    more = stored - Counter(dict(witness.answers))
    if witness.answers:
        found.note("doubled", more.total(), "responses that the simulator never sent")
    keys = witness.keys
    asked = {key: count for key, count in witness.requests.items() if key in keys}
    found.asked_again = sum(asked.values()) - len(asked)  # the worker's own small questions are nobody's prompt
    found.bound = witness.excused + found.failures
    if found.asked_again > found.bound:
        found.words.append(
            f"{found.asked_again} asked again, more than the {found.bound} that were in flight or failed"
        )
    await _check_journal(reads, witness, found)


def _bound_missing(missing: int, witness: Witness, found: Findings) -> None:
    """An answer may be missing where its client was killed, or where the connection broke under it."""
    allowed = witness.excused + found.failures
    found.note("lost", max(0, missing - allowed), "answers that the simulator sent are nowhere")


async def _check_journal(reads: Reads, witness: Witness, found: Findings) -> None:
    if witness.journal is None or not witness.journal.exists():
        return
    rows = await reads.rows(text("SELECT job_id, attempt, raw_sha256 FROM response"))
    there = {f"{row.job_id} {row.attempt} {row.raw_sha256}" for row in rows}
    told = {line for line in witness.journal.read_text().splitlines() if line.count(" ") == 2}
    found.note("lost", len(told - there), "bodies were acknowledged and are not stored")


def summed(by_prompt: Mapping[str, Mapping[str, int]]) -> tuple[dict[str, int], dict[str, int]]:
    """Requests and answers by prompt, from the simulator's statistics."""
    requests = {key: counts["requests"] for key, counts in by_prompt.items()}
    return requests, {key: counts["answers"] for key, counts in by_prompt.items()}
