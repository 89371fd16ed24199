"""A store that a newer version made is refused by every command that opens one, in one sentence, and left as it is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.store.schema import NEWEST
from tests.deploy.units import tree
from tests.integration.keeping.kit import make_filled
from tests.integration.store import raw
from tests.support.typed import typed
from worker import cli_settings

SENTENCE = (
    f"error: The store has the schema 9999, which is newer than this version knows ({NEWEST}). "
    "Upgrade thinkledger on this machine."
)
SERVER = "http://127.0.0.1:9"
ORDERS = (
    "import d prompts.jsonl", "status", "status --check", "samples first", "sample first s1", "export --dataset first",
    "reparse --all", "reparse first --apply", "retry first --state failed --yes", "cancel first --all --yes",
    "serve --port 0", "serve --port 0 --read-only", "metrics", "verify", "backup", "migrate", "migrate --dry-run",
    "sql SELECT+1", "datasets", "datasets show first", "datasets set first --rank 1", "datasets pause first",
    "datasets resume first", "datasets delete first --yes", f"worker start --endpoint {SERVER}", "worker list",
    "worker drain 1", f"probe --endpoint {SERVER} --dataset first", "copy thinkledger.db other.db",
)  # fmt: skip
WITHOUT_A_STORE = {"parse", "simulate", "demo", "config", "completion"}
OTHERWISE = {"doctor", "restore"}  # a line of its report; a backup takes the place of any store


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("newer")
    make_filled(made / "thinkledger.db")
    (made / "prompts.jsonl").write_text('{"prompt": "Why?"}\n', encoding="utf-8")
    raw.script(made / "thinkledger.db", "UPDATE alembic_version SET version_num = '9999'")
    before = raw.query(made / "thinkledger.db", "SELECT seq, epoch FROM meta")
    yield made
    assert raw.query(made / "thinkledger.db", "SELECT seq, epoch FROM meta") == before
    assert not [file for file in made.iterdir() if ".rejects" in file.name]


@pytest.mark.parametrize("order", ORDERS)
def test_a_newer_store_is_refused_in_one_sentence(folder: Path, order: str) -> None:
    done = typed(folder, *(word.replace("+", " ") for word in order.split()))
    said = done.stderr.decode().splitlines()
    assert (done.returncode, said, done.stdout) == (2, [SENTENCE], b"")


def test_the_doctor_says_it_as_one_of_its_lines(folder: Path) -> None:
    done = typed(folder, "doctor", "--json")
    (found,) = [one for one in json.loads(done.stdout)["checks"] if one["name"] == "store"]
    assert (done.returncode, found["level"], f"error: {found['says']}") == (2, "fail", SENTENCE)


def test_a_newer_backup_is_not_restored(folder: Path, tmp_path: Path) -> None:
    make_filled(tmp_path / "newer.db")
    raw.script(tmp_path / "newer.db", "UPDATE alembic_version SET version_num = '9999'")
    done = typed(tmp_path, "restore", "newer.db")
    assert done.returncode == 2
    assert "9999" in done.stderr.decode().splitlines()[0]
    assert not (tmp_path / "thinkledger.db").exists()


def test_every_command_is_tried_or_opens_no_store() -> None:
    groups = {words for words, _ in cli_settings.every(tree()) if words in ("datasets", "worker")}
    every = {words for words, _ in cli_settings.every(tree())} - {"worker"}
    assert groups == {"datasets", "worker"}
    tried = {words for words in every for order in ORDERS if f"{order} ".startswith(f"{words} ")}
    assert every - tried == WITHOUT_A_STORE | OTHERWISE
