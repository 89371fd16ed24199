"""The JSON API, fuzzed from its own document against a running server: nothing that is sent breaks it.

`FUZZ_REQUESTS` is how many requests each operation gets in each way; the default is a short run.
"""

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from tests.rules.references import FOLDER
from tests.support.dashboard import TOKEN, Dashboard, dashboard
from tests.support.filled import every_kind, filled
from tests.support.typed import typed

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )  # fmt: skip

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "12"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
DOCUMENT = json.loads((FOLDER / "openapi.json").read_text(encoding="utf-8"))
OPERATIONS = [found.ok() for found in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fuzz")

    async def make() -> None:
        async with filled(made / "t.db") as at:
            await every_kind(at)

    anyio.run(make)
    return made


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Dashboard]:
    with dashboard(folder) as found:
        yield found


THERE = {"name": "d", "sample_id": "s1", "attempt": 1, "number": 1}


def there(case: Any) -> None:
    """Aim at what the store has, else nearly everything would be a 404."""
    case.path_parameters = {key: THERE[key] for key in case.path_parameters or {}}


@pytest.mark.parametrize("way", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=str)
@pytest.mark.parametrize("operation", OPERATIONS, ids=[operation.label for operation in OPERATIONS])
def test_what_is_sent_breaks_nothing(running: Dashboard, operation: Any, way: GenerationMode) -> None:
    """The status is one of those that the document has for it, and so is the form of the answer; never a 500."""

    @settings(
        max_examples=REQUESTS, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=way), aimed=st.booleans())
    def ask(case: Any, aimed: bool) -> None:
        if aimed:
            there(case)
        answer = case.call(base_url=running.url, headers={"authorization": f"Bearer {TOKEN}"}, allow_redirects=False)
        case.validate_response(answer, checks=CHECKS)

    try:
        ask()
    except Unsatisfiable:
        assert way is GenerationMode.NEGATIVE  # nothing of it can be wrong: it takes nothing
    assert running.process.poll() is None


def test_afterwards_the_store_is_as_sound_as_before(running: Dashboard, folder: Path) -> None:
    assert running.ask("/api/v1/overview", authorization=f"Bearer {TOKEN}").json["data"]["adds_up"] is True
    done = typed(folder, "--db", "t.db", "verify", "--full")
    assert (done.returncode, done.stdout[:3]) == (0, b"ok:"), done.stdout.decode()
