"""What stands around every page: its title, the way to the others, and the facts of the store."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.progress import wording
from app.progress.about import program_version
from app.progress.overview import Overview
from app.store import library
from app.web.marks import Mark, endpoints_mark
from app.web.site import Site


@dataclass(frozen=True, slots=True)
class Section:
    """One link of the header; `key` is what follows `g` on the keyboard."""

    key: str
    word: str
    href: str
    here: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """The values of base.html."""

    root: str
    title: str
    say: str  # what a screen reader is told when it changes
    as_of: str
    sections: tuple[Section, ...]
    endpoints: Mark | None
    facts: tuple[str, ...]
    store_path: str
    read_only: bool
    signed_in: bool
    live: bool  # whether the page is asked for again
    said: str | None = None  # what an action came to


@dataclass(frozen=True, slots=True)
class Crumb:
    """A link to what a page stands below."""

    word: str
    href: str


_SECTIONS = (("o", "Overview", "/"), ("d", "Datasets", "/datasets"), ("w", "Workers", "/workers"),
             ("a", "Alerts", "/alerts"), ("e", "Exports", "/exports"))  # fmt: skip


def frame(site: Site, now: Overview, section: str, title: str, *, say: str = "", said: str | None = None) -> Frame:
    """The frame of a page of one section."""
    return Frame(
        root=site.root,
        title=title,
        say=say,
        as_of=wording.moment(now.as_of_ms),
        sections=tuple(
            Section(key, word, site.url(path), word == section, _note(word, now)) for key, word, path in _SECTIONS
        ),
        endpoints=endpoints_mark(now.endpoints),
        facts=tuple(_facts(now)),
        store_path=now.store_path,
        read_only=site.read_only,
        signed_in=site.door is not None,
        live=True,
        said=said,
    )


def bare_frame(site: Site, title: str) -> Frame:
    """The frame of a page that tells nothing about the store."""
    return Frame(site.root, title, "", "", (), None, (), "", False, site.door is not None, live=False)


def error_frame(site: Site, title: str, path: str) -> Frame:
    """The frame of a page that tells of an error at `path`: the way to all others, whether or not the store answers."""
    here = _section_of(path)
    sections = tuple(Section(key, word, site.url(to), to == here) for key, word, to in _SECTIONS)
    return replace(bare_frame(site, title), sections=sections)


def crumbs(site: Site, path: str) -> tuple[Crumb, ...]:
    """The way back from a page at `path` that is not there: its section, and its dataset where it is a part of one."""
    word, section = next(((word, to) for _, word, to in _SECTIONS if to == _section_of(path)), ("Overview", "/"))
    back = (Crumb(word, site.url(section)),)
    name, _, part = path.removeprefix("/datasets/").partition("/")
    return (*back, Crumb(name, site.dataset_url(name))) if section == "/datasets" and name and part else back


def _section_of(path: str) -> str:
    return "/" + path.split("/")[1]


def _note(word: str, now: Overview) -> str:
    return str(len(now.alarms)) if word == "Alerts" and now.alarms else ""


def _facts(now: Overview) -> Iterator[str]:
    yield f"Thinkledger {program_version()}"
    wal = "" if now.on_server else f", WAL {wording.size(now.wal_bytes)}"
    yield f"store {wording.size(now.store_bytes - now.wal_bytes)}{wal}"
    yield f"disk {wording.free(now.disk_free, on_server=now.on_server)}"
    yield wording.last_backup(now.backup_ms, on_server=now.on_server)
    if not now.on_server and not library.is_fixed():
        yield f"SQLite {'.'.join(map(str, library.version()))} can lose committed pages; see doctor"
