"""Every file of real rows comes in or is refused with a reason, is answered over a socket, and goes out in every form.

Each row is followed by its id: in = taken + refused, taken = jobs, jobs = lines out + left out.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

from app.export.check import check_file, load_manifest
from app.export.exporting import export_dataset
from app.export.presets import Preset
from app.export.request import ExportRequest, Only
from app.intake.dry_run import DryRun
from app.intake.importing import import_file
from app.intake.refusal import EXPECTED
from app.intake.request import ImportReport, ImportRequest
from app.store.store import open_store
from tests.support.product import Product
from tests.support.simulator import Simulator

FILES = sorted(path for path in (Path(__file__).parents[1] / "cases" / "samples").iterdir() if path.suffix != ".md")
# These need what a server or a person adds: token ids, a template. They have tests of their own.
NEED_MORE = {"tokens", "text"}
PRESETS = [preset for preset in Preset if preset not in NEED_MORE]


@dataclass(frozen=True)
class Whole:
    """All files in one store, answered, and every export of them."""

    product: Product
    reports: dict[str, ImportReport]
    exported: Path


def name_of(file: Path) -> str:
    return file.name.replace(".", "_")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    product = Product(tmp_path_factory.mktemp("samples"))
    reports = anyio.run(bring, product)
    asked_with_tools = """SELECT DISTINCT dataset.name FROM dataset JOIN sample ON sample.dataset_id = dataset.id
        WHERE tools IS NOT NULL"""
    with_tools = [name for (name,) in product.rows(asked_with_tools)]
    assert len(with_tools) > 3
    with Simulator("--persona", "tool_calls") as calling:
        product.finish(calling.url, *(word for name in with_tools for word in ("--dataset", name)))
    with Simulator() as answering:
        product.finish(answering.url)
    exported = product.folder / "out"
    exported.mkdir()
    anyio.run(send_out, product, exported)
    return Whole(product, reports, exported)


async def bring(product: Product) -> dict[str, ImportReport]:
    """Each file into a dataset of its own, from a copy beside which its rejects may lie."""
    for file in FILES:
        (product.folder / file.name).write_bytes(file.read_bytes())
    requests = {file.name: ImportRequest(name_of(file), str(product.folder / file.name)) for file in FILES}
    async with open_store(str(product.db), create=True) as store:
        return {name: await import_file(store, request, lambda _: None) for name, request in requests.items()}


async def send_out(product: Product, folder: Path) -> None:
    async with open_store(str(product.db)) as store:
        for file in FILES:
            if jobs_of(product, file):
                for preset in PRESETS:
                    target = folder / f"{name_of(file)}.{preset}.jsonl"
                    await export_dataset(store, ExportRequest(name_of(file), target, only=Only.DONE, preset=preset))


def jobs_of(product: Product, file: Path) -> list[str]:
    named = "SELECT job.sample_id FROM job JOIN dataset ON dataset.id = dataset_id WHERE name = ? ORDER BY ordinal"
    return [sample_id for (sample_id,) in product.rows(named, name_of(file))]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_row_of_a_file_is_taken_or_refused_with_a_reason(whole: Whole, file: Path) -> None:
    report, jobs = whole.reports[file.name], jobs_of(whole.product, file)
    assert report.rows > 0
    assert report.rows == report.added + report.present + report.dropped + report.rejected
    assert report.added == len(jobs) == len(set(jobs))
    assert sum(report.reasons.values()) == report.rejected
    assert set(report.reasons) <= set(EXPECTED)
    fates = list(DryRun(ImportRequest(name_of(file), str(whole.product.folder / file.name))).fates())
    assert len(fates) == report.rows
    assert [fate.sample_id for fate in fates if fate.dropped is None] == jobs
    assert Counter(fate.dropped.partition(":")[0] for fate in fates if fate.dropped) == Counter(report.reasons)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_job_is_answered_with_its_reasoning_and_goes_out_in_every_form(whole: Whole, file: Path) -> None:
    jobs = jobs_of(whole.product, file)
    for preset in PRESETS if jobs else ():
        path = whole.exported / f"{name_of(file)}.{preset}.jsonl"
        rows, manifest = lines(path), json.loads(path.with_name(path.name + ".manifest.json").read_bytes())
        key = "sample_id" if preset in (Preset.RUN_INFERENCE, Preset.FULL) else "id"
        assert [row[key] for row in rows] == jobs
        assert (manifest["jobs"], manifest["rows"], manifest["left_out"]) == (len(jobs), len(jobs), {})
        assert (manifest["complete"], manifest["left_out_ids"]["count"]) == (True, 0)
        assert set(manifest["verdicts"]) <= {"split_from_content", "captured_field"}
        check_file(load_manifest(path))


def test_what_is_asked_with_tools_is_answered_by_calls(whole: Whole) -> None:
    rows = [row for path in sorted(whole.exported.glob("*.full.jsonl")) for row in lines(path) if row["tools"]]
    assert len(rows) > 10
    for row in rows:
        called = re.findall(r"<\|tool_call_begin\|>functions\.(.+):0<\|tool_call_argument_begin\|>", row["content"])
        assert len(called) == 1, row["sample_id"]
        assert called[0] in {tool["function"]["name"] for tool in row["tools"]}


def test_a_run_of_another_tool_is_accounted_for(whole: Whole) -> None:
    report = whole.reports["specforge_regenerated.jsonl"]
    assert (report.results, report.reasons, report.fates) == (
        {"captured_field": 2}, {"duplicate_id": 1}, {"error": 1},
    )  # fmt: skip


def test_the_store_is_sound_and_nothing_hints_at_lost_text(whole: Whole) -> None:
    whole.product.check_invariants()
    whole.product.run("verify", "--full")
    assert whole.product.rows("SELECT sample_id, loss_flags FROM job WHERE loss_flags IS NOT NULL") == []
    assert whole.product.rows("SELECT count(*) FROM job WHERE state <> 'done'") == [(0,)]
