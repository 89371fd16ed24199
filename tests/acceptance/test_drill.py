"""The fault drill is made of what is there. That it can fail it shows itself, before each run."""

import subprocess
import sys

from tests.drill import patching
from tests.drill.points import CALLS, OPERATIONS
from tests.support.forks import ROOT, environment


def test_every_named_point_is_still_a_function_of_the_product() -> None:
    for target in (*OPERATIONS.values(), *CALLS.values()):
        assert callable(patching.find(target)), target


def test_the_same_seed_gives_the_same_schedule() -> None:
    shown = [
        subprocess.run(
            [sys.executable, "-m", "tests.drill", "--list", "--size", "short", "--seed", "7"],
            cwd=ROOT, env=environment(), capture_output=True, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert shown[0] == shown[1]
    assert b"seed 7, size short" in shown[0]


def test_the_launcher_kills_a_command_at_its_point() -> None:
    body = b'{"body": {"choices": [{"message": {"content": "a</think>b"}, "finish_reason": "stop"}]}}'
    for point, code in ((["read.before", "1"], -9), ([], 0)):
        command = [sys.executable, "-m", "tests.drill.launch", *point, "--", "parse", "-"]
        done = subprocess.run(command, cwd=ROOT, env=environment(), input=body, capture_output=True, check=False)
        assert done.returncode == code, done.stderr
