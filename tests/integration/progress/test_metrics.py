"""The metrics say what the pages say, in a form that Prometheus reads, and their reference says what the code does."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.gates.evaluating import Look, evaluate
from app.leasing.holds import HoldKind, HoldRequest, hold
from app.model.bins import LATENCY_BINS, LATENCY_ENDS, latency_bin_of
from app.progress.metric_facts import metric_facts
from app.progress.metric_text import metric_text
from app.progress.metrics import METRICS
from tests.support.dashboard import TOKEN, dashboard
from tests.support.filled import every_kind, filled
from tests.support.kinds import KINDS, stores_on
from tests.support.typed import typed

ROOT = Path(__file__).resolve().parents[3]
Values = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(text: str) -> Values:
    families = list(text_string_to_metric_families(text))
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def of(values: Values, name: str, **labels: str) -> float | None:
    return values.get((name, frozenset(labels.items())))


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Jobs in every state, a hold, a worker with leases, and an evaluator."""
    made = tmp_path_factory.mktemp("metrics")

    async def make() -> None:
        async with filled(made / "t.db") as at:
            dataset = await every_kind(at)
            await at.store.write(hold, HoldRequest(dataset, HoldKind.GATE, "too few"))
            at.clock.ms += 90_000
            await at.store.write(evaluate, Look("test", (1, 10**15)))

    with stores_on(request.param):
        anyio.run(make)
        yield made


@pytest.fixture(scope="module")
def values(folder: Path) -> Values:
    return parsed(typed(folder, "--db", "t.db", "metrics").stdout.decode())


def test_numbers_are_those_of_the_overview(folder: Path, values: Values) -> None:
    told = json.loads(typed(folder, "--db", "t.db", "status", "--json").stdout)["data"]
    for one in told["datasets"]:
        name = one["name"]
        assert of(values, "thinkledger_dataset_jobs", dataset=name) == one["total"]
        for state, count in one["states"].items():
            assert of(values, "thinkledger_jobs", dataset=name, state=state) == count
    states = [value for (name, _), value in values.items() if name == "thinkledger_jobs"]
    totals = [value for (name, _), value in values.items() if name == "thinkledger_dataset_jobs"]
    assert sum(states) == sum(totals) == 84
    captured = of(values, "thinkledger_captured", dataset="d")
    graded = of(values, "thinkledger_graded", dataset="d")
    assert captured is not None
    assert graded is not None
    assert of(values, "thinkledger_capture_ratio", dataset="d") == captured / graded
    assert of(values, "thinkledger_captured", dataset="d-off") == 0
    assert of(values, "thinkledger_capture_ratio", dataset="d-off") is None
    assert of(values, "thinkledger_late_answers_total", dataset="d") == 1
    assert of(values, "thinkledger_failed_jobs", dataset="d", cause="rejected") == 1
    assert of(values, "thinkledger_hold", dataset="d", kind="gate") == 1


def test_every_stored_body_of_a_worker_is_in_one_bucket_of_latencies(folder: Path, values: Values) -> None:
    name = "thinkledger_answer_latency_seconds"
    bodies = of(values, f"{name}_count", dataset="d")
    assert bodies is not None
    assert bodies > 20
    assert of(values, f"{name}_bucket", dataset="d", le="1.0") == 0
    assert of(values, f"{name}_bucket", dataset="d", le="2.0") == bodies  # each took 1.5 s
    assert of(values, f"{name}_bucket", dataset="d", le="+Inf") == bodies
    assert of(values, f"{name}_sum", dataset="d") == 1.5 * bodies


def test_a_latency_of_just_a_bound_is_in_the_bucket_of_that_bound() -> None:
    assert [latency_bin_of(end) for end in LATENCY_ENDS] == list(LATENCY_BINS[:-1])
    assert [latency_bin_of(end + 1) for end in LATENCY_ENDS] == list(LATENCY_BINS[1:])
    assert latency_bin_of(0) == 0


def test_workers_alarms_and_the_store_are_told(values: Values) -> None:
    worker = next(labels for (name, labels) in values if name == "thinkledger_worker_leases")
    assert dict(worker)["worker"] == "gpu"
    assert values["thinkledger_worker_leases", worker] == 2
    assert values["thinkledger_worker_oldest_lease_age_seconds", worker] > 0
    assert of(values, "thinkledger_alarms", kind="disk_low", dataset="", endpoint="", state="open", holds="no") == 1
    assert of(values, "thinkledger_alarms_open") == sum(
        value
        for (name, labels), value in values.items()
        if name == "thinkledger_alarms" and ("state", "open") in labels
    )
    assert (of(values, "thinkledger_store_bytes") or 0) > 100_000
    assert of(values, "thinkledger_backup_timestamp_seconds") is None
    assert of(values, "thinkledger_evaluation_age_seconds") is not None


def test_no_metric_names_a_sample(values: Values) -> None:
    labels = {key for _, pairs in values for key, _ in pairs}
    assert labels & {"sample", "sample_id", "prompt"} == set()


def test_the_dashboard_tells_them_to_whoever_has_the_token(folder: Path) -> None:
    with dashboard(folder) as running:
        assert running.ask("/metrics").status == 401
        told = running.ask("/metrics", authorization=f"Bearer {TOKEN}")
        refused = running.ask("/metrics?x=1", authorization=f"Bearer {TOKEN}")
    assert told.status == 200
    assert told.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert of(parsed(told.body), "thinkledger_dataset_jobs", dataset="d") == 80
    assert refused.status == 400


def test_an_empty_store_has_metrics_too(tmp_path: Path) -> None:
    async def read() -> str:
        async with filled(tmp_path / "t.db") as at:
            return metric_text(await metric_facts(at.store)).decode()

    found = parsed(anyio.run(read))
    assert of(found, "thinkledger_workers", liveness="live") == 1
    assert not [name for name, _ in found if name == "thinkledger_jobs"]


def test_the_table_gives_every_name_once_with_the_labels_that_come(values: Values) -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert re.fullmatch(r"thinkledger_[a-z_]+", metric.name)
        for name, labels in values:
            if name == metric.name:
                assert {key for key, _ in labels} == set(metric.labels), name


def test_the_reference_is_made_of_the_table() -> None:
    written = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    rows = [
        f"| `{one.name}` | {one.type} | {', '.join(f'`{label}`' for label in one.labels) or '-'} | {one.says} |"
        for one in METRICS
    ]
    assert [line for line in written.splitlines() if line.startswith("| `thinkledger_")] == rows
