"""The alert rules and the Grafana dashboard name metrics and labels that are there, and the rules do what they say."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.progress.metrics import METRICS, MetricType

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/thinkledger.rules.yml"
UNIT_TESTS = RULES.with_name("thinkledger.rules.test.yml")
GRAFANA = ROOT / "deploy/grafana/thinkledger.json"
SCRAPED = {"job", "instance"}  # labels that Prometheus adds


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(GRAFANA.read_text())["panels"]
    return found


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    yield from (target["expr"] for panel in panels() for target in panel["targets"])
    yield from (
        one["definition"] for one in json.loads(GRAFANA.read_text())["templating"]["list"] if "definition" in one
    )


def known() -> dict[str, set[str]]:
    """The labels of each series."""
    found: dict[str, set[str]] = {}
    for metric in METRICS:
        labels = set(metric.labels) | SCRAPED
        if metric.type is MetricType.HISTOGRAM:
            found |= {f"{metric.name}_{end}": labels for end in ("sum", "count")}
            found[f"{metric.name}_bucket"] = labels | {"le"}
        else:
            found[metric.name] = labels
    return found


def named(expression: str) -> list[tuple[str, set[str]]]:
    """The series of an expression, each with the labels that it is chosen by."""
    found = re.findall(r"(thinkledger_\w+)(?:\{([^}]*)\})?", expression)
    return [(name, set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))) for name, matchers in found]


@pytest.mark.parametrize("expression", list(expressions()))
def test_every_series_is_one_of_the_table_and_has_the_labels_that_it_is_chosen_by(expression: str) -> None:
    for name, labels in named(expression):
        assert name in known(), name
        assert labels <= known()[name], (name, labels - known()[name])


def test_the_check_sees_a_name_and_a_label_that_are_not_there() -> None:
    found = named('rate(thinkledger_jobs_total{state="done"}[5m]) / thinkledger_jobs{colour=~"red|blue"}')
    assert found == [("thinkledger_jobs_total", {"state"}), ("thinkledger_jobs", {"colour"})]
    assert "thinkledger_jobs_total" not in known()
    assert "colour" not in known()["thinkledger_jobs"]


def test_every_rule_says_whom_it_wakes_and_is_tested() -> None:
    tests = yaml.safe_load(UNIT_TESTS.read_text())["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
        assert rule["annotations"]["summary"], rule["alert"]
        fires = [bool(case["exp_alerts"]) for case in cases if case["alertname"] == rule["alert"]]
        assert set(fires) == {True, False}, rule["alert"]
        action = rule["annotations"].get("action", "")
        assert not action.startswith("docs/") or (ROOT / action).is_file(), action


def test_every_metric_but_those_of_the_program_is_shown_or_alerts() -> None:
    shown = {name for expression in expressions() for name, _ in named(expression)}
    series = {metric.name for metric in METRICS if metric.type is not MetricType.HISTOGRAM}
    beside = {
        "thinkledger_snapshot_timestamp_seconds", "thinkledger_store_seq", "thinkledger_completion_tokens",
        "thinkledger_late_answers_total", "thinkledger_turns", "thinkledger_endpoint_asking", "thinkledger_disk_bytes",
    }  # fmt: skip
    assert series - shown == beside


def test_panels_stand_beside_each_other_and_have_titles_of_their_own() -> None:
    titles = [panel["title"] for panel in panels()]
    assert len(titles) == len(set(titles)) >= 15
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels())
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_promtool_takes_the_rules_and_their_tests_pass() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("no promtool here; Debian's package prometheus has it")
    for order in (["check", "rules", RULES.name], ["test", "rules", UNIT_TESTS.name]):
        done = subprocess.run([promtool, *order], cwd=RULES.parent, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
