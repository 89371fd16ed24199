"""The wheel works in a virtual environment of its own, anywhere: templates, migrations, pages and prompts are in it."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by pip from the tree, with the build tools of this environment: nothing is fetched."""
    out = tmp_path_factory.mktemp("wheel")
    order = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, ROOT]
    done = subprocess.run([sys.executable, "-m", "pip", *order], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("thinkledger-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel in it. Its dependencies are those of this environment, our checkout is not."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        home / "bin/python",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    done = subprocess.run([*pip, "--no-deps", "--no-index", wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home


def run(home: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("THINKLEDGER_", "PYTHON"))}
    program, *rest = words
    return subprocess.run(
        [home / "bin" / program, *rest], cwd=folder, env=ours, capture_output=True, text=True, check=False
    )


def test_everything_that_is_no_code_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (facts,) = [archive.read(name).decode() for name in names if name.endswith("METADATA")]
    for folder, place in (("templates", "app/_data/templates"), ("migrations", "app/_data/migrations")):
        here = {
            file.relative_to(ROOT / folder) for file in (ROOT / folder).rglob("*") if file.suffix in (".html", ".py")
        }
        assert here
        assert {f"{place}/{file.as_posix()}" for file in here} <= names
    for folder in ("app/web/static", "worker/demo/prompts"):
        assert {file.relative_to(ROOT).as_posix() for file in (ROOT / folder).iterdir() if file.is_file()} <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "deploy/"))]
    assert "License-Expression: Apache-2.0" in facts


def test_the_code_that_runs_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    where = "import app, worker; print(app.__file__, worker.__file__)"
    found = run(installed, tmp_path, "python", "-c", where).stdout.split()
    assert len(found) == 2
    assert all(Path(file).is_relative_to(installed) for file in found)


@pytest.mark.slow
def test_the_demo_runs_to_its_end(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "thinkledger", "demo", "--exit")
    assert done.returncode == 0, done.stderr
    (manifest,) = tmp_path.rglob("*.manifest.json")
    file = manifest.with_name(manifest.name.removesuffix(".manifest.json"))
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
    assert len(rows) == json.loads(manifest.read_text(encoding="utf-8"))["rows"] > 50
    assert all(row["reasoning"] for row in rows)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["python", "-m", "worker", "--help"], "start"),
        (["worker", "start", "--help"], "--until-empty"),
        (["export", "--help"], "--dataset"),
        (["thinkledger", "--help"], "Start with `thinkledger demo`"),
        (["thinkledger", "completion", "bash"], "_THINKLEDGER_COMPLETE"),
        (["thinkledger", "--version"], "thinkledger 0.1.0"),
    ],
)
def test_its_commands_are_there(installed: Path, tmp_path: Path, words: list[str], shown: str) -> None:
    done = run(installed, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


def test_the_doctor_finds_a_fresh_machine_well(installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, "thinkledger", "doctor")
    assert (done.returncode, re.findall(r"^(?:warn|fail).*", done.stdout, re.MULTILINE)) == (0, [])
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_made_and_served_without_the_source(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Why?"}\n', encoding="utf-8")
    assert run(installed, tmp_path, "thinkledger", "import", "d", "prompts.jsonl").returncode == 0
    status = run(installed, tmp_path, "thinkledger", "status", "--json")
    assert json.loads(status.stdout)["data"]["total"]["total"] == 1
    render = (
        "from pathlib import Path; from app.web.rendering import render; from app.web.application import STATIC;"
        "assert (STATIC / 'style.css').is_file(); render"
    )
    assert run(installed, tmp_path, "python", "-c", render).returncode == 0
