"""The folder of exports beside a store, for those who ask by name only: no path, no link, nothing outside of it."""

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.export.naming import target_of
from app.model.errors import NotFound, Refused, UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MANIFEST = ".manifest.json"
LARGEST_MANIFEST = 4 * 2**20


@dataclass(frozen=True, slots=True)
class File:
    """One file that can be downloaded. `bytes` is what lies on the disk."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Exported:
    """A finished export with what its manifest says: one file, or its shards."""

    name: str
    files: tuple[File, ...]
    modified_ms: int
    dataset: str
    rows: int
    sha256: str
    complete: bool
    only: str
    preset: str
    sharded: bool
    left_out: dict[str, int]
    seq: int

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(file.bytes for file in self.files)

    @property
    def manifest(self) -> str:
        """The name of its manifest."""
        return self.name + _MANIFEST


class ExportFolder:
    """Finished exports by name. Everything is opened relative to the folder, and no link is followed."""

    def __init__(self, store: Path) -> None:
        self.path = store.with_name(store.name + ".exports")

    def make(self) -> None:
        """Make it, for its owner alone."""
        if self.path.is_symlink():
            raise Refused(f"{self.path} is a link, and exports are written to no other place. Remove it.")
        self.path.mkdir(mode=0o700, exist_ok=True)

    def target(self, name: str) -> Path:
        """Where a file of that name is written."""
        return self.path / checked(name)

    def finished(self) -> list[Exported]:
        """Every export whose manifest lies beside its files, the newest first."""
        if not self.path.is_dir():
            return []
        names = sorted(path.name for path in self.path.iterdir() if path.name.endswith(_MANIFEST))
        found = [one for name in names if (one := self._finished(name.removesuffix(_MANIFEST))) is not None]
        return sorted(found, key=lambda one: (-one.modified_ms, one.name))

    def find(self, name: str) -> tuple[Exported, File | None]:
        """The finished export of that name and its file, or the export that a shard of that name belongs to.

        Without a file where the name is only the one that the names of shards are made of.
        """
        whole = target_of(checked(name))
        for of in (name, whole):
            found = None if of is None else self._finished(of)
            files = () if found is None else [file for file in found.files if file.name == name]
            if found is not None and (files or of == name):
                return found, next(iter(files), None)
        raise NotFound(f"There is no finished export {name}. The page of exports lists them.")

    def templates(self) -> list[str]:
        """Chat templates that somebody laid into the folder `templates` of this one, by name."""
        folder = self.path / "templates"
        if folder.is_symlink() or not folder.is_dir():
            return []
        return sorted(
            path.name for path in folder.iterdir()
            if _NAME.fullmatch(path.name) and path.suffix == ".jinja" and path.is_file() and not path.is_symlink()
        )  # fmt: skip

    def template(self, name: str) -> Path:
        """The file of a chat template."""
        if name not in self.templates():
            raise NotFound(f"There is no template {name[:100]!r} in {self.path / 'templates'}.")
        return self.path / "templates" / name

    def open(self, name: str) -> BinaryIO:
        """The bytes of a file of the folder; a link, a folder and a device are not found."""
        descriptor = self._open(checked(name))
        if descriptor is None:
            raise NotFound(f"There is no export {name}. The page of exports lists them.")
        return os.fdopen(descriptor, "rb")

    def _open(self, name: str) -> int | None:
        try:
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(name, flags, dir_fd=folder)
        except OSError:
            return None
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return None
        return descriptor

    def _finished(self, name: str) -> Exported | None:
        if not _NAME.fullmatch(name) or name.endswith((_MANIFEST, ".part")):
            return None
        manifest = self._open(name + _MANIFEST)
        if manifest is None:
            return None
        with os.fdopen(manifest, "rb") as file:
            modified_ms = os.fstat(file.fileno()).st_mtime_ns // 1_000_000
            return self._exported(name, modified_ms, file.read(LARGEST_MANIFEST))

    def _exported(self, name: str, modified_ms: int, manifest: bytes) -> Exported | None:
        """None for a manifest that is none of ours, or whose files are not all there."""
        try:
            said = json.loads(manifest)
            shards = said["shards"]
            listed = [{**said, "file": name}] if shards is None else shards
            files = [self._file(str(one["file"]), str(one["sha256"])) for one in listed]
            return None if not all(files) else Exported(
                name, tuple(file for file in files if file is not None), modified_ms, str(said["dataset"]),
                int(said["rows"]), str(said["sha256"]), bool(said["complete"]), str(said["filters"]["only"]),
                str(said["preset"]), shards is not None,
                {str(reason): int(count) for reason, count in said["left_out"].items()}, int(said["store"]["seq"]),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def _file(self, name: str, sha256: str) -> File | None:
        """A file of the folder itself; no link, no folder, no device."""
        if not _NAME.fullmatch(name):
            return None
        try:
            facts = (self.path / name).lstat()
        except OSError:
            return None
        return File(name, facts.st_size, sha256) if stat.S_ISREG(facts.st_mode) else None


def checked(name: str) -> str:
    """A name that can be nothing but a file of the folder."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:60]!r} cannot be a file's name here: it takes 1 to 100 letters, digits, dots, dashes and "
            "underscores, and begins with a letter or a digit."
        )
    return name


def chunks(file: BinaryIO, size: int = 256 * 1024) -> Iterator[bytes]:
    """A file in pieces; closed at the end."""
    with file:
        while data := file.read(size):
            yield data
