"""What `status` says about the spool."""

from dataclasses import replace
from pathlib import Path

from app.progress import wording
from app.spool.looking import FileState, SpoolState

FILE = FileState(
    Path("/store.spool/a"), 2**28, 8, 3 * 2**20, 1_770_000_000_000, held=True, kept=0, torn_bytes=0, datasets={"x": 8}
)


def said(*files: FileState, unseen: tuple[Path, ...] = ()) -> list[str]:
    return list(wording.spool(SpoolState(files, unseen)))


def test_an_empty_spool_says_nothing() -> None:
    assert said() == said(replace(FILE, waiting=0, bytes=0, oldest_ms=None, datasets={})) == []


def test_what_waits_says_who_brings_it_in() -> None:
    first, file = said(FILE)
    assert first == "8 answers wait, 3.0 MiB, oldest 2026-02-02 02:40:00 UTC: a live worker brings them in"
    assert file == "/store.spool/a: 8 wait, 3.0 MiB of 256.0 MiB, held by a live worker"
    assert said(replace(FILE, held=False))[0].endswith(": start a worker to bring them in")


def test_what_only_a_person_can_look_at_is_named() -> None:
    kept = replace(FILE, waiting=0, oldest_ms=None, held=False, kept=1, torn_bytes=77)
    assert said(kept, unseen=(Path("/mnt/other"),)) == [
        "/store.spool/a: 1 kept, no job of this store matches them, 77 bytes of a write that was cut off",
        "/mnt/other: not there now, so what waits in it is not counted",
    ]


def test_answers_are_counted_by_dataset() -> None:
    spool = SpoolState((FILE, replace(FILE, datasets={"x": 1, "y": 2})))
    assert (spool.of("x"), spool.of("y"), spool.of("z")) == (9, 2, 0)
