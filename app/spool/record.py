"""One spooled answer as bytes: a head of 64 bytes, the facts as JSON, the body as the store packs it.

The digest in the head covers everything but the state, so a record that was cut off at any byte is known as torn. The
state is one byte that is overwritten in place when the answer is in the store.
"""

import hashlib
import json
import struct
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any

from app.model.ids import DatasetId, EndpointId, JobId, WorkerId
from app.model.lease import Lease, Reply
from app.store.codec import Packed, unpack

_HEAD = struct.Struct(">4scxxxIQQ32s4x")
_SIZES = struct.Struct(">IQQ")
_MAGIC = b"TLs1"
HEAD_BYTES = _HEAD.size
STATE_AT = 4  # offset of the state in a record


class State(Enum):
    """What became of a spooled answer."""

    WAITING = b"w"  # to be brought into the store
    DONE = b"d"  # committed
    KEPT = b"k"  # no job in the store matches it: kept for a person, never deleted


@dataclass(frozen=True, slots=True)
class SpooledAnswer:
    """An answer with all that the store needs, and by what its job is found again in a store that was restored."""

    store_id: str
    dataset: str
    sample_id: str
    replica: int
    content_sha256: str
    reply: Reply
    packed: Packed

    @property
    def epoch(self) -> int:
        return self.reply.lease.epoch


@dataclass(frozen=True, slots=True)
class Head:
    """What stands at the front of a record."""

    state: State
    facts_bytes: int
    body_bytes: int
    received_ms: int
    digest: bytes

    @property
    def size(self) -> int:
        """Bytes of the whole record."""
        return HEAD_BYTES + self.facts_bytes + self.body_bytes


class Torn(Exception):
    """The bytes are not a whole record."""


def write_record(answer: SpooledAnswer) -> bytes:
    """The record of a waiting answer."""
    facts = json.dumps(_facts(answer), separators=(",", ":")).encode()
    body = answer.packed.raw
    sizes = (len(facts), len(body), answer.reply.received_ms)
    return _HEAD.pack(_MAGIC, State.WAITING.value, *sizes, _digest(sizes, facts, body)) + facts + body


def read_head(head: bytes) -> Head:
    """The head of a record. Raises Torn for anything else."""
    if len(head) < HEAD_BYTES:
        raise Torn
    magic, state, facts_bytes, body_bytes, received_ms, digest = _HEAD.unpack(head[:HEAD_BYTES])
    if magic != _MAGIC:
        raise Torn
    try:
        return Head(State(state), facts_bytes, body_bytes, received_ms, digest)
    except ValueError as error:
        raise Torn from error


def check(head: Head, rest: bytes) -> None:
    """Raises Torn where `rest`, the facts and the body, is not what was written."""
    facts, body = rest[: head.facts_bytes], rest[head.facts_bytes :]
    sizes = (head.facts_bytes, head.body_bytes, head.received_ms)
    if len(rest) != head.facts_bytes + head.body_bytes or _digest(sizes, facts, body) != head.digest:
        raise Torn


def read_record(head: Head, rest: bytes) -> SpooledAnswer:
    """The answer that was written. Raises Torn where the bytes are others."""
    check(head, rest)
    facts = json.loads(rest[: head.facts_bytes])
    raw = rest[head.facts_bytes :]
    packed = Packed(facts["codec"], raw, facts["raw_bytes"], facts["raw_sha256"])
    return SpooledAnswer(
        **{name: facts[name] for name in _NAMES},
        reply=_reply(facts["reply"], facts["lease"], unpack(packed.codec, raw)),
        packed=packed,
    )


def dataset_of(facts: bytes) -> str:
    """The dataset that a record's facts name."""
    return str(json.loads(facts)["dataset"])


_NAMES = ("store_id", "dataset", "sample_id", "replica", "content_sha256")


def _facts(answer: SpooledAnswer) -> dict[str, Any]:
    packed, reply = answer.packed, answer.reply
    of_reply = {one.name: getattr(reply, one.name) for one in fields(reply) if one.name not in ("lease", "body")}
    return {
        **{name: getattr(answer, name) for name in _NAMES},
        "lease": asdict(reply.lease),
        "reply": of_reply,
        "codec": packed.codec,
        "raw_bytes": packed.raw_bytes,
        "raw_sha256": packed.raw_sha256,
    }


def _reply(facts: dict[str, Any], lease: dict[str, Any], body: bytes) -> Reply:
    endpoint = facts.pop("endpoint")
    return Reply(lease=_lease(lease), body=body, endpoint=None if endpoint is None else EndpointId(endpoint), **facts)


def _lease(facts: dict[str, Any]) -> Lease:
    return Lease(
        JobId(facts["job"]),
        facts["attempt"],
        WorkerId(facts["worker"]),
        facts["epoch"],
        DatasetId(facts["dataset"]),
        facts["tries"],
        facts["deadline_ms"],
        facts.get("deaths", 0),  # an older version may have left the file
        facts.get("leased_ms"),
    )


def _digest(sizes: tuple[int, int, int], facts: bytes, body: bytes) -> bytes:
    summed = hashlib.sha256(_SIZES.pack(*sizes))
    summed.update(facts)
    summed.update(body)
    return summed.digest()
