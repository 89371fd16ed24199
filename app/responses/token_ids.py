"""The server's token ids that are stored with a response, beside those that a reading of its body sees."""

from typing import Any

import zstandard

from app.capture import Reading
from app.model.ids import ResponseId
from app.responses.read import token_row
from app.store.codec import unpack_ids


def other_token_ids(row: Any, reading: Reading) -> list[str]:
    """Of "prompt" and "answer", those whose stored ids are not what the reading sees."""
    anew = token_row(ResponseId(row.id), 0, reading)
    stored = {"prompt": row.prompt_ids, "answer": row.answer_ids}
    return [key for key, packed in stored.items() if packed != anew[key] and _ids(packed) != _ids(anew[key])]


def _ids(packed: bytes | None) -> tuple[int, ...] | None:
    """The ids, whichever library packed them; what cannot be unpacked is like none that a server says."""
    if packed is None:
        return None
    try:
        return unpack_ids(packed)
    except (zstandard.ZstdError, ValueError):
        return (-1,)
