"""The way of a stranger: a machine with Python, its venv and make, and what the documents tell to type, in one go."""

import json
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.documents import SERVER, Block, Command, blocks, read, shows, steps
from tests.support.forks import ROOT
from tests.support.product import wait_for
from tests.support.receiver import Receiver, receiver
from tests.support.services import furnish
from tests.support.simulator import Simulator

SERVICE, WATCH, RUNBOOK = "docs/how-to/run-as-a-service.md", "docs/how-to/watch-a-run.md", "docs/how-to/runbook.md"
TOOLS = [
    "sh",
    "bash",
    "env",
    "make",
    "cat",
    "cp",
    "rm",
    "mkdir",
    "ls",
    "head",
    "install",
    "touch",
    "grep",
    "sed",
    "dirname",
    "uname",
    "id",
    "sleep",
]
SOURCE = ("app", "worker", "templates", "migrations", "deploy")
FILES = ("pyproject.toml", "constraints.txt", "Makefile", "README.md", "LICENSE")
RUN_ELSEWHERE = {"make test"}  # this is a part of it
OF_A_LONG_RUN = "2,900/10,000"  # a line that a terminal shows after a day; no test has one


@dataclass
class Machine:
    """A folder with a copy of the source, and a PATH with little on it."""

    root: Path
    told: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        return self.root / "thinkledger"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing is fetched: pip finds the dependencies of the test's own environment, and nothing else of it."""
        return {
            "PATH": str(self.root / "bin"), "HOME": str(self.root), "LANG": "C.UTF-8",
            "PYTHONPATH": str(self.root / "dependencies"), "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0",
        }  # fmt: skip

    def script(self, text: str) -> str:
        for written, here in self.told.items():
            text = text.replace(written, here)
        return text

    def type(self, text: str, code: int = 0) -> list[str]:
        """Lines as they stand in a document, in one shell; all that they print."""
        done = subprocess.run(
            ["bash", "-eu", "-c", self.script(text)], cwd=self.source, env=self.environment, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == code, f"{self.script(text)}\n{done.stdout}"
        return done.stdout.splitlines()

    def thinkledger(self, *words: str, code: int = 0) -> list[str]:
        """A look at the store of the services."""
        return self.type(" ".join(["cd /var/lib/thinkledger; /opt/thinkledger/bin/thinkledger", *words]), code)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    found = Machine(tmp_path)
    found.source.mkdir()
    for name in SOURCE:
        shutil.copytree(ROOT / name, found.source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, found.source)
    (tmp_path / "bin").mkdir()
    for name in TOOLS:
        there = shutil.which(name)
        assert there is not None, name
        (tmp_path / "bin" / name).symlink_to(there)
    python = tmp_path / "bin/python3"
    python.write_text(f'#!/bin/sh\nexec {Path(sys.executable).resolve()} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / "dependencies").mkdir()
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith(("pip", "_", "thinkledger")):
            (tmp_path / "dependencies" / package.name).symlink_to(package)
    return found


@contextmanager
def own_server(machine: Machine) -> Iterator[Simulator]:
    """The server that the README names where none is at hand, on a free port."""
    (said,) = set(re.findall(r"`(thinkledger simulate --port 30000)`", read("README.md")))
    words = [str(machine.source / ".venv/bin" / word) if word == "thinkledger" else word for word in said.split()[:-1]]
    process = subprocess.Popen(
        [*words, "0"], cwd=machine.root, env=machine.environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        yield Simulator(port=int(line.rpartition(":")[2]))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        process.stdout.close()


def scripts(page: str) -> Iterator[Block]:
    """The `sh` blocks of a page that it does not except."""
    return (block for block in blocks(page) if block.language == "sh" and block.reason is None)


def prompts(file: Path, word: str, count: int = 30) -> None:
    """Rows as the README describes them."""
    said = [
        {"sample_id": f"{word}-{n}", "messages": [{"role": "user", "content": f"{word} {n}?"}]} for n in range(count)
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in said), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)  # a virtual environment is made twice, and everything is started
def test_from_the_readme_to_a_restored_service(machine: Machine) -> None:
    demo, *own = [step for step in steps("README.md") if isinstance(step, Command) and not elsewhere(step)]
    assert demo.typed.startswith("make demo")
    the_demo_shows_a_file(machine, demo)
    with own_server(machine) as server, receiver() as chat:
        machine.told[SERVER] = server.url
        own_answers_come_out(machine, own)
        told = {**machine.told, "https://chat.example/hooks/...": chat.url, " -o thinkledger -g thinkledger": "",
                "/srv/prompts": str(machine.root / "srv/prompts")}  # fmt: skip
        machine.told = furnish(machine.root, told, {"THINKLEDGER_PORT": "0"})
        try:
            install, start, alert, backup, restore = scripts(SERVICE)
            the_service_works(machine, install, start)
            an_alarm_arrives(machine, alert, server, chat)
            server.play("sglang")  # it is mended: a worker whose server has no thoughts would not start again
            the_backup_comes_back(machine, backup, restore)
        finally:
            machine.type("systemctl stop '*'")


def elsewhere(step: Command) -> bool:
    return step.typed.partition("  ")[0] in RUN_ELSEWHERE


def the_demo_shows_a_file(machine: Machine, demo: Command) -> None:
    said = machine.type(demo.typed)
    (file,) = machine.source.glob("demo/*/B1_glaive.jsonl")
    assert any(str(file.relative_to(machine.source)) in line for line in said), said
    assert all(json.loads(line)["reasoning"] for line in file.read_text(encoding="utf-8").splitlines())


def own_answers_come_out(machine: Machine, own: list[Command]) -> None:
    """Every command in one shell, since the first of them activates the environment for the rest."""
    prompts(machine.source / "prompts.jsonl", "own")
    activate, *rest = own
    for step in rest:
        said = machine.type(f"{activate.typed}\n{step.typed}", step.code)
        if step.prints and OF_A_LONG_RUN not in step.prints[0]:
            assert shows(step.prints, said), "\n".join([step.typed, *said])
    rows = (machine.source / "B1_glaive.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 30
    assert all(json.loads(row)["reasoning"] for row in rows)


def the_service_works(machine: Machine, install: Block, start: Block) -> None:
    """The wheel in an environment of its own, and the commands that the units start."""
    prompts(machine.root / "srv/prompts/B1_glaive.jsonl", "served")
    machine.type(install.text)
    machine.type(start.text)
    wait_for(lambda: "ok" in _status(machine)[-1:] and _are_done(machine, 30), "all is answered")
    assert "dashboard http" in (machine.root / "thinkledger-serve.log").read_text(encoding="utf-8")
    unit = json.loads((machine.root / "thinkledger-worker@gpu-1.log").read_text(encoding="utf-8").splitlines()[0])
    assert unit["event"]


def _are_done(machine: Machine, jobs: int) -> bool:
    return f" {jobs}/{jobs} " in _overview(machine)[0]


def _status(machine: Machine) -> list[str]:
    return _unchecked(machine, "status --check")


def _overview(machine: Machine) -> list[str]:
    return _unchecked(machine, "status")


def _unchecked(machine: Machine, words: str) -> list[str]:
    return machine.type(f"cd /var/lib/thinkledger; /opt/thinkledger/bin/thinkledger {words} || true")


def an_alarm_arrives(machine: Machine, alert: Block, server: Simulator, chat: Receiver) -> None:
    """The server loses its thoughts; the dataset is held, and the message has the keys that its page shows."""
    machine.type(alert.text)
    prompts(machine.root / "srv/prompts/ten.jsonl", "ten", 10)
    machine.thinkledger("import", "B1_glaive", "/srv/prompts/ten.jsonl")
    wait_for(lambda: _are_done(machine, 40), "the worker is up again and works")
    server.play("no_thought")
    prompts(machine.root / "srv/prompts/more.jsonl", "more", 60)
    machine.thinkledger("import", "B1_glaive", "/srv/prompts/more.jsonl")
    wait_for(lambda: any(body["alarm"]["holds"] for body in chat.bodies), "the alarm arrived")
    (shown,) = (json.loads(block.text) for block in blocks(WATCH) if block.language == "json")
    for body in chat.bodies:
        assert (set(body), set(body["alarm"])) == (set(shown), set(shown["alarm"]))
    first = next(step for step in steps(RUNBOOK, "Capture alarm") if isinstance(step, Command))
    words = first.typed.removeprefix("thinkledger ")
    assert any("B1_glaive" in line for line in machine.thinkledger(words, code=first.code))


def the_backup_comes_back(machine: Machine, backup: Block, restore: Block) -> None:
    """What was deleted after the backup is there again, and the services go on."""
    machine.type(backup.text)
    held = _overview(machine)[0]
    assert "/100" in held
    machine.thinkledger("import", "later", "/srv/prompts/more.jsonl")
    said = machine.type(restore.text)
    assert any("restored as of seq" in line for line in said), said
    names = [line.split()[0] for line in machine.thinkledger("datasets") if line.strip()]
    assert "later" not in names
    machine.thinkledger("verify", "--full")
    assert any("1 live" in line for line in _until_live(machine))


def _until_live(machine: Machine) -> list[str]:
    wait_for(lambda: any("1 live" in line for line in _overview(machine)), "the worker is up again")
    return _overview(machine)
