"""The log never ends the run, wherever it is written to."""

import sys
from pathlib import Path

import pytest

from worker.log import Log


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_log_on_a_full_disk_costs_lines_and_not_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    full = open("/dev/full", "w", buffering=1, encoding="utf-8")  # noqa: SIM115, PTH123 - it is never closed in order
    monkeypatch.setattr(sys, "stderr", full)
    for _ in range(3):
        Log().warning("store_trouble", reason="the disk is full")
    monkeypatch.undo()
    with pytest.raises(OSError, match="No space left"):
        full.close()
