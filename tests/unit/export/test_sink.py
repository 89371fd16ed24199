"""The same lines are the same file."""

import gzip
import hashlib
import io

import pytest
import zstandard

from app.export.pages import LARGEST_PAGE, ROOMY_BYTES, next_length
from app.export.request import Only, Packing, packing_of, takes
from app.export.sink import LineSink
from app.model.verdicts import Verdict

LINES = [f'{{"n":{number}}}\n'.encode() for number in range(5000)]
PLAIN = b"".join(LINES)


def packed(packing: Packing) -> bytes:
    stream = io.BytesIO()
    sink = LineSink(stream, packing)
    for start in range(0, len(LINES), 300):
        sink.write(LINES[start : start + 300])
    written = sink.finish()
    assert (written.rows, written.bytes) == (len(LINES), len(stream.getvalue()))
    assert written.sha256 == hashlib.sha256(stream.getvalue()).hexdigest()
    assert (written.line_bytes, written.line_sha256) == (len(PLAIN), hashlib.sha256(PLAIN).hexdigest())
    return stream.getvalue()


@pytest.mark.parametrize("packing", list(Packing))
def test_a_repeated_export_is_the_same_bytes(packing: Packing) -> None:
    assert packed(packing) == packed(packing)


def test_what_is_packed_is_what_was_written() -> None:
    assert packed(Packing.PLAIN) == PLAIN
    assert gzip.decompress(packed(Packing.GZIP)) == PLAIN
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed(Packing.ZSTD)) == PLAIN


def test_a_gzip_file_holds_no_time_and_no_name() -> None:
    assert packed(Packing.GZIP)[3:8] == b"\x00\x00\x00\x00\x00"


def test_the_suffix_asks_for_the_packing() -> None:
    assert [packing_of(name) for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst")] == list(Packing)


def test_captured_takes_captured_answers_and_those_without_thinking() -> None:
    taken = {verdict for verdict in Verdict if takes(Only.CAPTURED, verdict)}
    assert taken == {Verdict.CAPTURED_FIELD, Verdict.SPLIT_FROM_CONTENT, Verdict.NONE_EXPECTED}


def test_pages_shrink_under_long_bodies_and_grow_again() -> None:
    assert next_length(200, 2 * ROOMY_BYTES) == 100
    assert next_length(1, 2 * ROOMY_BYTES) == 1
    assert next_length(100, ROOMY_BYTES // 2) == 100
    assert next_length(LARGEST_PAGE, 0) == LARGEST_PAGE
