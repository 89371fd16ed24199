"""How the files of an export are called: its one file, or its shards, while they are written and afterwards."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_SUFFIX = re.compile(r"(?:\.jsonl|\.json|\.parquet)?(?:\.gz|\.zst)?\Z")
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-\d{5}(?P<suffix>(?:\.[A-Za-z0-9]+)*)", re.DOTALL)
MOST_SHARDS = 99_999  # what five digits count


def manifest_of(target: Path) -> Path:
    """The manifest of an export, beside its file or its shards."""
    return target.with_name(target.name + ".manifest.json")


def part_of(target: Path) -> Path:
    """The name of an exported file until it is whole; of shards, the file whose lock they are written under."""
    return target.with_name(target.name + ".part")


def shard_part(target: Path, number: int) -> Path:
    """The name of a shard until all of them are whole."""
    return target.with_name(f"{target.name}.part-{number:05d}")


def shard_parts(target: Path) -> Iterator[Path]:
    """The shards that lie there unfinished."""
    pattern = re.compile(re.escape(target.name) + r"\.part-\d{5}")
    return _matching(target.parent, pattern)


def shard(target: Path, number: int, count: int) -> Path:
    """The name of a shard: NAME-00000-of-00007.jsonl."""
    suffix = _suffix_of(target.name)
    stem = target.name.removesuffix(suffix)
    return target.with_name(f"{stem}-{number:05d}-of-{count:05d}{suffix}")


def finals(target: Path, pieces: int, *, sharded: bool) -> list[Path]:
    """The names of the pieces of an export when it is whole."""
    return [shard(target, number, pieces) for number in range(pieces)] if sharded else [target]


def shards(target: Path) -> Iterator[Path]:
    """The shards of that target that lie there, of whatever count."""
    suffix = _suffix_of(target.name)
    stem = target.name.removesuffix(suffix)
    return _matching(target.parent, re.compile(re.escape(stem) + r"-\d{5}-of-\d{5}" + re.escape(suffix)))


def target_of(name: str) -> str | None:
    """What a shard of that name belongs to; None where it is no shard's name."""
    found = _SHARD.fullmatch(name)
    return None if found is None else found["stem"] + found["suffix"]


def _suffix_of(name: str) -> str:
    found = _SUFFIX.search(name)
    return found.group() if found and found.group() else Path(name).suffix


def _matching(folder: Path, pattern: re.Pattern[str]) -> Iterator[Path]:
    names: Iterable[str] = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else ()
    return (folder / name for name in names if pattern.fullmatch(name))
