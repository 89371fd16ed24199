"""Reference pages are made from the code, or held against it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import click
import pytest

from app.web.application import NOUNS
from app.web.hosts import Hosts
from app.web.site import Site
from tests.deploy.units import tree
from tests.rules import openapi
from tests.rules.references import FOLDER, SECRETS, api_tables, pages
from tests.support.dashboard import Dashboard, dashboard
from tests.support.filled import every_kind, filled
from worker import cli_settings


@pytest.mark.parametrize("name", ["commands.md", "settings.md", "states.md", "flags.md"])
def test_a_page_is_what_the_code_says(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name], "run `make references`"


def test_every_command_and_option_is_explained() -> None:
    for words, command in cli_settings.every(tree()):
        assert command.help, words
        for one in command.params:
            assert getattr(one, "help", None) or one.name in ("help", "version"), (words, one.name)


def test_the_document_of_the_api_is_what_its_tables_and_the_code_say() -> None:
    made = openapi.text(openapi.document(*api_tables()))
    assert (FOLDER / "openapi.json").read_text(encoding="utf-8") == made, "run `make references`"


def test_every_secret_is_explained() -> None:
    assert set(SECRETS) == cli_settings.NOT_FLAGS


def test_the_commands_page_names_every_option() -> None:
    written = (FOLDER / "commands.md").read_text(encoding="utf-8")
    for words, command in cli_settings.every(tree()):
        section = written.partition(f"\n## {words}\n")[2].partition("\n## ")[0]
        for one in command.params:
            if isinstance(one, click.Option) and not isinstance(command, click.Group) and one.name != "help":
                assert max(one.opts, key=len) in section, (words, one.opts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("api")

    async def make() -> None:
        async with filled(made / "t.db") as at:
            await every_kind(at)

    anyio.run(make)
    return made


def routes(folder: Path) -> dict[str, set[str]]:
    """Every path of the API with its methods, as the application has them."""
    found: dict[str, set[str]] = {}

    async def look() -> None:
        async with filled(folder / "t.db") as at:
            site = Site(at.store, Hosts("x"), None)
            for route in (route for noun in NOUNS for route in noun.routes(site)):
                for path in route.paths:
                    found.setdefault(re.sub(r":\w+", "", path), set()).update(map(str, route.http_methods))

    anyio.run(look)
    return {path: methods for path, methods in found.items() if path.startswith("/api/")}


def test_every_route_of_the_api_is_in_a_table(folder: Path) -> None:
    gets, posts = api_tables()
    there = routes(folder)
    assert {path for path, methods in there.items() if "GET" in methods} == gets.keys()
    assert {path for path, methods in there.items() if "POST" in methods} == posts.keys()


def test_the_keys_of_a_body_are_those_that_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, tuple[str, ...]] = {}

    def note(_site: Site, path: str, keys: tuple[str, ...], _change: Any) -> list[Any]:
        found["/api/v1" + re.sub(r":\w+", "", path)] = keys
        return []

    for noun in NOUNS:
        if hasattr(noun, "action"):
            monkeypatch.setattr(noun, "action", note)
    assert routes(folder)
    assert {path: tuple(re.findall(r"`(\w+)`", keys)) for path, keys in api_tables()[1].items()} == found


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Dashboard]:
    with dashboard(folder, "--no-auth") as found:
        yield found


@pytest.mark.parametrize("path", [path for path in api_tables()[0] if not path.endswith(("/sample", "/raw"))])
def test_the_keys_of_an_answer_are_those_of_its_row(running: Dashboard, path: str) -> None:
    told = running.ask(path.replace("{name}", "d").replace("{sample_id}", "s1")).json
    assert set(told) == {"data", "as_of", "seq"}
    data = told["data"][0] if isinstance(told["data"], list) else told["data"]
    said = api_tables()[0][path].partition(";")[0]
    assert list(data) == re.findall(r"`(\w+)`", said)
