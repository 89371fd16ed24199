"""The documents say what the code does."""

import re
from pathlib import Path

import pytest

from app.export.presets import Preset
from app.intake.formats import READABLE
from app.model.exits import Exit
from app.model.gates import AlarmKind
from app.model.lease import Cause, Settle
from app.model.states import JobState
from app.model.verdicts import Verdict
from worker.backoff import RULES, Counts
from worker.option_values import FORMATS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MOVES = {Settle.RELEASE: "ready", Settle.POSTPONE: "waiting", Settle.GIVE_UP: "failed"}
COUNTED = {Counts.NEVER: "never", Counts.IF_SERVER_WELL: "if the server is well"}


def table(document: str) -> dict[str, list[str]]:
    """The rows of a document's tables by their first cell."""
    lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0].strip("`"): row[1:] for row in rows}


def test_every_decision_stands_in_the_list_in_the_order_of_their_numbers() -> None:
    pages = sorted(page.name for page in (ROOT / "docs/decisions").glob("[0-9]*.md"))
    listed = [cell for cell in table("docs/decisions/README.md") if cell.startswith("[")]
    assert listed == [f"[{page[:4]}]({page})" for page in pages]


@pytest.mark.parametrize("cause", list(RULES))
def test_every_cause_stands_with_its_move(cause: Cause) -> None:
    _, move, counted = table("docs/reference/errors.md")[cause]
    rule = RULES[cause]
    assert move.startswith(MOVES[rule.settle])
    assert ("the worker stops" in move) is rule.stops_worker
    assert ("endpoint is held" in move) is rule.holds_endpoint
    assert counted == ("-" if rule.settle is Settle.GIVE_UP else COUNTED[rule.counts])


def test_every_exit_code_stands_in_the_reference() -> None:
    written = (ROOT / "docs/reference/exit-codes.md").read_text(encoding="utf-8")
    codes = {int(code) for code in re.findall(r"\b(\d+)\b(?=[ /]*[\d ]*\|)", written)}
    assert codes == {int(code) for code in Exit}


def test_every_verdict_stands_in_the_reference() -> None:
    assert set(table("docs/reference/verdicts.md")) >= set(map(str, Verdict))


def test_every_alarm_stands_in_its_how_to() -> None:
    written = table("docs/how-to/when-a-dataset-is-held.md")
    assert written.keys() - {"alarm", "---"} == set(map(str, AlarmKind))


def test_every_state_stands_in_the_glossary() -> None:
    assert set(table("docs/glossary.md")) >= set(map(str, JobState))


def test_every_format_and_preset_stands_in_the_reference_and_in_the_options() -> None:
    written = table("docs/reference/formats.md").keys()
    assert [name for name in READABLE if name not in written] == []
    assert sorted(FORMATS) == sorted(["auto", *READABLE])
    assert set(map(str, Preset)) <= table("docs/reference/presets.md").keys()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_that_are_there(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (document.parent / link).exists()] == []


def test_every_command_of_the_readme_is_one() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    modules = {file.stem.rstrip("_") for file in (ROOT / "worker/commands").glob("*.py")}
    named = set(re.findall(r"`thinkledger ([a-z]+)", readme))
    assert named
    assert named - {"worker", "sample"} <= modules
