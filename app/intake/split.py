"""A file's bytes to its rows, each as the bytes of one JSON value: lines, one big array, one object, or a table.

A row is bytes whatever the container, so that the same row is read, hashed and refused in the same way.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from app.intake.strict_json import MAX_BYTES

CHUNK = 2**18
_BOM = b"\xef\xbb\xbf"
# A whole string, or one character that opens, closes or parts.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|["\[\]{},]', re.DOTALL)
_ARRAY = re.compile(rb"\s*\[")
_ARRAY_IN_OBJECT = re.compile(rb'\s*\{\s*"data"\s*:\s*\[')


class Readable(Protocol):
    """A file as far as it is needed here."""

    def readline(self, size: int = -1, /) -> bytes:
        """Up to the next line's end, and at most `size` bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row's bytes. With a `fault` it is refused unread, and `data` is only its beginning."""

    number: int  # from 1: of its line, blank ones included, or of its place in an array or table
    data: bytes
    fault: str | None = None
    detail: str = ""


Split = Callable[[Readable], Iterator[Line]]


def split_for(name: str) -> Split:
    """How the rows of a file of this name are found."""
    bare = name.lower().removesuffix(".gz").removesuffix(".zst")
    if bare.endswith((".csv", ".tsv")):
        return lambda file: rows_of_table(file, "\t" if bare.endswith(".tsv") else ",")
    return rows_of_json if bare.endswith((".json", ".traj")) else lines


def lines(file: Readable) -> Iterator[Line]:
    """The lines of a file; they end at byte 0x0A only."""
    number = 0
    while data := file.readline(MAX_BYTES + 2):
        number += 1
        yield _line(number, data.removeprefix(_BOM) if number == 1 else data, file)


def _line(number: int, data: bytes, file: Readable) -> Line:
    """The line that begins with `data`; of one that is too long the rest is read and dropped."""
    line = data.removesuffix(b"\n")
    if len(line) <= MAX_BYTES:
        return Line(number, line)
    while not data.endswith(b"\n"):
        data = file.readline(CHUNK)
        if not data:
            break
    return Line(number, line[:1000], "too_large")


def rows_of_json(file: Readable) -> Iterator[Line]:
    """The members of an array, also of one under `data`; lines of JSON; or one object that is the only row."""
    start = file.read(CHUNK).removeprefix(_BOM)
    array = _ARRAY.match(start) or _ARRAY_IN_OBJECT.match(start)
    if array is not None:
        return _members(file, start[array.end() :])
    whole = start
    while len(whole) <= MAX_BYTES and (more := file.read(CHUNK)):
        whole += more
    return lines(_Prefixed(whole, file)) if _is_lines(whole) else iter([_only(whole)])


def _is_lines(start: bytes) -> bool:
    """Whether the first line that holds something is a JSON value of its own."""
    first = start.lstrip().split(b"\n", 1)[0]
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def _only(whole: bytes) -> Line:
    return Line(1, whole) if len(whole) <= MAX_BYTES else Line(1, whole[:1000], "too_large")


class _Prefixed:
    """A file whose first bytes were read already."""

    def __init__(self, start: bytes, file: Readable) -> None:
        self._start = io.BytesIO(start)
        self._file = file

    def readline(self, size: int = -1, /) -> bytes:
        line = self._start.readline(size)
        return line if line.endswith(b"\n") or len(line) == size else line + self._file.readline(size - len(line))

    def read(self, size: int = -1, /) -> bytes:
        return self._start.read(size) or self._file.read(size)


def _members(file: Readable, buffer: bytes) -> Iterator[Line]:
    """The members of an array whose bracket is read. Memory holds one member and a chunk, whatever comes."""
    scan = _Scan()
    number = 0
    while True:
        yield from (Line(number := number + 1, data, fault) for data, fault in scan.feed(buffer))
        buffer = file.read(CHUNK)
        if scan.closed or not buffer:
            break
    if not scan.closed:
        yield Line(number + 1, scan.rest(), "cut_array")
        return
    yield from _after(file, number + 1, scan.rest() + buffer)


def _after(file: Readable, number: int, rest: bytes) -> Iterator[Line]:
    """The file to its end, which its hash needs; after an array comes nothing but what closes its object."""
    found = b""
    while rest:
        found = found or rest.strip(b" \t\r\n}")
        rest = file.read(CHUNK)
    if found:
        yield Line(number, found[:1000], "after_array")


class _Scan:
    """Where the members of an array begin and end: brackets are counted, strings are skipped whole."""

    def __init__(self) -> None:
        self.closed = False
        self._held = b""  # of the member that is open
        self._at = 0  # up to where it is scanned
        self._depth = 0
        self._too_large = False

    def feed(self, more: bytes) -> Iterator[tuple[bytes, str | None]]:
        self._held += more
        begin = 0
        while (token := _TOKEN.search(self._held, self._at)) is not None:
            kind = token[0]
            if kind == b'"':  # a string that goes on in the next chunk
                self._at = token.start()
                break
            self._at = token.end()
            if kind in (b"[", b"{"):
                self._depth += 1
            elif kind in (b"]", b"}") and self._depth:
                self._depth -= 1
            elif kind == b"," and not self._depth:
                yield self._member(begin, token.start())
                begin = token.end()
            elif kind == b"]":
                self.closed = True
                if self._held[begin : token.start()].strip():
                    yield self._member(begin, token.start())
                begin = token.end()
                break
        else:
            self._at = len(self._held)
        self._keep(begin)

    def _member(self, begin: int, end: int) -> tuple[bytes, str | None]:
        data, fault = self._held[begin:end].strip(), "too_large" if self._too_large else None
        self._too_large = False
        if not data:
            fault = "not_json"
        if len(data) > MAX_BYTES:
            fault = "too_large"
        return (data if fault is None else data[:1000]), fault

    def _keep(self, begin: int) -> None:
        """Only what belongs to the open member stays; of one that is too large, only its beginning and its end."""
        self._held, self._at = self._held[begin:], self._at - begin
        if self._at > 2 * MAX_BYTES:
            self._too_large = True
            self._held, self._at = self._held[:1000] + self._held[self._at :], 1000

    def rest(self) -> bytes:
        """What is read and belongs to no member: the one that is open, or what follows the array."""
        return self._held.strip()[:1000]


def rows_of_table(file: Readable, delimiter: str) -> Iterator[Line]:
    """The rows of a table with a header, quotes as in RFC 4180; an empty cell counts as absent."""
    csv.field_size_limit(MAX_BYTES)
    raw = _Raw(file)
    text = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="")  # type: ignore[type-var]
    rows = csv.reader(text, delimiter=delimiter, strict=True)
    header = next(rows, [])
    number = 0
    while True:
        number += 1
        try:
            cells = next(rows, None)
        except csv.Error as error:
            yield Line(number, b"", "bad_table", str(error))
            continue
        if cells is None:
            return
        yield _table_row(number, header, cells)


def _table_row(number: int, header: list[str], cells: list[str]) -> Line:
    if not cells:
        return Line(number, b"")
    if len(cells) != len(header):
        found = f"{len(cells)} cells, but the header has {len(header)}"
        return Line(number, ",".join(cells).encode("utf-8", "surrogateescape")[:1000], "bad_table", found)
    filled = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
    return Line(number, json.dumps(filled, ensure_ascii=False).encode("utf-8", "surrogateescape"))


class _Raw(io.BufferedIOBase):
    """A readable as the standard library wants it."""

    def __init__(self, file: Readable) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        return self._file.read(size)
