"""A worker without an endpoint: what brings answers in and takes them out, on a real store and real files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.capture import Form
from app.model.lease import Lease, Reply
from app.responses.keep import PackedReply
from app.spool.file import SpoolFile, create
from app.spool.record import SpooledAnswer
from app.store.codec import pack
from tests.integration.store import raw
from tests.support.filled import Filled
from worker.log import Log
from worker.pool import Pool
from worker.replaying import Replayer
from worker.shutdown import Ending
from worker.slot import Tools
from worker.spooling import Spooling

EVERYTHING = """SELECT job.sample_id, job.state, job.attempt, job.tries, response.attempt, response.late,
    response.accepted_seq IS NOT NULL, response.superseded_seq IS NOT NULL, reading.verdict
    FROM job LEFT JOIN response ON response.job_id = job.id LEFT JOIN reading ON reading.response_id = response.id
    ORDER BY job.id, response.id"""


@contextmanager
def tools_of(room: Filled, hold_s: float = 0.1, reserve: int = 0) -> Iterator[Tools]:
    """The tools of a worker whose own spool is called `own`."""
    room.store.place.spool.mkdir(exist_ok=True)
    pool = Pool([], 8)
    ending, log = Ending(pool.wake), Log(quiet=True)
    file = create(room.store.place.spool / "own", reserve)
    try:
        yield Tools(room.store, pool, ending, log, None, Spooling(room.store, file, ending, log, hold_s))
    finally:
        file.close()


def rows(path: Path) -> list[tuple[object, ...]]:
    """Every job with its responses and their readings."""
    return raw.query(path, EVERYTHING)


def replayer(room: Filled, tools: Tools) -> Replayer:
    return Replayer(tools, room.worker)


def packed(room: Filled, lease: Lease, body: bytes) -> PackedReply:
    reply = Reply(
        lease=lease, body=body, http_status=200, requested_ms=room.clock.ms - 1500, received_ms=room.clock.ms,
        form=Form.CHAT, request="{}", request_sha256="0", profile="think", expected=True, raw_text_sent=True,
        endpoint=room.endpoint,
    )  # fmt: skip
    return PackedReply(reply, pack(body))


def spooled(room: Filled, lease: Lease, sample: str, body: bytes) -> SpooledAnswer:
    """The answer to a sample of the dataset `data`."""
    answer = packed(room, lease, body)
    return SpooledAnswer(room.store.store_id, "data", sample, 0, "0", answer.reply, answer.packed)


def left_by_dead(room: Filled, *answers: SpooledAnswer, name: str = "dead") -> Path:
    """A spool file that a worker left when it died."""
    room.store.place.spool.mkdir(exist_ok=True)
    file: SpoolFile = create(room.store.place.spool / name, 1 << 16)
    for answer in answers:
        file.append(answer)
    file.let_go()
    return file.path
