"""What the drill says of itself: nothing that was not run, or did not hold, is ever called held."""

from pathlib import Path

import pytest

import tests.drill.scenarios  # noqa: F401 - fills the catalogue
from tests.drill import table
from tests.drill.catalogue import FAULTS, Size
from tests.drill.invariants import Findings
from tests.drill.orders import Orders
from tests.drill.points import points
from tests.drill.runner import Row
from tests.drill.selfcheck import CATCHERS, is_caught

FAULT = FAULTS["kill-keep"]


def test_a_row_that_was_not_run_has_no_numbers_and_its_reason() -> None:
    row = Row(FAULT, not_run="no root here")
    assert not row.held
    assert table.cells(row) == (FAULT.what, *["-"] * 8, "NOT RUN: no root here")
    assert "1 not run" in table.totals([row])


def test_a_row_with_findings_or_problems_did_not_hold() -> None:
    lost = Row(FAULT)
    lost.findings.note("lost", 2, "jobs are gone")
    broken_off = Row(FAULT)
    broken_off.ledger.problems.append("it ended with 1")
    for row in (lost, broken_off):
        assert not row.held
        assert table.cells(row)[-1] == "DID NOT HOLD"
        assert "did NOT hold: kill-keep" in table.totals([row])
    assert is_caught(lost)
    assert not is_caught(broken_off)


def test_numbers_stand_under_their_heads() -> None:
    row = Row(FAULT, findings=Findings(samples=1200, asked_again=3, bound=8))
    row.ledger.tried, row.ledger.resumes_s = 6, [0.21, 0.94]
    assert dict(zip(table.HEAD, table.cells(row), strict=True)) == {
        "fault": FAULT.what, "times": "6", "samples": "1,200", "lost": "0", "doubled": "0", "wrong": "0",
        "asked again": "3", "may be": "8", "resumes in": "0.9 s", "came out": "held",
    }  # fmt: skip
    first, second = table.as_text([row]).splitlines()
    assert first.index("samples") + len("samples") == second.index("1,200") + len("1,200")


def test_only_the_generated_part_of_the_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    table.write(page, "new")
    assert page.read_text() == f"before\n{table.BEGIN}\nnew\n{table.END}\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="drill: begin"):
        table.write(page, "new")


def test_every_sabotage_has_a_scenario_of_the_short_drill_that_must_catch_it() -> None:
    assert {FAULTS[name].size for name in CATCHERS.values()} == {Size.SHORT}


def test_orders_survive_their_way_to_another_process() -> None:
    orders = Orders(kill=("claim.after", 3), broken="fence", journal="j", constants={"a:B": 1.5})
    assert Orders.from_text(orders.as_text()) == orders


def test_points_are_named_once() -> None:
    assert len(points()) == len(set(points())) > 70
