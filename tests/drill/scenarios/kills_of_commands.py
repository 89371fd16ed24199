"""kill -9 of commands: the making of a store, import, export, reparse."""

import hashlib
import json
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage

SMALL_CHUNKS = {"app.intake.chunks:ROWS": 60}
SMALL_PAGES = {"app.export.pages:FIRST_PAGE": 20, "app.export.pages:LARGEST_PAGE": 40}
SMALL_BATCHES = {"app.responses.rereading:PAGE": 30, "app.responses.rereading:ROWS": 20}


def _prompts_file(stage: Stage, name: str, count: int) -> None:
    prompts = [f"{name} number {n}: what is {n} times {n + 7}?" for n in range(count)]
    rows = [json.dumps({"sample_id": f"s{n}", "prompt": prompt}) + "\n" for n, prompt in enumerate(prompts)]
    (stage.product.folder / f"{name}.jsonl").write_text("".join(rows))
    stage.expect_asked(name, prompts)


def _die(stage: Stage, command: Sequence[str], aim: tuple[str, int], constants: dict[str, int]) -> None:
    """A command that is ordered to die at a point; one that ends before it comes there has done its work."""
    code = stage.end_of(stage.start(*command, kill=aim, constants=constants))
    stage.expect(code in (-9, 0), f"{command[0]} under orders {aim} ended with {code}")
    if code == -9:
        stage.ledger.kills += 1
        stage.ledger.tried += 1


@fault(
    "kill-making", "kill -9 while a store is made", "the next start makes it or finds it, and works", size=Size.SHORT
)
def kill_making(stage: Stage) -> None:
    _prompts_file(stage, "d", 40)
    command = ("import", "d", "d.jsonl")
    for point in ("upgrade.before", "upgrade.after", "add.before", "add.inside", "add.after"):
        for end in ("", "-wal", "-shm"):
            stage.product.db.with_name(stage.product.db.name + end).unlink(missing_ok=True)
        for _ in range(2):  # the second one meets what the first one left
            _die(stage, command, (point, 1), {})
    stage.expect(stage.end_of(stage.start(*command)) == 0, "the import at the end failed")
    _answer_all(stage)


@fault(
    "kill-import",
    "kill -9 in the middle of an import, which is then run again",
    "every row once, in the order of the file; a file is called whole only after its last row",
    size=Size.SHORT,
)
def kill_import(stage: Stage) -> None:
    points = ["add.before", "add.inside", "add.commit", "add.after", "finish.before", "finish.inside",
              "finish.commit", "finish.after"]  # fmt: skip
    aims = [(point, nth) for point in points for nth in range(1, stage.pick(1, 4) + 1)]
    stage.chance.shuffle(aims)
    stage.ledger.schedule += [f"{point}:{nth}" for point, nth in aims]
    rounds = stage.pick(1, 3)
    for number in range(rounds):
        name = f"d{number}"
        _prompts_file(stage, name, 600)
        for aim in aims[number::rounds]:
            _die(stage, ("import", name, f"{name}.jsonl"), aim, SMALL_CHUNKS)
        stage.expect(stage.end_of(stage.start("import", name, f"{name}.jsonl")) == 0, "the import at the end failed")
    whole = stage.product.rows("SELECT count(*) FROM dataset WHERE id NOT IN "
                               "(SELECT dataset_id FROM source WHERE finished_ms IS NOT NULL)")  # fmt: skip
    stage.expect(whole == [(0,)], "a file that was imported to its end is not called whole")
    _answer_all(stage)


def _answer_all(stage: Stage, **orders: object) -> None:
    with stage.simulator("--answer-bytes", "4096") as simulator:
        code = stage.end_of(stage.worker(simulator.url, "--concurrency", "32", **orders))
        stage.expect(code == 0, f"the worker ended with {code}")


@fault(
    "kill-export",
    "kill -9 in the middle of an export",
    "a file under its name is whole, and its manifest speaks of it; the same bytes come out of the next export",
    size=Size.SHORT,
)
def kill_export(stage: Stage) -> None:
    _prompts_file(stage, "d", 300)
    stage.product.run("import", "d", "d.jsonl")
    _answer_all(stage)
    reference = stage.product.export("d", "reference.jsonl")
    for point in ("page.before", "page.after", "seal.before", "seal.after", "place.before", "place.after",
                  "manifest.before", "manifest.after"):  # fmt: skip
        for nth in range(1, stage.pick(1, 3) + 1):
            nth = nth if point.startswith("page") else 1
            _die(stage, ("export", "--dataset", "d", "-o", "out.jsonl", "--overwrite"), (point, nth), SMALL_PAGES)
            _check_target(stage, reference)
    stage.product.export("d", "out.jsonl", "--overwrite")
    _check_target(stage, reference, whole=True)
    stage.expect(not (stage.product.folder / "out.jsonl.part").exists(), "a part file was left")
    stage.product.run("export", "--check", "out.jsonl")


def _check_target(stage: Stage, reference: bytes, *, whole: bool = False) -> None:
    target = stage.product.folder / "out.jsonl"
    manifest = stage.product.folder / "out.jsonl.manifest.json"
    stage.expect(target.exists() or not whole, "no file came out")
    if target.exists():
        stage.expect(target.read_bytes() == reference, "a file under its name is not whole")
    if manifest.exists():
        said = json.loads(manifest.read_text())["sha256"]
        stage.expect(said == hashlib.sha256(reference).hexdigest(), "a manifest speaks of another file")


@fault(
    "kill-reparse",
    "kill -9 in the middle of a reparse, which is then run again",
    "every reading is the old one or the new one; run again, it finishes; counters follow",
    size=Size.SHORT,
)
def kill_reparse(stage: Stage) -> None:
    _prompts_file(stage, "d", 400)
    stage.product.run("import", "d", "d.jsonl")
    _answer_all(stage, older_reader=True)
    command = ("reparse", "d", "--apply")
    points = ("rewrite.before", "rewrite.inside", "rewrite.commit", "rewrite.after")
    aims = [(point, 1 + stage.chance.randrange(3)) for point in points * stage.pick(1, 5)]
    stage.ledger.schedule += [f"{point}:{nth}" for point, nth in aims]
    for aim in aims:
        _die(stage, command, aim, SMALL_BATCHES)
    for point in ("note_end.before", "note_end.inside", "note_end.after"):
        _die(stage, command, (point, 1), {})
    stage.expect(stage.end_of(stage.start(*command)) == 0, "the reparse at the end failed")
    found = json.loads(stage.product.run("reparse", "d", "--json").stdout)["datasets"][0]
    stage.expect((found["bodies"], found["unchanged"]) == (400, 400), f"something is still read differently: {found}")
    stage.expect(stage.product.value("SELECT count(*) FROM reading") == 800, "a reading was written twice, or not")


@fault(
    "kill-backup",
    "kill -9 in the middle of a backup",
    "the store is untouched, and a file under the backup's name is a whole store",
    size=Size.SHORT,
)
def kill_backup(stage: Stage) -> None:
    _prompts_file(stage, "d", 300)
    stage.product.run("import", "d", "d.jsonl")
    _answer_all(stage)
    target = stage.product.folder / "copy.db"
    for _ in range(stage.pick(2, 12)):
        running = stage.start("backup", str(target))
        wait_s = stage.chance.uniform(0.0, 0.15)
        with suppress(subprocess.TimeoutExpired):
            running.process.wait(timeout=wait_s)
        running.kill()
        stage.ledger.kills += 1
        stage.ledger.tried += 1
        if target.exists():
            held = stage.product.run("--db", str(target), "status", "--json")
            stage.expect(b'"done"' in held.stdout, "a backup under its name is no whole store")
            target.unlink()
