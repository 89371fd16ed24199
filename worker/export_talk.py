"""What `thinkledger export` says about an export, and where."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from worker import cli_context

if TYPE_CHECKING:
    from app.export.census import Census
    from app.export.exporting import Listener, Report
    from app.export.foreseen import Foreseen
    from app.export.request import ExportRequest


class Talk:
    """What is said about an export, and where."""

    def __init__(
        self, settings: cli_context.Globals, *, as_json: bool, allow_incomplete: bool, asked_for_captured: bool
    ) -> None:
        self._settings = settings
        self._as_json = as_json
        self.allow_incomplete = allow_incomplete
        self._asked_for_captured = asked_for_captured
        self._warned = False  # of what a preset's reader loses: once, however many datasets

    def listener(self, request: "ExportRequest") -> "Listener":
        """Numbers first; then, in a terminal, how far it is."""
        from app.export.exporting import Listener

        def on_census(census: "Census", foreseen: "Foreseen") -> None:
            from app.export.presets import SHAPES

            for line in _account(census, foreseen):
                self._say(line)
            warning = SHAPES[request.preset].warning
            if warning is not None and not self._warned:
                self._warned = True
                self._say(f"warning: {warning}")

        def on_resume(rows: int) -> None:
            self._say(f"{request.dataset}: goes on after {rows:,} rows of an export that was cut off")

        def on_unrecorded(error: Exception) -> None:
            cli_context.say(f"The file is whole, but the store could not note it down: {error}")

        on_rows = _counting() if self._settings.live_progress else lambda _rows: None
        return Listener(on_census, on_resume, on_rows, on_unrecorded)

    def is_whole(self, report: "Report") -> bool:
        """Whether nothing is left out that was not asked to be left out."""
        from app.export.request import LOST

        lost = sum(report.left_out.get(verdict, 0) for verdict in LOST)
        asked = lost == 0 or self._asked_for_captured
        return self.allow_incomplete or (report.complete and asked and not report.unfit)

    def done(self, request: "ExportRequest", report: "Report") -> None:
        """The result: one sentence on stderr, or one object."""
        if report.unfit:
            why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(report.unfit.items()))
            self._say(f"{sum(report.unfit.values()):,} more answers have no row in such a file: {why}.")
        if self._as_json:
            self._object(request, report)
            return
        from app.export.request import packing_of
        from app.progress import wording
        from app.spool.looking import waiting_words

        files = _files(request, report)
        where = f"{len(files):,} files {files[0]} ..." if request.shard_size else request.target or "stdout"
        if request.target is not None and packing_of(request.target.name) is not request.packing:
            self._say(
                f"{where} holds {request.packing} data although its name does not say so, as --{request.packing} asks."
            )
        self._say(
            f"{report.written.rows:,} rows, {wording.size(report.written.bytes)} written to {where} "
            f"as of seq {report.census.seq:,}; sha256 {report.written.sha256}"
        )
        if not self.is_whole(report):
            self._say("Exit code 6: rows are left out that nobody asked to leave out (--allow-incomplete makes it 0).")
        if report.in_spool:
            self._say(waiting_words(report.in_spool))
        if report.with_tool_calls:
            self._say(f"{report.with_tool_calls:,} answers or conversations have `tool_calls`, which came in a field.")

    def _say(self, text: str) -> None:
        """Talk, unless only errors are wanted; then the exit code and the manifest tell."""
        if self._settings.verbosity >= 0:
            cli_context.say(text)

    def _object(self, request: "ExportRequest", report: "Report") -> None:
        written = report.written
        facts = {
            "dataset": request.dataset, "file": None if request.target is None else str(request.target),
            "files": _files(request, report),
            "manifest": None if report.manifest is None else str(report.manifest), "complete": report.complete,
            "seq": report.census.seq, "jobs": report.census.total, "rows": written.rows, "bytes": written.bytes,
            "sha256": written.sha256, "left_out": report.left_out, "with_tool_calls": report.with_tool_calls,
            "in_spool": report.in_spool,
        }  # fmt: skip
        if request.target is None:
            cli_context.say(json.dumps({"schema": 1} | facts))
        else:
            cli_context.put_json(facts)


def _files(request: "ExportRequest", report: "Report") -> list[str]:
    """The files that were written; none on standard output."""
    from app.export.naming import finals

    if request.target is None:
        return []
    sharded = request.shard_size is not None
    return [str(path) for path in finals(request.target, len(report.written.pieces), sharded=sharded)]


def _account(census: "Census", foreseen: "Foreseen") -> Iterator[str]:
    """What will be in the file and what will not, and loudly whether the dataset is finished."""
    from app.model.states import JobState
    from app.progress import wording

    yield f"{census.name}: {census.total:,} jobs, {census.state(JobState.DONE):,} done, as of seq {census.seq:,}"
    size = None if foreseen.bytes is None else wording.size(foreseen.bytes)
    yield f"{census.name}: {foreseen.words(size)}"
    if not census.complete:
        yield f"{census.name}: NOT FINISHED. The file holds what is there now; its manifest says complete: false."


def _counting() -> Callable[[int], None]:
    """A count that stays on its line, ten times a second at most."""
    shown = 0.0

    def on_rows(rows: int) -> None:
        nonlocal shown
        if time.monotonic() - shown > 0.1:
            shown = time.monotonic()
            sys.stderr.write(f"\r{rows:,} rows \r")
            sys.stderr.flush()

    return on_rows
