"""kill -9 while conversations are asked turn by turn."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from tests.support.talks import answers, check_history, place

SLOTS = 8
MOST_TURNS = 7
HOLDS = (
    "every history that was sent is what was accepted before it; nothing lost, doubled or wrong; only what was in "
    "flight is asked again"
)
POINTS = (
    "claim.after", "prompts.after", "history.after", "ask.during", "keep.inside", "keep.after", "read.after",
    "settle.before", "settle.inside", "settle.commit", "settle.after",
)  # fmt: skip


@fault("kill-turns", "kill -9 between, before and after the turns of conversations", HOLDS, size=Size.SHORT)
def kill_turns(stage: Stage) -> None:
    aims = [(point, nth) for point in POINTS for nth in range(2, 2 + stage.pick(1, 4))]
    stage.chance.shuffle(aims)
    stage.ledger.schedule += [f"{point}:{nth}" for point, nth in aims]
    record = stage.product.folder / "requests.jsonl"
    stage.ask_talks({f"c{number}": 1 + number % MOST_TURNS for number in range(stage.pick(40, 120))})
    with stage.simulator("--latency", "uniform:0.005,0.03", "--record", str(record)) as simulator:
        for aim in aims:
            stage.killed(stage.worker(simulator.url, "--concurrency", str(SLOTS), kill=aim))
        stage.finish(simulator.url, "--concurrency", str(SLOTS))
    stage.expect(stage.ledger.kills >= len(aims) * 2 // 3, f"only {stage.ledger.kills} of {len(aims)} kills came")
    _check_histories(stage, record)


def _check_histories(stage: Stage, record: Path) -> None:
    accepted = answers(stage.product)
    for messages in _sent(record):
        try:
            check_history(messages, accepted)
        except AssertionError:
            name, turn = place(messages)
            stage.expect(False, f"turn {turn} of {name} was asked after another history than what was accepted")
    stage.command("verify", "--full")


def _sent(record: Path) -> Iterator[list[dict[str, Any]]]:
    for line in record.read_text().splitlines():
        yield json.loads(line)["messages"]
