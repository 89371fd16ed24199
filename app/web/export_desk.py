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
            await export_dataset(self.store, request, listener=Listener(on_census, on_rows))
        except ThinkledgerError as error:
            build.error = str(error)
            log.warning("export %s: %s", build.name, error)
        else:
            del self.builds[build.name]
