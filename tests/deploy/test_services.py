"""The service files start what they say, with settings that are there, and let a worker end in its own time."""

import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.model.exits import Exit
from tests.deploy.units import DEPLOY, entries, parse, tree, variables
from tests.support.product import Product, wait_for
from tests.support.simulator import Simulator
from worker import cli_settings
from worker.option_values import seconds

SERVICES = ("thinkledger-worker@.service", "thinkledger-serve.service", "thinkledger-backup.service")
ENVIRONMENTS = ("common.env", "worker-gpu-1.env", "serve.env")
COMMAND = "/opt/thinkledger/bin/thinkledger"
FOR_A_PERSON = {Exit.USAGE, Exit.NOT_FOUND, Exit.REFUSED, Exit.GATE, Exit.INTEGRITY}
GRACE_S = 30.0


def words(unit: str) -> list[str]:
    (line,) = entries(unit)["ExecStart"]
    command, *rest = line.replace("%i", "gpu-1").split()
    assert command == COMMAND
    return rest


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "container/compose.yaml").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("unit", "verbs"), list(zip(SERVICES, (["worker", "start"], ["serve"], ["backup"]), strict=True))
)
def test_a_unit_starts_a_command_that_is_there(unit: str, verbs: list[str]) -> None:
    asked = words(unit) + (["--endpoint", "http://127.0.0.1:1"] if verbs == ["worker", "start"] else [])
    assert parse(asked) == verbs


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_variable_is_a_setting(name: str) -> None:
    found = variables(name)
    assert found
    assert cli_settings.sources(tree(), found, Path("no such file")).keys() == {
        key.removeprefix("THINKLEDGER_").lower() for key in found
    }


@pytest.mark.parametrize("unit", SERVICES[:2])
def test_what_only_a_person_can_mend_is_not_started_again(unit: str) -> None:
    found = entries(unit)
    assert {int(code) for code in found["RestartPreventExitStatus"][0].split()} == FOR_A_PERSON
    assert found["SuccessExitStatus"] == [str(int(Exit.TERMINATED))]
    assert found["Restart"] == ["on-failure"]
    assert found["StartLimitIntervalSec"] == ["0"]


def test_a_worker_may_end_in_its_own_time() -> None:
    assert float(entries(SERVICES[0])["TimeoutStopSec"][0]) > GRACE_S
    grace = next(one for path, command in cli_settings.paths(tree()) if path == "worker start"
                 for one in command.params if one.name == "grace")  # fmt: skip
    assert seconds(str(grace.default)) == GRACE_S
    assert seconds(compose()["services"]["worker"]["stop_grace_period"]) > GRACE_S


@pytest.mark.parametrize("unit", [*SERVICES, "thinkledger-backup.timer"])
def test_systemd_takes_the_units(unit: str, tmp_path: Path) -> None:
    """Tried in a folder of its own, with a program that is there; everything else as it stands."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here; Debian's package systemd has it")
    for file in (DEPLOY / "systemd").glob("thinkledger*"):
        text = file.read_text(encoding="utf-8").replace(COMMAND, "/bin/true")
        (tmp_path / file.name.replace("@.", "@gpu-1.")).write_text(text, encoding="utf-8")
    name = tmp_path / unit.replace("@.", "@gpu-1.")
    done = subprocess.run([analyze, "verify", "--man=no", name], capture_output=True, text=True, check=False)
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "thinkledger" in line]
    assert (done.returncode, ours) == (0, [])


def test_the_worker_of_the_unit_works_and_ends_as_systemd_expects(tmp_path: Path) -> None:
    """Its command line and its environment, a signal as `systemctl stop` sends it, and the exit status."""
    with Simulator("--persona", "sglang") as simulator:
        product = Product(tmp_path)
        product.import_prompts("d", [f"question {number}" for number in range(4)])
        said = variables("common.env") | variables("worker-gpu-1.env")
        said |= {"THINKLEDGER_DB": str(product.db), "THINKLEDGER_ENDPOINT": simulator.url}
        running = product.start(*words(SERVICES[0]), **said)
        try:
            wait_for(lambda: product.peek("SELECT count(*) FROM job WHERE state = 'done'") == [(4,)], "all are done")
            running.signal(signal.SIGTERM)
            assert running.wait(Exit.TERMINATED).startswith("{")
        finally:
            running.kill()
    assert product.value("SELECT name FROM worker") == "gpu-1"


def test_the_compose_file_starts_commands_that_are_there_on_one_local_volume() -> None:
    services = compose()["services"]
    assert parse([*services["worker"]["command"], "--endpoint", "http://127.0.0.1:1"]) == ["worker", "start"]
    assert parse(services["dashboard"]["command"]) == ["serve"]
    assert services["dashboard"]["ports"] == ["127.0.0.1:8484:8484"]
    for service in services.values():
        assert service["volumes"] == ["store:/data"]
        assert service["restart"] == "on-failure:5"  # the exits that only a person can mend end it as well
        assert (DEPLOY / "container" / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        known = set(cli_settings.sources(tree(), service.get("environment", {}), Path("no such file")))
        assert known == {key.removeprefix("THINKLEDGER_").lower() for key in service.get("environment", {})}
    assert compose()["volumes"] == {"store": None}


def test_the_container_file_copies_what_is_there_and_runs_as_nobody_of_importance() -> None:
    lines = (DEPLOY / "container/Containerfile").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    orders = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENV", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    assert {order for order, _ in orders} <= known
    copied = [
        source for order, rest in orders if order == "COPY" and "--from" not in rest for source in rest.split()[:-1]
    ]
    assert copied
    assert [source for source in copied if not (DEPLOY.parent / source).exists()] == []
    packaged = re.findall(r'"(\w+)" = "app/_data/', (DEPLOY.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"app", "worker", *packaged} <= set(copied)
    said = dict(orders)
    assert said["USER"] == "10001:10001"
    assert said["STOPSIGNAL"] == "SIGTERM"
    assert said["VOLUME"] == "/data"
