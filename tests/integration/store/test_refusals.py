"""What is no store of ours, or lies where none may lie, is refused with the right exit code; nothing is touched."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from app.model.errors import IntegrityFailure, NotFound, Refused, ResourceExhausted, ThinkledgerError, UsageError
from app.store import place, schema
from app.store.store import Store
from tests.integration.store import raw
from tests.integration.store.kit import around, in_store, make, nothing, process, says

NOBODY = 65534


def text_file(path: Path) -> None:
    path.write_text("samples, not a store\n" * 20)


def short_text_file(path: Path) -> None:
    path.write_text("x")


def foreign_database(path: Path) -> None:
    raw.script(path, "CREATE TABLE theirs (a)", "INSERT INTO theirs VALUES (1)")


def foreign_database_with_an_id(path: Path) -> None:
    raw.script(path, "PRAGMA application_id=1", "CREATE TABLE job (a)")


def truncated_header(path: Path) -> None:
    make(path)
    os.truncate(path, 60)


def only_a_header(path: Path) -> None:
    make(path)
    os.truncate(path, 100)


def half_a_store(path: Path) -> None:
    make(path)
    os.truncate(path, path.stat().st_size // 2)


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(os.path.relpath(path))


def newer_schema(path: Path) -> None:
    make(path)
    raw.script(path, "UPDATE alembic_version SET version_num = '9999'")


def no_schema_version(path: Path) -> None:
    make(path)
    raw.script(path, "DELETE FROM alembic_version")


def no_version_table(path: Path) -> None:
    make(path)
    raw.script(path, "DROP TABLE alembic_version")


REFUSED = {
    text_file: IntegrityFailure,
    short_text_file: IntegrityFailure,
    foreign_database: UsageError,
    foreign_database_with_an_id: UsageError,
    truncated_header: IntegrityFailure,
    only_a_header: IntegrityFailure,
    half_a_store: IntegrityFailure,
    folder: UsageError,
    pipe: UsageError,
    listener: UsageError,
    newer_schema: UsageError,
    no_schema_version: IntegrityFailure,
    no_version_table: IntegrityFailure,
}


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("made", REFUSED, ids=lambda made: made.__name__)
def test_what_is_no_store_of_ours_is_refused_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Callable[[Path], None], create: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    made(tmp_path / "t.db")
    before = around(tmp_path)
    with pytest.raises(REFUSED[made]) as refusal:
        in_store(tmp_path / "t.db", nothing, create=create)
    assert around(tmp_path) == before
    assert type(refusal.value) is REFUSED[made]


def test_an_older_schema_names_the_command_that_upgrades_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "t.db")
    before = around(tmp_path)
    written = schema.NEWEST
    monkeypatch.setattr(schema, "NEWEST", "0999")
    with pytest.raises(UsageError, match=rf"older schema {written}.*needs 0999.*`thinkledger migrate`"):
        in_store(tmp_path / "t.db", nothing)
    assert around(tmp_path) == before


def test_a_newer_schema_says_that_the_program_is_too_old(tmp_path: Path) -> None:
    newer_schema(tmp_path / "t.db")
    with pytest.raises(UsageError, match=r"9999, which is newer than this version knows.*Upgrade"):
        in_store(tmp_path / "t.db", nothing)


def test_a_missing_folder_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        make(tmp_path / "missing" / "t.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "sqlite:///", "postgresql://host", "mysql://host/db", "file://t.db"])
def test_a_name_that_cannot_be_a_file_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        place.locate(text)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user for whom permissions count")
@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "outcome"),
    [
        (0o777, None, "opened"),
        (0o555, None, "ResourceExhausted"),
        (0o700, None, "ResourceExhausted"),
        (0o777, 0o666, "opened"),
        (0o777, 0o444, "ResourceExhausted"),
        (0o777, 0o000, "ResourceExhausted"),
        (0o555, 0o666, "ResourceExhausted"),
    ],
)
def test_what_a_user_may_not_write_is_refused(
    tmp_path: Path, folder_mode: int, file_mode: int | None, outcome: str
) -> None:
    for above in (tmp_path, *tmp_path.parents):
        if not above.stat().st_mode & 0o001:
            above.chmod(0o755)
    inner = tmp_path / "inner"
    inner.mkdir()
    if file_mode is not None:
        make(inner / "t.db")
        (inner / "t.db").chmod(file_mode)
    inner.chmod(folder_mode)
    before = around(inner)
    with process("open_as", NOBODY, inner / "t.db") as other:
        assert says(other) == outcome
    if outcome != "opened":
        assert around(inner) == before


def test_a_store_on_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "file_system_of", lambda _path, _mountinfo: "nfs4")
    with pytest.raises(Refused, match=r"network file system \(nfs4\)"):
        make(tmp_path / "t.db")
    assert list(tmp_path.iterdir()) == []


def test_a_second_opening_in_the_process_reads_no_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing the descriptor that read it would drop the locks of the connections that are open."""

    async def again(store: Store) -> None:
        monkeypatch.setattr(place, "_check_header", _must_not_run)
        place.check(store.place, create=False)

    path = tmp_path / "t.db"
    in_store(path, again)
    with pytest.raises(AssertionError):
        place.check(place.locate(str(path)), create=False)


def _must_not_run(*_: object, **__: object) -> None:
    raise AssertionError


def test_every_refusal_is_an_error_of_ours() -> None:
    assert all(issubclass(kind, ThinkledgerError) for kind in (*REFUSED.values(), ResourceExhausted))
