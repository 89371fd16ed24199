"""What is installed beside us: every version, its licence, and whether it is the pinned one; then the advisories.

`python -m tests.audit` or `make audit`. Advisories are asked by pip-audit, where it is installed and reaches its
database; where not, that is said, since nothing was checked then. Exit 1: a version is not the pinned one, or an
advisory stands.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
OURS = "thinkledger"
NOT_SAID = "not said"
NOT_ASKED = "advisories  NOT ASKED: {why}. Nothing is known about holes in these versions from this run."


@dataclass(frozen=True)
class Installed:
    """One package that runs with us."""

    name: str
    version: str
    licence: str
    pinned: str | None

    @property
    def as_pinned(self) -> bool:
        return self.pinned == self.version


def pins() -> dict[str, str]:
    """The pinned version of every name."""
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, _, version in pairs}


def closure(name: str = OURS, extras: frozenset[str] = frozenset()) -> dict[str, Distribution]:
    """A package with all that it needs, and what that needs, as it is installed; tests and tools are not in it."""
    found: dict[str, Distribution] = {}
    waiting = [(name, extras)]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        try:
            found[canonicalize_name(name)] = distribution(name)
        except PackageNotFoundError:
            continue
        for needed in _needs(found[canonicalize_name(name)], extras):
            if needed not in seen:
                seen.add(needed)
                waiting.append(needed)
    del found[OURS]
    return found


def _needs(package: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for line in package.requires or []:
        needed = Requirement(line)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            yield canonicalize_name(needed.name), frozenset(needed.extras)


def installed() -> list[Installed]:
    """All of it, by name."""
    pinned = pins()
    return [
        Installed(name, package.version, _licence(package), pinned.get(name))
        for name, package in sorted(closure().items())
    ]


def _licence(package: Distribution) -> str:
    said = package.metadata.get_all("License-Expression") or []
    classifiers = package.metadata.get_all("Classifier") or []
    named = [line.rpartition(" :: ")[2] for line in classifiers if "License ::" in line]
    older = [text.partition("\n")[0] for text in package.metadata.get_all("License") or []]
    return next((", ".join(found) for found in (said, named, older) if found), NOT_SAID)


def advisories() -> tuple[int, str]:
    """What pip-audit says of the pins: 0 nothing known, 1 something stands, 2 not asked."""
    program = shutil.which("pip-audit")
    if program is None:
        return 2, NOT_ASKED.format(why="pip-audit is not installed")
    order = [program, "--requirement", str(CONSTRAINTS), "--no-deps", "--disable-pip", "--progress-spinner", "off"]
    done = subprocess.run(order, capture_output=True, text=True, check=False)
    if done.returncode and "Found" not in done.stderr:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        return 2, NOT_ASKED.format(why=why)
    return int(done.returncode != 0), done.stdout + done.stderr


def _put(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> int:
    found = installed()
    for one in found:
        pin = "" if one.as_pinned else f"  PINNED {one.pinned or 'not at all'}"
        _put(f"{one.name:24} {one.version:12} {one.licence}{pin}")
    other = [one.name for one in found if not one.as_pinned]
    _put(f"versions    {len(found)} packages, {len(other)} not as pinned")
    code, said = advisories()
    _put(said)
    return int(code == 1 or bool(other))


if __name__ == "__main__":
    sys.exit(main())
