"""Exports that are being built for the dashboard: one at a time a name, by the same code as the command."""

import logging
from dataclasses import dataclass, field

from app.export.census import Census
from app.export.exporting import Listener, export_dataset
from app.export.folder import ExportFolder
from app.export.foreseen import Foreseen
from app.export.request import ExportRequest
from app.model.errors import Refused, ThinkledgerError
from app.store.store import Store
from app.web.answers import error_number
from app.web.site import Work

log = logging.getLogger("thinkledger.web")


@dataclass(slots=True)
class Build:
    """One export on its way."""

    name: str
    dataset: str
    started_ms: int
    rows: int = 0
    wanted: int | None = None  # rows that the census foresees
    error: str | None = None

    @property
    def running(self) -> bool:
        return self.error is None


@dataclass(slots=True)
class Desk:
    """Takes orders and remembers what became of those that did not succeed; finished files lie in the folder."""

    store: Store
    folder: ExportFolder
    builds: dict[str, Build] = field(default_factory=dict)

    def take(self, request: ExportRequest) -> Work:
        """Accept an order; the work to be run in the background."""
        assert request.target is not None
        name = request.target.name
        standing = self.builds.get(name)
        if standing is not None and standing.running:
            raise Refused(f"{name} is being built already.")
        build = self.builds[name] = Build(name, request.dataset, self.store.now_ms())
        return lambda: self._run(build, request)

    async def _run(self, build: Build, request: ExportRequest) -> None:
        def on_census(_census: Census, foreseen: Foreseen) -> None:
            build.wanted = foreseen.rows

        def on_rows(rows: int) -> None:
            build.rows = rows

        try:
            await self._export(request, Listener(on_census, on_rows))
        except ThinkledgerError as error:
            build.error = str(error)
            log.warning("export %s: %s", build.name, error, exc_info=error.__cause__)
        else:
            del self.builds[build.name]

    async def _export(self, request: ExportRequest, listener: Listener) -> None:
        """Raises nothing but our own errors: one order that goes wrong may not end the server with all others."""
        try:
            await export_dataset(self.store, request, listener=listener)
        except ThinkledgerError:
            raise
        except Exception as error:
            raise Unforeseen(error_number(), request.dataset) from error


class Unforeseen(ThinkledgerError):
    """An error that has no sentence of its own; the log holds what it was, under a number."""

    def __init__(self, number: str, dataset: str) -> None:
        super().__init__(
            f"Something went wrong that was not foreseen; the log of this server tells more under {number}. No file "
            "was made, and nothing in the store was changed. Order it again; where that fails too, `thinkledger export "
            f"--dataset {dataset}` shows the whole error, and `thinkledger verify` whether the store is sound."
        )
