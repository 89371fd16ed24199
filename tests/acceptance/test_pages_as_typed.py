"""Every how-to, tried: its commands in the situation that it is for, typed as they stand on the page."""

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
import pytest

from app.model.lease import Cause
from tests.integration.store import raw
from tests.integration.test_export_training import TEMPLATE
from tests.integration.test_reparse import answer, old_bug
from tests.support.dashboard import Dashboard, dashboard
from tests.support.documents import SERVER, Command, Happens, programs, run, shows, steps
from tests.support.filled import chat, filled, thought
from tests.support.forks import ROOT
from tests.support.product import Product, RunningWorker, wait_for
from tests.support.simulator import Simulator

SAMPLES = ROOT / "tests/cases/samples"
DASHBOARD = "http://127.0.0.1:8484"
WRITTEN_BACKUP = "thinkledger-20261129T201054.556Z.db"
UNTIL_STOPPED = ("thinkledger status --watch", "thinkledger serve")  # what a person ends by Ctrl-C


@dataclass
class Desk:
    """A folder to type in, a server, and what happens when a page says so."""

    product: Product
    simulator: Simulator
    stack: ExitStack
    told: dict[str, str]
    happens: dict[str, Callable[[], object]] = field(default_factory=dict)

    def answered(self) -> None:
        self.product.finish(self.simulator.url)

    def prompts(self, name: str, count: int, form: str = "glaive-{:05}") -> None:
        rows = [{"sample_id": form.format(n), "prompt": f"question {n}"} for n in range(count)]
        self.write(name, *map(json.dumps, rows))

    def write(self, name: str, *lines: str) -> None:
        (self.product.folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def newest_backup(self) -> None:
        """The page names a file; here it has the name of its own moment."""
        for file in sorted(self.product.folder.glob("thinkledger.db.backups/*.db")):
            self.told[WRITTEN_BACKUP] = file.name

    def web(self) -> Dashboard:
        """A dashboard whose token lies beside the store."""
        web = self.stack.enter_context(dashboard(self.product.folder, token=None, db=self.product.db.name))
        self.told[DASHBOARD] = web.url
        return web


def samples(desk: Desk) -> None:
    """The rows that the pages were written with."""
    for file in SAMPLES.iterdir():
        shutil.copy(file, desk.product.folder)


def openthoughts(desk: Desk) -> None:
    samples(desk)
    shutil.copy(SAMPLES / "openthoughts_bespoke_stratos_truncated.jsonl", desk.product.folder / "openthoughts.jsonl")


def trajectories(desk: Desk) -> None:
    samples(desk)
    for name in ("swe_agent_function_calling_simple.traj", "swe_agent_test_repo.traj"):
        folder = desk.product.folder / "trajectories" / name.removesuffix(".traj")
        folder.mkdir(parents=True)
        shutil.copy(SAMPLES / name, folder)


def old_runs(desk: Desk) -> None:
    samples(desk)
    kept = {"finish_reason": "stop", "usage": {"completion_tokens": 90}}
    talk = {"messages": [{"role": "user", "content": "Which country has the most islands?"}], "reasoning": ""}
    rows = [
        {"sample_id": "glaive-00001", **talk, "content": "Let me think.</think>Sweden.", **kept},
        {"sample_id": "glaive-00002", **talk, "content": "\n\nWhich country?", **kept},
        {"sample_id": "glaive-00003", **talk, "content": "", "finish_reason": None, "usage": None},
    ]
    desk.write("raw_responses.jsonl", *map(json.dumps, rows))
    message = {"role": "assistant", "content": "4", "reasoning_content": "2 + 2"}
    body = {"id": "x", "object": "chat.completion", "model": "kimi", "choices": [
        {"index": 0, "message": message, "finish_reason": "stop"}]}  # fmt: skip
    question = {"messages": [{"role": "user", "content": "2 + 2?"}]}
    curator = [
        {"raw_response": body, "generic_request": {**question, "original_row": {"id": "c-1"}, "original_row_idx": 0}},
        {"raw_response": None, "response_errors": ["timed out"],
         "generic_request": {**question, "original_row": {"id": "c-2"}, "original_row_idx": 1}},
    ]  # fmt: skip
    desk.write("responses_0.jsonl", *map(json.dumps, curator))


def demonstrated(desk: Desk) -> None:
    """The bundled prompts, answered, as after `thinkledger demo`."""
    if shutil.which("jq") is None:
        pytest.skip("no jq here; Debian's package jq has it")
    shutil.copy(ROOT / "worker/demo/prompts/B1_glaive.jsonl", desk.product.folder)
    desk.product.run("import", "B1_glaive", "B1_glaive.jsonl")
    desk.answered()
    (desk.product.folder / "B1_glaive.jsonl").unlink()
    (desk.product.folder / "kimi.jinja").write_text(TEMPLATE)


def conversations(desk: Desk) -> None:
    text = (SAMPLES / "mt_bench_question.jsonl").read_text(encoding="utf-8")
    (desk.product.folder / "question.jsonl").write_text(text, encoding="utf-8")
    (desk.product.folder / "twice.jsonl").write_text(text * 2, encoding="utf-8")


def main_job(desk: Desk) -> None:
    desk.prompts("prompts.jsonl", 30)


def to_repair(desk: Desk) -> None:
    """Answers as the old bug left them, others that were cut off, and one that the server refused."""

    desk.prompts("prompts.jsonl", 30)
    desk.product.run("import", "B1_glaive", "prompts.jsonl")

    async def make() -> None:
        async with filled(desk.product.db) as at:
            for number, lease in enumerate(await at.claim(8)):
                await answer(at, lease, thought(number), old_bug)
            await at.answer_next("B1_glaive", *(thought(number) for number in range(8, 18)))
            await at.answer_next("B1_glaive", *(chat("cut off", finish="length") for _ in range(3)))
            (lease,) = await at.claim(1)
            await at.fail(lease, Cause.REJECTED)

    anyio.run(make)
    raw.script(desk.product.db, "UPDATE reading SET parser_version = 1 WHERE verdict = 'missing'")
    ended = {"reasoning": "", "content": "Hm.</think>Yes.", "finish_reason": "stop", "usage": {"completion_tokens": 9}}
    old = [
        {"sample_id": f"glaive-{n:05}", "messages": [{"role": "user", "content": f"question {n}"}], **ended}
        for n in range(24, 30)
    ]
    desk.write("raw_responses.jsonl", *map(json.dumps, old))


def at_work(desk: Desk) -> None:
    """A worker in the middle of its work, and a backup to go back to."""
    desk.product.import_prompts("B1_glaive", [f"question {number}" for number in range(40)])
    desk.product.run("datasets", "set", "B1_glaive", "--gate", "0")
    desk.product.finish(desk.simulator.url, "--limit", "10")
    desk.simulator.play("sglang", latency="fixed:60")
    worker = desk.stack.enter_context(desk.product.worker(desk.simulator.url, "--concurrency", "8"))
    wait_for(lambda: desk.product.peek("SELECT count(*) FROM job WHERE state = 'leased'") == [(8,)], "eight are leased")
    desk.happens["the worker is stopped"] = partial(_stop, worker)


def _stop(worker: RunningWorker) -> None:
    worker.signal(signal.SIGTERM)
    worker.signal(signal.SIGTERM)
    worker.process.wait(60)


def held(desk: Desk) -> None:
    desk.prompts("prompts.jsonl", 40)
    desk.product.run("import", "B1_glaive", "prompts.jsonl")
    desk.simulator.play("no_thought")
    desk.product.finish(desk.simulator.url, "--concurrency", "4", code=7)


def full(desk: Desk) -> None:
    """Answers come while nothing can be stored: here another program keeps the store's lock."""
    desk.product.import_prompts("B1_glaive", [f"question {number}" for number in range(8)])
    desk.simulator.play("sglang", latency="fixed:10")
    worker = desk.stack.enter_context(desk.product.worker(desk.simulator.url, "--concurrency", "8"))
    desk.simulator.wait_until(lambda stats: stats["busy"] > 0)
    other = desk.stack.enter_context(raw.connection(desk.product.db))
    other.execute("BEGIN IMMEDIATE")
    wait_for(lambda: "spooling" in worker.said(), "the answers are in the spool")


def nothing(desk: Desk) -> None:
    """The page needs nothing but a shell."""
    assert not desk.product.db.exists()


def shown(desk: Desk) -> None:
    """A dashboard, with failed jobs."""

    async def make() -> None:
        async with filled(desk.product.db) as at:
            await at.dataset("B1_glaive", 40)
            for lease in await at.claim(29):
                await at.fail(lease)

    anyio.run(make)
    if shutil.which("curl") is None:
        pytest.skip("no curl here; Debian's package curl has it")
    desk.web()


HOW_TO = "docs/how-to"
SCENES: dict[str, Callable[[Desk], None]] = {
    **{f"{HOW_TO}/data-set-{name}.md": samples for name in
       ("glaive", "magicoder", "openai-batch", "opencodeinstruct", "sharegpt", "ultrachat")},
    f"{HOW_TO}/data-set-openthoughts.md": openthoughts, f"{HOW_TO}/data-set-swe-agent.md": trajectories,
    f"{HOW_TO}/data-set-old-runs.md": old_runs,
    **{f"{HOW_TO}/train-with-{name}.md": demonstrated for name in
       ("eagle", "specforge", "speculators", "torchspec-llama-factory", "trl-axolotl-nemo")},
    f"{HOW_TO}/turn-by-turn.md": conversations, f"{HOW_TO}/run-the-main-job.md": main_job,
    f"{HOW_TO}/repair-stored-answers.md": to_repair, f"{HOW_TO}/back-up-and-restore.md": at_work,
    f"{HOW_TO}/when-a-dataset-is-held.md": held,
    f"{HOW_TO}/when-the-disk-is-full.md": full, f"{HOW_TO}/watch-a-run.md": nothing,
    "docs/tour.md": shown, "docs/reference/json-api.md": shown,
}  # fmt: skip


@contextmanager
def desk_of(product: Product) -> Iterator[Desk]:
    programs(product.folder / "bin")
    with Simulator("--persona", "sglang") as simulator, ExitStack() as stack:
        desk = Desk(product, simulator, stack, {SERVER: simulator.url})
        desk.happens["a worker answers"] = desk.answered
        yield desk


@pytest.mark.slow
@pytest.mark.parametrize("page", list(SCENES))
def test_a_page_does_what_it_says(product: Product, page: str) -> None:
    found = steps(page)
    assert any(isinstance(step, Command) for step in found)
    with desk_of(product) as desk:
        SCENES[page](desk)
        for step in found:
            match step:
                case Happens(what):
                    desk.happens[what]()
                case Command(typed) if typed.partition("  ")[0] in UNTIL_STOPPED:
                    _type_and_stop(desk, typed.partition("  ")[0])
                case Command():
                    _type(desk, step)


def _type(desk: Desk, step: Command) -> None:
    desk.newest_backup()
    code, said = run(step, desk.product.folder, desk.told)
    shown = "\n".join([f"$ {step.typed}", *said])
    assert code == step.code, shown
    if step.prints:
        assert shows(step.prints, said), f"{shown}\n--- the page shows\n" + "\n".join(step.prints)


def _type_and_stop(desk: Desk, typed: str) -> None:
    """Something is shown, and Ctrl-C ends it as a person means it."""
    words = [*typed.split()[1:], *(["--port", "0"] if typed.endswith("serve") else [])]
    running = desk.product.start(*words)
    try:
        wait_for(lambda: running.said() != "", f"{typed} says something")
        running.signal(signal.SIGINT)
        assert running.process.wait(60) in (0, 130)
        assert "Traceback" not in running.said()
    finally:
        running.kill()
