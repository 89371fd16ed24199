"""One queue on a server: workers of two hosts, one of them killed, and an export as of a file."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import Server, server
from tests.support.product import Product
from tests.support.simulator import Simulator

JOBS = 120


class OnServer(Product):
    """The same commands on a database; a host is a folder for what lies beside a store."""

    def __init__(self, folder: Path, on_server: Server) -> None:
        super().__init__(folder)
        self.url = on_server.empty()
        self.write_config()

    def write_config(self) -> None:
        (self.folder / "thinkledger.toml").write_text(f'db = "{self.url}"\n')


@pytest.fixture
def hosts(tmp_path: Path) -> OnServer:
    return OnServer(tmp_path, server())


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator() as started:
        yield started


def prompts() -> list[str]:
    return [f"question {number} é \x00 \u2028" for number in range(JOBS)]


def test_workers_of_two_hosts_empty_one_queue_and_a_killed_one_loses_nothing(
    hosts: OnServer, simulator: Simulator, tmp_path: Path
) -> None:
    hosts.import_prompts("d", prompts())
    start = ("worker", "start", "--endpoint", simulator.url, "--skip-preflight", "--concurrency", "8")
    other = hosts.start(*start, "--lease-ttl", "2s", XDG_STATE_HOME=str(tmp_path / "other"))
    while status(hosts)["states"]["done"] < JOBS // 6:
        assert other.process.poll() is None, other.said()
    other.kill()
    this = hosts.start(*start, "--until-empty")
    this.wait(0)
    found = status(hosts)
    assert found["states"]["done"] == JOBS
    hosts.run("verify", "--full")
    written = hosts.export("d", "here.jsonl")
    assert written.count(b"\n") == JOBS

    (tmp_path / "file").mkdir()
    alone = Product(tmp_path / "file")
    alone.import_prompts("d", prompts())
    alone.finish(simulator.url, "--concurrency", "8")
    assert alone.export("d", "there.jsonl") == written


def status(hosts: OnServer) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads(hosts.run("status", "--json").stdout)["data"]["datasets"][0]
    return found


def test_a_password_in_the_url_is_not_shown(tmp_path: Path) -> None:
    product = Product(tmp_path)
    (tmp_path / "thinkledger.toml").write_text('db = "postgresql://me:secret@127.0.0.1:1/runs"\n')
    shown = product.run("config").stdout.decode()
    assert "postgresql://127.0.0.1:1/runs" in shown
    refused = product.run("status", code=5)
    assert b"secret" not in shown.encode() + refused.stdout + refused.stderr


@pytest.mark.parametrize("words", [("backup",), ("restore", "x"), ("sql", "SELECT 1"), ("migrate",)])
def test_what_works_on_files_only_says_what_to_use_instead(hosts: OnServer, words: tuple[str, ...]) -> None:
    said = hosts.run(*words, code=4).stderr.decode()
    assert f"`thinkledger {words[0]}` works on a SQLite file, not on PostgreSQL." in said
