"""The folder of exports beside a store, for those who ask by name only: no path, no link, nothing outside of it."""

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.model.errors import NotFound, Refused, UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MANIFEST = ".manifest.json"
LARGEST_MANIFEST = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Exported:
    """A finished file with what its manifest says. `bytes` is what lies on the disk."""

    name: str
    bytes: int
    modified_ms: int
    dataset: str
    rows: int
    sha256: str
    complete: bool
    only: str
    left_out: int
    seq: int

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
        """Every file whose manifest lies beside it, the newest first."""
        if not self.path.is_dir():
            return []
        names = sorted(path.name for path in self.path.iterdir())
        found = [exported for name in names if (exported := self._finished(name)) is not None]
        return sorted(found, key=lambda one: (-one.modified_ms, one.name))

    def find(self, name: str) -> Exported:
        """The finished file of that name."""
        found = self._finished(checked(name))
        if found is None:
            raise NotFound(f"There is no finished export {name}. The page of exports lists them.")
        return found

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
        descriptor, manifest = self._open(name), self._open(name + _MANIFEST)
        try:
            if descriptor is None or manifest is None:
                return None
            return _exported(name, os.fstat(descriptor), os.read(manifest, LARGEST_MANIFEST))
        finally:
            for opened in (descriptor, manifest):
                if opened is not None:
                    os.close(opened)


def _exported(name: str, facts: os.stat_result, manifest: bytes) -> Exported | None:
    """None for a manifest that is none of ours."""
    try:
        said = json.loads(manifest)
        return Exported(
            name, facts.st_size, facts.st_mtime_ns // 1_000_000, str(said["dataset"]), int(said["rows"]),
            str(said["sha256"]), bool(said["complete"]), str(said["filters"]["only"]),
            sum(said["left_out"].values()), int(said["store"]["seq"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


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
