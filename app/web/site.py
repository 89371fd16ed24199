"""What the routes serve, and who may see it."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from app.store.store import Store
from app.web.door import Door
from app.web.hosts import Hosts

Work = Callable[[], Coroutine[Any, Any, None]]


def _nothing_runs(_work: Work) -> None:
    raise RuntimeError("this server has nowhere to run work in the background")


@dataclass(frozen=True, slots=True)
class Site:
    """One store behind one address."""

    store: Store
    hosts: Hosts
    door: Door | None  # None: everybody on this machine
    read_only: bool = False
    root: str = ""  # what stands before every path where a proxy serves it below one
    trusted: frozenset[str] = field(default_factory=frozenset)  # further origins that may send changes
    background: Callable[[Work], None] = _nothing_runs

    def url(self, path: str, **query: object) -> str:
        """An address of this site; what is None is not said."""
        said = {key: str(value) for key, value in query.items() if value is not None}
        return self.root + path + (f"?{urlencode(said)}" if said else "")

    def dataset_url(self, name: str, rest: str = "", **query: object) -> str:
        """An address of a dataset."""
        return self.url(f"/datasets/{quote(name, safe='')}{rest}", **query)

    def sample_url(self, name: str, sample_id: str, replica: int = 0, **query: object) -> str:
        """The permalink of a sample. Ids that a path cannot carry unchanged stand in the query."""
        more = {"replica": replica or None, **query}
        if stands_in_a_path(sample_id):
            return self.dataset_url(name, f"/samples/{quote(sample_id, safe='')}", **more)
        return self.dataset_url(name, "/sample", id=sample_id, **more)


def stands_in_a_path(sample_id: str) -> bool:
    """Whether browsers, proxies and servers leave this text alone within a path.

    A slash would be a border, `.` and `..` are walked away, and a percent sign is decoded twice on the way (tried).
    """
    odd = any(character in "/\\%" or ord(character) < 0x20 for character in sample_id)
    return bool(sample_id) and not odd and sample_id.strip(".") != ""
