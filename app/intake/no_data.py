"""Files that hold no rows at all, told by their first bytes: refused whole, not split into thousands of rejects."""

import re

from app.model.errors import UsageError

LOOKED_AT = 4096
DATABASE = b"SQLite format 3\x00"
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a sound, film or image file (RIFF)"),
    (b"PK\x03\x04", "a zip archive (or an office document, which is one)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xfd7zXZ\x00", "an xz file; unpack it first"),
    (b"BZh", "a bzip2 file; unpack it first"),
    (b"PAR1", "a parquet table; name it with the ending .parquet"),
    (b"ARROW1", "an Arrow table; write it as .parquet or .jsonl"),
    (b"Obj\x01", "an Avro file; write it as .jsonl"),
    (DATABASE, "an SQLite database"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
    (b"version https://git-lfs.github.com/spec", "a pointer of Git LFS; fetch the file itself with `git lfs pull`"),
)
_TAR = (b"ustar\x0000", b"ustar  \x00")  # with the version: five letters at that place may be those of a mustard
_MARKUP = re.compile(rb"\s*<(!doctype html|html|head|body|\?xml)\b", re.IGNORECASE)
# What no text holds much of: control characters but tab, line ends, form feed and escape.
_CONTROL = bytes(number for number in range(32) if number not in b"\t\n\r\f\x1b")
_MOST_CONTROL = 0.05  # of the bytes; in random ones it is a tenth
_ENOUGH = 64  # bytes that say something about a share


def refuse_no_data(name: str, start: bytes) -> None:
    """Raise UsageError where a file that begins so can hold no rows; `start` is what it is when unpacked."""
    found = looks_like(start)
    if found is not None:
        raise UsageError(f"{name} looks like {found}. Nothing was imported: expected are rows, such as JSON lines.")


def looks_like(start: bytes) -> str | None:
    """What a file that begins so is, in words, where it is something else than rows."""
    for beginning, words in _BEGINNINGS:
        if start.startswith(beginning):
            return words
    if start[257:265] in _TAR:
        return "a tar archive; unpack it first"
    found = _MARKUP.match(start.removeprefix(b"\xef\xbb\xbf"))
    if found is not None:
        return "XML" if found[1].startswith(b"?") else "an HTML page, perhaps one that says why a download failed"
    return "binary data" if _is_binary(start) else None


def _is_binary(start: bytes) -> bool:
    """One odd row among others is a reject of its own; a file that begins with JSON is looked at row by row."""
    if len(start) < _ENOUGH or start.lstrip()[:1] in (b"{", b"["):
        return False
    return len(start) - len(start.translate(None, _CONTROL)) > _MOST_CONTROL * len(start)
