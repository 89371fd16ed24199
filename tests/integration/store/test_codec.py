"""Whatever bytes and texts come, they come back."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from app.store.batch import bind_rows
from app.store.codec import decode_text, encode_texts, needs_json, pack, pack_ids, unpack, unpack_ids
from tests.integration.store import raw
from tests.integration.store.kit import examples, process, says

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))  # lone surrogates too
BODIES = st.one_of(
    st.binary(max_size=400),
    st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=8), st.integers(1, 400)),
)


@examples(150)
@given(BODIES)
def test_a_body_comes_back_with_its_size_and_hash(body: bytes) -> None:
    packed = pack(body)
    assert unpack(packed.codec, packed.raw) == body
    assert (packed.raw_bytes, packed.raw_sha256) == (len(body), hashlib.sha256(body).hexdigest())
    assert len(packed.raw) <= len(body)


def test_a_body_that_shrinks_is_compressed_and_another_is_not() -> None:
    assert pack(b"a" * 1000).codec == "zstd"
    assert pack(b"").codec == "plain"
    assert pack(b"".join(hashlib.sha512(seed).digest() for seed in (b"a", b"b", b"c"))).codec == "plain"


def test_bodies_are_packed_in_several_threads_at_once() -> None:
    with process("pack_in_threads", 64) as packing:
        assert says(packing) == "True"
        assert packing.wait() == 0


@examples(150)
@given(st.lists(st.one_of(st.none(), ANY_TEXT), min_size=1, max_size=3))
def test_texts_come_back_from_a_strict_column(texts: list[str | None]) -> None:
    text_form, stored = encode_texts(*texts)
    with raw.connection(":memory:") as opened:
        opened.execute("CREATE TABLE t (place INTEGER PRIMARY KEY, v TEXT) STRICT")
        opened.executemany("INSERT INTO t VALUES (?, ?)", enumerate(stored))
        back = [decode_text(text_form, value) for (value,) in opened.execute("SELECT v FROM t ORDER BY place")]
    assert back == texts


@examples(150)
@given(ANY_TEXT)
def test_a_text_is_stored_verbatim_wherever_sqlite_can_hold_it(text: str) -> None:
    troubled = "\x00" in text or any(0xD800 <= ord(sign) <= 0xDFFF for sign in text)
    assert needs_json(text) is troubled
    assert encode_texts(text) == ("plain", (text,)) or troubled


def test_absent_and_empty_stay_different() -> None:
    for other in ("\x00", "plain"):
        text_form, (absent, empty, _) = encode_texts(None, "", other)
        assert absent is None
        assert decode_text(text_form, absent) is None
        assert decode_text(text_form, empty) == ""


@examples(150)
@given(st.lists(st.integers(0, 2**32 - 1), max_size=300).map(tuple))
def test_token_ids_come_back(ids: tuple[int, ...]) -> None:
    packed = pack_ids(ids)
    assert packed is not None
    assert unpack_ids(packed) == ids


def test_token_ids_that_do_not_fit_are_none_at_all() -> None:
    assert pack_ids(None) is None
    assert pack_ids((1, 2**32)) is None
    assert pack_ids((1, -1)) is None


@examples(100)
@given(
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.one_of(st.none(), st.text()))).map(
        lambda rows: [(number, None if text is None else text.replace("\x00", "")) for number, text in rows]
    )
)
def test_rows_of_a_batch_reach_sql_as_they_are(rows: list[tuple[int, str | None]]) -> None:
    with raw.connection(":memory:") as opened:
        sql = "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?) ORDER BY key"
        assert opened.execute(sql, (bind_rows(rows),)).fetchall() == rows
