"""Shells complete verbs and options, by the script that the command prints."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.forks import environment
from tests.support.typed import typed

PROGRAM = "#!%s\nimport sys\nfrom worker.cli import main\nsys.exit(main())\n"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with the program in it."""
    program = tmp_path / "thinkledger"
    program.write_text(PROGRAM % sys.executable, encoding="utf-8")
    program.chmod(0o755)
    return f"{tmp_path}:{environment()['PATH']}"


def completed(path: str, *words: str) -> list[str]:
    """What a real bash offers for the last of these words."""
    said = " ".join(f"'{word}'" for word in words)
    script = f"""eval "$(thinkledger completion bash)"
complete -p thinkledger >/dev/null || exit 9
COMP_WORDS=({said}); COMP_CWORD={len(words) - 1}
_thinkledger_completion thinkledger
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    surroundings = environment() | {"PATH": path}
    done = subprocess.run(["bash", "-c", script], env=surroundings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_verbs_and_options(path: str) -> None:
    assert completed(path, "thinkledger", "st") == ["status"]
    assert set(completed(path, "thinkledger", "worker", "")) == {"start", "list", "drain"}
    assert completed(path, "thinkledger", "worker", "start", "--until") == ["--until-empty"]
    assert completed(path, "thinkledger", "completion", "z") == ["zsh"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_a_setting_that_is_wrong_keeps_nobody_from_completing(path: str, tmp_path: Path) -> None:
    said = {"PATH": path, "_THINKLEDGER_COMPLETE": "complete_bash", "COMP_WORDS": "thinkledger exp", "COMP_CWORD": "1"}
    wrong = {"THINKLEDGER_CONCURENCY": "8"}
    done = subprocess.run(
        ["thinkledger"], env=environment() | said | wrong, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["export"]


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --command")]
)
def test_each_shell_has_a_script(tmp_path: Path, shell: str, mark: str) -> None:
    done = typed(tmp_path, "completion", shell)
    assert done.returncode == 0
    assert mark in done.stdout.decode()
    assert "_THINKLEDGER_COMPLETE" in done.stdout.decode()


def test_another_shell_is_refused_with_those_there_are(tmp_path: Path) -> None:
    done = typed(tmp_path, "completion", "csh")
    assert done.returncode == 2
    for shell in ("bash", "zsh", "fish"):
        assert shell in done.stderr.decode()
