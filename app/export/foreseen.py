"""What a file would hold if it were written now: how many rows, about how large, and what would be left out."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from math import ceil

from app.export.census import Census
from app.export.pages import answers_between
from app.export.presets import EACH_TURN, Preset
from app.export.request import Container, ExportRequest, Format
from app.export.sink import sink_of
from app.export.walk import OVER_LIMIT, Taking, Walked, columns_of, lines_of
from app.model.states import OPEN
from app.store.store import Store

PLACES, NEIGHBOURS = 8, 8  # where answers are looked at for the size, and how many jobs at each
PART = 16  # rows of a file at the most, where it is looked at what a file costs beside its rows


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The account of an export before it is written. It adds up to the jobs of the dataset."""

    jobs: int  # that have rows in the file
    each_turn: bool  # whether a job is as many rows as its conversation has turns
    at_most: bool  # whether single answers may have no row in such a file, which only making it tells
    bytes: int | None  # about; None where no answer that was looked at makes a row
    left_out: dict[str, int]
    not_generated: int

    @property
    def rows(self) -> int | None:
        """How many rows; None where only making the file tells."""
        return None if self.each_turn else self.jobs

    def words(self, size: str | None) -> str:
        """The account in a line; `size` is the number of bytes in words."""
        most = "at most " if self.at_most else ""
        about = "" if size is None else f", about {size}"
        rows = "jobs, a row a turn" if self.each_turn else "rows"
        return f"{most}{self.jobs:,} {rows}{about}; {left_words(self.left_out, self.not_generated)}"


def left_words(left_out: Mapping[str, int], not_generated: int) -> str:
    """What has no row, with the reasons; what is not generated yet stands apart."""
    why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(left_out.items()))
    left = f"left out {sum(left_out.values()):,}" + (f": {why}" if why else "")
    return left + (f"; {not_generated:,} not generated yet" if not_generated else "")


def apart(left_out: Mapping[str, int]) -> tuple[dict[str, int], int]:
    """What is left out for a reason, and how much is only not generated yet."""
    pending = set(map(str, OPEN))
    reasons = {reason: count for reason, count in left_out.items() if count and reason not in pending}
    return reasons, sum(count for reason, count in left_out.items() if reason in pending)


async def foresee(store: Store, census: Census, request: ExportRequest) -> Foreseen:
    """The account of an export; of a dataset of any size it reads the same few answers."""
    taken = census.taken(request.only)
    jobs = taken if request.limit is None else min(taken, request.limit)
    left_out, pending = apart(census.left_out(request.only))
    if jobs < taken:
        left_out[OVER_LIMIT] = taken - jobs
    sample = await _looked_at(store, census, request)
    size = None if sample is None or not jobs else sample.bytes_of(jobs, request.shard_size)
    each_turn = census.conversations and request.preset in EACH_TURN
    may_leave = request.preset in (Preset.TOKENS, Preset.TEXT) or request.format is Format.PARQUET
    return Foreseen(jobs, each_turn, may_leave, size, left_out, pending)


async def _looked_at(store: Store, census: Census, request: ExportRequest) -> "_Sample | None":
    """Some answers from all parts of the dataset, written as the export would; None where none of them makes a row."""
    taking = Taking(
        request.only, None, allow_uncaptured=True, preset=request.preset, format=request.format,
        template=request.template,
    )  # fmt: skip
    walked = Walked()
    with closing(_Sample(request.container, request.shard_size)) as sample:
        for place in range(PLACES):
            after = census.last_ordinal * place // PLACES
            until = min(after + NEIGHBOURS, census.last_ordinal * (place + 1) // PLACES)
            page = await answers_between(store, census, after, until, columns_of(request.preset))
            sample.write(lines_of(walked, page, taking))
        sample.finish(walked.jobs)
    return sample if walked.jobs else None


class _Sample:
    """Lines written twice, to one file and to several: what they cost, and what a file costs beside its lines.

    A table has a footer of kilobytes, and a compressor begins anew with each file; in files of ten rows that was a
    quarter of all bytes, in files of two two thirds.
    """

    def __init__(self, container: Container, shard_size: int | None) -> None:
        self._container = container
        self._rows_a_file = PART if shard_size is None else min(shard_size, PART)
        self._whole, self._part = sink_of(None, container), sink_of(None, container)
        self._parts: list[int] = []  # bytes of the files that are full
        self._jobs = self._rows = 0
        self._bytes_a_file = self._bytes_a_job = 0.0

    def write(self, lines: Iterable[bytes]) -> None:
        """Write whole lines."""
        for line in lines:
            self._whole.write([line])
            if self._part.rows == self._rows_a_file:
                self._begin_part()
            self._part.write([line])

    def _begin_part(self) -> None:
        self._parts.append(self._part.finish().bytes)
        self._part.close()
        self._part = sink_of(None, self._container)

    def finish(self, jobs: int) -> None:
        """All is written, of so many jobs."""
        whole, last = self._whole.finish(), self._part.finish().bytes
        self._jobs, self._rows = jobs, whole.rows
        if self._parts:
            self._bytes_a_file = max(0.0, (sum(self._parts) + last - whole.bytes) / len(self._parts))
        self._bytes_a_job = 0.0 if not jobs else max(0.0, whole.bytes - self._bytes_a_file) / jobs

    def close(self) -> None:
        """Let go of the files, finished or not."""
        self._whole.close()
        self._part.close()

    def bytes_of(self, jobs: int, shard_size: int | None) -> int:
        """About how large the files of so many jobs are together."""
        rows = jobs * self._rows / self._jobs
        files = 1 if shard_size is None else ceil(rows / shard_size)
        return round(self._bytes_a_job * jobs + self._bytes_a_file * files)
