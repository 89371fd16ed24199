"""Backup: a consistent copy beside busy writers, verified before it gets its name."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from anyio import to_thread

from app.gates.soundness import Verified, note_verified
from app.keeping import statements
from app.leasing import events
from app.model.errors import IntegrityFailure, NotFound, Refused
from app.store.copying import PartFile, Progress, copy_store, part_file, require_room
from app.store.place import Place
from app.store.store import Store, open_store
from app.store.transaction import Tx
from app.verify.findings import Finding, Report
from app.verify.verifying import Told, verify

SHOWN = 5  # findings that an error quotes


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup."""

    path: Path
    size: int
    sha256: str
    seq: int  # it holds every transaction up to this one
    jobs: int
    responses: int


@dataclass(frozen=True, slots=True)
class Shown:
    """Who is told how far the copy and its verification are."""

    copying: Progress
    verifying: Progress


def target_of(place: Place, asked: Path | None, now_ms: int) -> Path:
    """The file that a backup goes to: the one named, or one with the time in its name in the folder named."""
    if asked is None:
        place.backups.mkdir(mode=0o700, exist_ok=True)
        asked = place.backups
    if not asked.is_dir():
        return asked.absolute()
    moment = datetime.fromtimestamp(now_ms / 1000, UTC)
    name = f"{place.path.stem}-{moment:%Y%m%dT%H%M%S}.{now_ms % 1000:03}Z.db"
    return asked.absolute() / name


async def backup(store: Store, target: Path, shown: Shown) -> Backup:
    """Copy, verify, then name. Whatever goes wrong, the store and older backups are as they were."""
    _refuse(store.place, target)
    require_room(store.place, target)
    with part_file(target) as part:
        await copy_store(store.place, part, shown.copying)
        report, findings = await check_copy(part.path, shown.verifying, full=False)
        if not report.sound:
            unsound = target.with_name(target.name + ".unsound")
            part.finish(unsound)
            await store.write(note_verified, Verified(report.findings, full=False, seq=report.seq))
            raise IntegrityFailure(f"The copy is in {unsound}, and it is not sound: {quote(report, findings)}")
        made = await _finish(part, report)
    await store.write(_note, made)
    return made


def _refuse(place: Place, target: Path) -> None:
    if not target.parent.is_dir():
        raise NotFound(f"{target.parent} is no folder, so no backup can be written there. Create it first.")
    if target.exists() or target == place.path:
        raise Refused(f"{target} exists. Backups are never written over: name another file, or a folder.")


async def check_copy(path: Path, progress: Progress, *, full: bool) -> tuple[Report, list[Finding]]:
    """Verify a copy that nobody else has open."""
    findings: list[Finding] = []

    def keep(finding: Finding) -> None:
        if len(findings) < SHOWN:
            findings.append(finding)

    async with open_store(str(path)) as copy:
        return await verify(copy, Told(keep, progress), full=full), findings


def quote(report: Report, findings: Sequence[Finding]) -> str:
    """The first findings, and how many there are."""
    return f"{report.findings:,} findings, first: " + " | ".join(finding.line for finding in findings)


async def _finish(part: PartFile, report: Report) -> Backup:
    digest = await to_thread.run_sync(part.sha256)
    made = Backup(part.target, part.size(), digest, report.seq, report.jobs, report.responses)
    if part.target.exists():
        raise Refused(f"{part.target} was made by somebody else meanwhile. Name another file.")
    await to_thread.run_sync(part.finish)
    return made


async def _note(tx: Tx, made: Sequence[Backup]) -> list[None]:
    for one in made:
        await tx.seq()
        await tx.run(statements.note_backup(), {"at_ms": tx.now_ms, "as_of_seq": one.seq})
        await events.note(tx, "backup", path=str(one.path), bytes=one.size, sha256=one.sha256, seq=one.seq)
    return [None] * len(made)


def sweep(place: Place, newest: Path, keep: int, tell: Callable[[Path], None]) -> None:
    """Remove the oldest backups of this store beside `newest`; only files with names as `target_of` gives them."""
    ours = re.compile(re.escape(place.path.stem) + r"-\d{8}T\d{6}\.\d{3}Z\.db")
    found = sorted(path for path in newest.parent.iterdir() if ours.fullmatch(path.name))
    for old in found[:-keep]:
        if old != newest:
            tell(old)
            old.unlink()
