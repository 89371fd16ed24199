"""A spooled answer is the same after its record; a record that was cut off at any byte is known as torn."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.ids import DatasetId, EndpointId, JobId, WorkerId
from app.model.lease import Lease, Reply
from app.spool.file import SpoolFile, create, scan, take
from app.spool.record import HEAD_BYTES, SpooledAnswer, State, Torn, read_head, read_record, write_record
from app.store.codec import pack

NUMBERS = st.integers(0, 2**62)
leases = st.builds(
    Lease, NUMBERS.map(JobId), NUMBERS, NUMBERS.map(WorkerId), NUMBERS, NUMBERS.map(DatasetId), NUMBERS, NUMBERS,
    deaths=NUMBERS, leased_ms=st.none() | NUMBERS,
)  # fmt: skip
replies = st.builds(
    Reply,
    lease=leases,
    body=st.binary(max_size=2000) | st.text(max_size=300).map(lambda text: text.encode() * 20),
    http_status=st.integers(100, 599),
    requested_ms=NUMBERS,
    received_ms=NUMBERS,
    form=st.sampled_from(["chat", "sse"]),
    request=st.text(),
    request_sha256=st.text(),
    expected=st.booleans(),
    profile=st.text(),
    raw_text_sent=st.booleans(),
    endpoint=st.none() | NUMBERS.map(EndpointId),
    request_id=st.none() | st.text(),
    content_type=st.none() | st.text(),
    scrubbed=st.booleans(),
    turn=st.integers(0, 9),
)


@st.composite
def _answers(draw: st.DrawFn) -> SpooledAnswer:
    reply = draw(replies)
    texts = [draw(st.text()) for _ in range(4)]
    return SpooledAnswer(texts[0], texts[1], texts[2], draw(NUMBERS), texts[3], reply, pack(reply.body))


answers = _answers()


def answer(number: int, body: bytes = b"body") -> SpooledAnswer:
    lease = Lease(JobId(number), 1, WorkerId(1), 0, DatasetId(1))
    reply = Reply(lease, body, 200, 1, 1000 + number, "chat", "{}", "0", True, "think", True)
    return SpooledAnswer("store", "data", f"s{number}", 0, "hash", reply, pack(body))


def open_(record: bytes) -> SpooledAnswer:
    return read_record(read_head(record), record[HEAD_BYTES:])


def new(folder: str | Path, reserve: int) -> SpoolFile:
    return create(Path(folder) / "mine", reserve)


@given(answers)
@settings(deadline=None)
def test_an_answer_is_the_same_after_its_record(one: SpooledAnswer) -> None:
    assert open_(write_record(one)) == one


@given(answers, st.data())
@settings(deadline=None)
def test_a_changed_byte_is_noticed(one: SpooledAnswer, data: st.DataObject) -> None:
    record = bytearray(write_record(one))
    place = data.draw(st.integers(0, len(record) - 1))
    if 5 <= place < 8 or HEAD_BYTES - 4 <= place < HEAD_BYTES:
        return  # padding means nothing
    record[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Torn):
        open_(bytes(record))


@pytest.mark.parametrize("reserve", [0, 8192], ids=["a file that grew", "a reserve"])
def test_a_record_that_was_cut_off_at_any_byte_leaves_the_others_readable(tmp_path: Path, reserve: int) -> None:
    file = new(tmp_path, reserve)
    file.append(answer(1))
    file.append(answer(2))
    whole = file.tail
    file.append(answer(3, b"x" * 50))
    data = (tmp_path / "mine").read_bytes()
    file.let_go()
    for cut in range(whole + 1, file.tail):
        torn = data[:cut] + bytes(len(data) - cut if reserve else 0)
        path = tmp_path / "torn"
        path.write_bytes(torn)
        found = take(path, reserve)
        assert found is not None
        assert [found.load(entry) for entry in found.waiting] == [answer(1), answer(2)], cut
        assert found.torn_bytes == len(torn[whole:].rstrip(b"\0"))
        found.let_go()


@given(st.lists(answers, max_size=4), st.integers(0, 5000))
@settings(deadline=None, max_examples=50)
def test_what_was_appended_is_there_for_the_next_holder(many: list[SpooledAnswer], reserve: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = new(folder, reserve)
        for one in many:
            file.append(one)
        file.let_go()
        again = take(file.path, reserve)
        assert again is not None
        assert [again.load(entry) for entry in again.waiting] == many
        assert again.torn_bytes == 0
        again.let_go()


def test_torn_bytes_are_set_aside_and_never_deleted(tmp_path: Path) -> None:
    file = new(tmp_path, 8192)
    file.append(answer(1))
    record = write_record(answer(2))
    os.pwrite(file.descriptor, record[:-3], file.tail)
    whole = file.tail
    file.let_go()
    again = take(file.path)
    assert again is not None
    again.mark(again.waiting[0], State.DONE)
    again.close()
    aside = tmp_path / "mine.kept"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.kept"]
    assert aside.read_bytes()[whole:] == record[:-3].rstrip(b"\0")


def test_a_record_that_matches_nothing_is_kept_and_the_file_set_aside(tmp_path: Path) -> None:
    file = new(tmp_path, 8192)
    file.append(answer(1))
    file.append(answer(2))
    file.mark(file.waiting[0], State.KEPT)
    file.mark(file.waiting[0], State.DONE)
    file.close()
    descriptor = os.open(tmp_path / "mine.kept", os.O_RDONLY)
    assert [entry.head.state for entry in scan(descriptor).entries] == [State.KEPT, State.DONE]
    os.close(descriptor)


def test_a_damaged_record_hides_none_behind_it(tmp_path: Path) -> None:
    file = new(tmp_path, 8192)
    for number in (1, 2, 3):
        file.append(answer(number))
    os.pwrite(file.descriptor, b"\xff", file.waiting[1].offset + HEAD_BYTES + 5)
    file.let_go()
    again = take(file.path)
    assert again is not None
    assert [again.load(entry) for entry in again.waiting] == [answer(1), answer(3)]
    assert (again.kept, again.torn_bytes) == (1, 0)
    again.let_go()


def test_an_emptied_file_begins_anew_within_its_reserve(tmp_path: Path) -> None:
    file = new(tmp_path, 4096)
    for round_ in range(3):
        file.append(answer(round_, os.urandom(3000)))
        file.append(answer(round_, os.urandom(3000)))  # beyond the reserve
        assert file.path.stat().st_size > 4096
        for entry in list(file.waiting):
            file.mark(entry, State.DONE)
        assert file.path.read_bytes() == bytes(4096)
    file.close()
    assert not file.path.exists()


def test_a_file_has_one_holder(tmp_path: Path) -> None:
    file = new(tmp_path, 0)
    file.append(answer(1))
    assert take(file.path) is None
    file.close()
    assert file.path.exists()
    again = take(file.path)
    assert again is not None
    again.let_go()
    assert take(tmp_path / "absent") is None


def test_an_append_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = new(tmp_path, 4096)
    file.append(answer(1))
    before = file.path.read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            file.append(answer(2, os.urandom(9000)))
    assert file.path.read_bytes() == before
    file.append(answer(3))
    assert [file.load(entry) for entry in file.waiting] == [answer(1), answer(3)]
    file.let_go()
