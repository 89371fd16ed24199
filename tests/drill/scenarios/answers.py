"""Answers that break off, mean nothing, are huge, drip, or are refused for good."""

from dataclasses import replace
from functools import partial

from tests.drill.catalogue import Size, fault
from tests.drill.stage import Stage
from worker.simulator.answers import Answer, answer_of

HOLDS = "what came is kept, the job is asked again and done"
PATIENT = ("--max-attempts", "60", "--gate", "0")
HUGE_BYTES = 60_000_000
OVER_BYTES = 70_000_000
FILLER = "The filler goes on and on. "  # what the simulator pads an answer with, in blocks of a MiB


def _spoiled(stage: Stage, persona: str, every: int) -> None:
    """Every n-th answer is spoiled; gates that hold for it are lifted, as a person would."""
    stage.ask(stage.pick(60, 400), "d", *PATIENT)
    with stage.simulator("--fault", f"{persona}@every:{every}", "--latency", "uniform:0.01,0.1") as simulator:
        stage.finish(simulator.url, "--concurrency", "16")
        stage.ledger.tried = simulator.stats()["by_persona"].get(persona, 0)
    stage.expect(stage.ledger.tried > 0, "nothing was spoiled")
    stage.expect(stage.product.count("failed") == 0, "a job failed")


@fault("cut-in-mid-body", "connections that end in the middle of a body", HOLDS, size=Size.SHORT)
def cut_in_mid_body(stage: Stage) -> None:
    _spoiled(stage, "disconnect", 4)
    kept = stage.product.value("SELECT count(*) FROM failure WHERE length(body) > 0")
    stage.expect(kept > 0, "no part of a body was kept")


@fault("half-json", "whole HTTP answers with half a JSON text", HOLDS, size=Size.SHORT)
def half_json(stage: Stage) -> None:
    _spoiled(stage, "cut_json", 12)


@fault("garbage", "whole HTTP answers of bytes that mean nothing", HOLDS, size=Size.SHORT)
def garbage(stage: Stage) -> None:
    _spoiled(stage, "garbage", 12)


@fault("proxy-pages", "a proxy's page, or an error object, under status 200", HOLDS, size=Size.SHORT)
def proxy_pages(stage: Stage) -> None:
    stage.ask(stage.pick(60, 400), "d", *PATIENT)
    faults = ("--fault", "html_200@every:21", "--fault", "error_200@every:13")
    with stage.simulator(*faults, "--latency", "uniform:0.01,0.1") as simulator:
        stage.finish(simulator.url, "--concurrency", "16")
        seen = simulator.stats()["by_persona"]
        stage.ledger.tried = seen.get("html_200", 0) + seen.get("error_200", 0)


@fault("aborted", "generations that the server aborts in good order", HOLDS, size=Size.SHORT)
def aborted(stage: Stage) -> None:
    _spoiled(stage, "abort", 5)


@fault("slow-drip", "bodies that come drop by drop", "they are whole in the end", size=Size.SHORT)
def slow_drip(stage: Stage) -> None:
    stage.ask(stage.pick(20, 60))
    with stage.simulator("--fault", "slow:2@every:4") as simulator:
        stage.finish(simulator.url, "--concurrency", "16")
        stage.ledger.tried = simulator.stats()["by_persona"].get("slow:2", 0)


def _padded(prompt: str) -> Answer:
    said = answer_of(prompt)
    if not prompt.startswith("huge"):
        return said
    block = (FILLER * 40_000)[: 1 << 20]
    filler = block * (HUGE_BYTES >> 20) + block[: HUGE_BYTES % (1 << 20)]
    return Answer(said.reasoning, said.content + filler)


@fault("huge-bodies", "bodies of 60 MB, and of more than --max-body",
       "the first are kept whole; the others fail, with their first MiB kept; their neighbours go on",
       size=Size.SHORT)  # fmt: skip
def huge_bodies(stage: Stage) -> None:
    marks = {3: "huge ", 11: "huge ", 17: "over "}
    prompts = stage.ask(24, mark=marks)
    stage.witness = replace(stage.witness, truth=_padded, may_fail=frozenset({prompts[17]}))
    faults = ("--fault", f"big_body:{HUGE_BYTES}@prompt:huge", "--fault", f"big_body:{OVER_BYTES}@prompt:over")
    with stage.simulator(*faults) as simulator:
        stage.finish(simulator.url, "--concurrency", "4", codes=(6,))
        stage.ledger.tried = len(marks)
    kept = stage.product.rows("SELECT cause, length(body) FROM failure")
    stage.expect(kept == [("too_large", 2**20)], f"kept of the one over the limit: {kept}")


def _poison(stage: Stage, count: int, poison: int) -> None:
    """Most are refused for what they are; a few of many get half an answer every time, and use up their tries."""
    chosen = sorted(stage.chance.sample(range(count), poison))
    bad = set(chosen[: poison // 2 : poison // 10]) if poison >= 50 else set()  # alone at the end they hold the dataset
    marks = {n: "rotten " if n in bad else "poison " for n in chosen}
    prompts = stage.ask(count, "d", "--max-attempts", "2", "--gate", "0", mark=marks)
    stage.witness = replace(stage.witness, may_fail=frozenset(prompts[n] for n in chosen))
    faults = ("--fault", "http_400@prompt:poison", "--fault", "cut_json@prompt:rotten")
    with stage.simulator(*faults, "--latency", "uniform:0.01,0.05", "--answer-bytes", "800") as simulator:
        stage.witness = replace(stage.witness, truth=partial(answer_of, answer_bytes=800))
        stage.finish(simulator.url, "--concurrency", "32", codes=(6,))
    stage.ledger.tried = poison
    causes = dict(stage.product.rows("SELECT cause, count(*) FROM job WHERE state = 'failed' GROUP BY 1"))
    due = {"rejected": poison - len(bad)} | ({"malformed": len(bad)} if bad else {})
    stage.expect(causes == due, f"the poison failed as {causes}")


@fault("poison", "poison prompts among good ones", "they fail alone and for their own reason; all others are done",
       size=Size.SHORT)  # fmt: skip
def poison(stage: Stage) -> None:
    _poison(stage, stage.pick(400, 2_000), stage.pick(10, 50))
