"""How bodies and texts lie in the store: bodies compressed and hashed, texts verbatim whatever they hold."""

import hashlib
import json
import sys
import threading
from array import array
from dataclasses import dataclass

import zstandard

LEVEL = 3
SMALL = 128  # bytes below which a frame's own overhead eats the gain


class _Zstd(threading.local):
    """One pair a thread: large bodies are packed in threads, and threads that share zstandard's objects crash."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_zstd = _Zstd()


@dataclass(frozen=True, slots=True)
class Packed:
    """A body as it is stored; size and hash are those of the uncompressed bytes."""

    codec: str
    raw: bytes
    raw_bytes: int
    raw_sha256: str


def pack(body: bytes) -> Packed:
    """Compress a body where that makes it smaller."""
    digest = hashlib.sha256(body).hexdigest()
    squeezed = _zstd.compressor.compress(body) if len(body) >= SMALL else body
    if len(squeezed) < len(body):
        return Packed("zstd", squeezed, len(body), digest)
    return Packed("plain", body, len(body), digest)


def unpack(codec: str, raw: bytes) -> bytes:
    """The body as it was received."""
    return _zstd.decompressor.decompress(raw) if codec == "zstd" else raw


def needs_json(text: str | None) -> bool:
    """Whether SQLite cannot hold a text verbatim: a lone surrogate cannot be bound, and length() stops at NUL."""
    if text is None:
        return False
    if "\x00" in text:
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def encode_texts(*texts: str | None) -> tuple[str, tuple[str | None, ...]]:
    """The `text_form` of a row and its texts in that form; None stays None, and decode_text reverses it exactly."""
    if not any(needs_json(text) for text in texts):
        return "plain", texts
    return "json", tuple(None if text is None else json.dumps(text) for text in texts)


def decode_text(text_form: str, text: str | None) -> str | None:
    """The text as it was read from the body."""
    if text is None or text_form == "plain":
        return text
    decoded = json.loads(text)
    assert isinstance(decoded, str)
    return decoded


def pack_ids(ids: tuple[int, ...] | None) -> bytes | None:
    """Token ids as little-endian uint32, compressed; None where one of them does not fit."""
    if ids is None or not all(0 <= token < 2**32 for token in ids):
        return None
    numbers = array("I", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return _zstd.compressor.compress(numbers.tobytes())


def unpack_ids(packed: bytes) -> tuple[int, ...]:
    """The token ids that pack_ids was given."""
    numbers = array("I")
    numbers.frombytes(_zstd.decompressor.decompress(packed))
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)
