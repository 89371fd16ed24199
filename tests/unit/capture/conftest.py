"""Hypothesis profiles, and the rows behind the arguments `case` and `recording`."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.unit.capture.case_file import CASES, RECORDINGS

# HYPOTHESIS_PROFILE=deep takes minutes a property: give pytest `--timeout 0` and, with `-k`, a property.
settings.register_profile("quick", max_examples=200, deadline=None, database=None)
settings.register_profile(
    "deep", max_examples=100_000, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", CASES, ids=[case["id"] for case in CASES])
    if "recording" in metafunc.fixturenames:
        ids = [f"{row['server']}-{row['case']}" for row in RECORDINGS]
        metafunc.parametrize("recording", RECORDINGS, ids=ids)
