"""A worker and a dashboard with one webhook: each alarm arrives once, without a prompt, and a failure is shown."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from app.gates.webhook import URL
from tests.support.dashboard import TOKEN, dashboard
from tests.support.product import Product, RunningWorker, wait_for
from tests.support.receiver import PATH, receiver
from tests.support.simulator import Simulator

WORD = "heliotrope"  # of the prompts


@contextmanager
def serving(product: Product, url: str) -> Iterator[RunningWorker]:
    """A dashboard that sends alarms, and writes its log as JSON."""
    said = {URL: url, "THINKLEDGER_TOKEN": TOKEN}
    running = product.start("--log-format", "json", "serve", "--port", "0", **said)
    try:
        wait_for(lambda: "dashboard http" in running.said(), "the dashboard answers")
        yield running
    finally:
        running.kill()


def lines(said: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


def test_a_held_run_is_told_once_by_whichever_process(product: Product) -> None:
    product.import_prompts("lost", [f"{WORD} {number}" for number in range(60)])
    with receiver() as chat, Simulator("--persona", "no_thought") as simulator, serving(product, chat.url) as other:
        start = ("worker", "start", "--endpoint", simulator.url, "--skip-preflight", "--until-empty")
        worker = product.start("--log-format", "json", *start, **{URL: chat.url})
        try:
            said = worker.wait(7)
        finally:
            worker.kill()
        wait_for(lambda: "gate" in chat.kinds, "the alarm arrived")
        wait_for(
            lambda: product.value("SELECT count(*) FROM alarm WHERE told_since_ms IS NOT since_ms") == 0, "all told"
        )
        heard = [(one["kind"], one["holds"]) for line in chat.bodies for one in [line["alarm"]]]
        assert len(heard) == len(set(heard)) == len({line["key"] for line in chat.bodies})
        assert ("gate", True) in heard
        kinds = [line["kind"] for line in lines(said) if line["event"] == "alarm" and line["holds"]]
        assert kinds == ["gate"]  # once in the log of the worker
        wait_for(lambda: any(line["event"] == "alarm" for line in lines(other.said())), "and in that of the dashboard")
        for text in (json.dumps(chat.bodies), said, other.said()):
            assert WORD not in text
            assert PATH not in text
    assert product.value("SELECT count(*) FROM event WHERE detail LIKE ?", f"%{PATH}%") == 0


def test_a_webhook_that_refuses_is_shown_and_delays_nobody(product: Product) -> None:
    product.import_prompts("lost", ["a", "b", "c"])
    with receiver() as chat, Simulator("--persona", "no_thought") as simulator:
        chat.status = 500
        start = ("worker", "start", "--endpoint", simulator.url, "--skip-preflight", "--until-empty")
        worker = product.start(*start, **{URL: chat.url})
        try:
            said = worker.wait(7)
        finally:
            worker.kill()
        assert "webhook_failed kind=gate dataset=lost reason=HTTP status 500" in said
        assert "The webhook fails: " in product.run("status").stdout.decode().replace("\n  ", " ")
        with dashboard(product.folder, "--no-auth", db=product.db.name) as running:
            assert "The webhook fails: " in running.ask("/alerts").body
            assert running.ask("/api/v1/overview").json["data"]["alarms"][0]["tell_error"] == "HTTP status 500"
    product.run("config", code=0)


def test_an_address_that_cannot_be_meant_stops_the_start_without_repeating_it(product: Product) -> None:
    product.import_prompts("d", ["a"])
    for command in (["worker", "start", "--endpoint", "http://127.0.0.1:1"], ["serve", "--port", "0"]):
        running = product.start(*command, **{URL: "hooks.example/secret-path"})
        try:
            said = running.wait(2)
        finally:
            running.kill()
        assert f"{URL} is no address" in said
        assert "secret-path" not in said
