"""Workers of another version on the same store."""

from app.store import schema
from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage

HOLDS = "it stops with exit code 2 and says what to do; nothing is written by it, and the others go on"


def _beside(stage: Stage, constants: dict[str, float | str], words: str) -> None:
    """A worker of this version works; one of another version starts beside it."""
    stage.ask(120)
    with stage.simulator("--latency", "uniform:0.05,0.2") as simulator:
        ours = stage.worker(simulator.url, "--concurrency", "8")
        stage.wait_done(10)
        for _ in range(3):
            seen = stage.product.value("SELECT count(*) FROM worker")
            other = stage.worker(simulator.url, constants=constants)
            code = stage.end_of(other)
            stage.ledger.tried += 1
            stage.expect(code == 2, f"it ended with {code}: {other.said()[-300:]}")
            stage.expect(words in other.said(), f"it did not say {words!r}: {other.said()[-300:]}")
            stage.expect(stage.product.value("SELECT count(*) FROM worker") == seen, "it registered")
        stage.expect(stage.end_of(ours) == 0, "the worker of this version did not end with 0")


@fault("other-schema", "a worker of another schema version", HOLDS, size=Size.SHORT)
def other_schema(stage: Stage) -> None:
    _beside(stage, {"app.store.schema:NEWEST": "0000"}, f"schema {schema.NEWEST}")


@fault("older-parser", "a worker with an older parser", HOLDS, size=Size.SHORT)
def older_parser(stage: Stage) -> None:
    _beside(stage, {"app.capture:PARSER_VERSION": 0}, "Upgrade thinkledger")
