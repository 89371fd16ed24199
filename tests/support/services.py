"""What a machine with systemd has and a test has not: `systemctl`, `journalctl`, `sudo` and `useradd`, below a folder.

`systemctl` reads the unit files that were installed there and starts what they say, with their environment files, in
their folder, as systemd would: a stop is a SIGTERM, and a oneshot is waited for. Nothing of it needs root.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.forks import ROOT

PLACES = ("/opt/thinkledger", "/etc/thinkledger", "/etc/systemd", "/var/lib/thinkledger", "/var/backups/thinkledger")
PROGRAM = "#!%s\nimport sys\nsys.path.insert(0, %r)\nfrom tests.support.services import main\nsys.exit(main(%r, %r))\n"
PROGRAMS = ("systemctl", "journalctl", "sudo", "useradd")
TIMER = ".timer"


def furnish(root: Path, told: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Put the programs into `root/bin`; what stands here for the places that the documents name, and for `told`."""
    places = {place: str(root / place[1:]) for place in PLACES} | dict(told)
    (root / "services.json").write_text(json.dumps({"told": places, "variables": dict(variables)}), encoding="utf-8")
    (root / "etc/systemd/system").mkdir(parents=True)
    for name in PROGRAMS:
        file = root / "bin" / name
        file.write_text(PROGRAM % (sys.executable, str(ROOT), str(root), name), encoding="utf-8")
        file.chmod(0o755)
    return places


def main(root: str, program: str) -> int:
    """One call of one of the programs."""
    words, here = sys.argv[1:], Machine(Path(root))
    match program:
        case "sudo":
            return subprocess.run(words[2:], check=False).returncode  # sudo -u NAME COMMAND ...
        case "journalctl":
            sys.stdout.write(here.log(words[-1]).read_text(encoding="utf-8"))
        case "systemctl":
            return here.control([word for word in words if word != "--now"])
    return 0


class Machine:
    """The services below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        said = json.loads((root / "services.json").read_text(encoding="utf-8"))
        self.told: dict[str, str] = said["told"]
        self.variables: dict[str, str] = said["variables"]

    def log(self, unit: str) -> Path:
        return self.root / f"{unit}.log"

    def control(self, words: list[str]) -> int:
        """`systemctl VERB UNIT ...`"""
        verb, *units = words
        if verb in ("stop", "restart"):
            for unit in self._running(units):
                self._stop(unit)
        if verb in ("start", "enable", "restart"):
            return max([self._start(unit) for unit in units], default=0)
        return 0

    def _running(self, asked: list[str]) -> list[str]:
        found = [file.name.removesuffix(".pid") for file in self.root.glob("*.pid")]
        return [name for name in found if any(Path(name).match(pattern) for pattern in asked)]

    def _start(self, unit: str) -> int:
        entries = self._entries(unit)
        if "ExecStart" not in entries:
            return 0 if unit.endswith(TIMER) else 1
        command = shlex.split(entries["ExecStart"][0].replace("%i", unit.partition("@")[2]))
        with self.log(unit).open("ab") as out:
            process = subprocess.Popen(
                command, cwd=entries["WorkingDirectory"][0], env=self._environment(entries, unit),
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        if entries.get("Type") == ["oneshot"]:
            return process.wait()
        (self.root / f"{unit}.pid").write_text(str(process.pid), encoding="utf-8")
        return 0

    def _stop(self, unit: str) -> None:
        """Until it has ended; it is the child of another call of this program, so nobody here can wait for it."""
        file = self.root / f"{unit}.pid"
        pid = int(file.read_text(encoding="utf-8"))
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.kill(pid, signal.SIGTERM)
        while not _ended(pid):
            time.sleep(0.05)  # a look at the fact again, as systemd's own wait
        file.unlink()

    def _entries(self, unit: str) -> dict[str, list[str]]:
        name, at, _ = unit.partition("@")
        file = name + at if unit.endswith(TIMER) else f"{name}{at}.service"
        found: dict[str, list[str]] = {}
        for line in self._told((self.root / "etc/systemd/system" / file).read_text(encoding="utf-8")).splitlines():
            key, equals, value = line.partition("=")
            if equals and not line.startswith("#"):
                found.setdefault(key, []).append(value)
        return found

    def _environment(self, entries: dict[str, list[str]], unit: str) -> dict[str, str]:
        found = {name: value for name, value in os.environ.items() if not name.startswith("THINKLEDGER_")}
        for said in entries["EnvironmentFile"]:
            file = Path(said.removeprefix("-").replace("%i", unit.partition("@")[2]))
            if said.startswith("-") and not file.exists():
                continue
            lines = self._told(file.read_text(encoding="utf-8")).splitlines()
            found |= dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        return found | self.variables

    def _told(self, text: str) -> str:
        for written, here in self.told.items():
            text = text.replace(written, here)
        return text


def _ended(pid: int) -> bool:
    """Gone, or waiting only for whoever started it to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
