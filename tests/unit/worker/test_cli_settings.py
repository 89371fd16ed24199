"""Flag, then environment, then file, then default; and a name that no command has is an error."""

from pathlib import Path
from typing import Any

import click
import pytest

from app.model.errors import UsageError
from worker.cli_settings import NOT_FLAGS, defaults, hoist, sources

SEEN: list[dict[str, Any]] = []


@click.group()
@click.option("--db", default="default.db")
@click.option("-v", "--verbose", count=True)
@click.option("--quiet", "-q", is_flag=True)
def root(**given: Any) -> None:
    SEEN.append(given)


@root.group()
def worker() -> None:
    pass


@worker.command()
@click.option("--request-timeout", "timeout_s", type=float, default=600.0)
@click.option("--concurrency", type=int, default=64)
def start(**given: Any) -> None:
    SEEN.append(given)


@root.command()
@click.option("--concurrency", type=int, default=1)
@click.argument("name", required=False)
def other(**given: Any) -> None:
    SEEN.append(given)


def call(tmp_path: Path, args: str, environ: dict[str, str] | None = None, toml: str | None = None) -> dict[str, Any]:
    """Run the little program; all that its commands were given."""
    file = tmp_path / "thinkledger.toml"
    if toml is not None:
        file.write_text(toml, encoding="utf-8")
    SEEN.clear()
    found = defaults(root, environ or {}, file)
    root.main(hoist(root, args.split()), standalone_mode=False, default_map=found)
    return {name: value for given in SEEN for name, value in given.items()}


@pytest.mark.parametrize(
    ("flag", "environ", "toml", "concurrency"),
    [
        ("--concurrency 4", {"THINKLEDGER_CONCURRENCY": "3"}, "concurrency = 2", 4),
        ("", {"THINKLEDGER_CONCURRENCY": "3"}, "concurrency = 2", 3),
        ("", {}, "concurrency = 2", 2),
        ("", {}, None, 64),
    ],
)
def test_a_flag_goes_over_the_environment_and_that_over_the_file(
    tmp_path: Path, flag: str, environ: dict[str, str], toml: str | None, concurrency: int
) -> None:
    assert call(tmp_path, f"worker start {flag}", environ, toml)["concurrency"] == concurrency


def test_a_setting_has_the_name_of_its_flag_in_every_place(tmp_path: Path) -> None:
    for environ, toml in (
        ({"THINKLEDGER_REQUEST_TIMEOUT": "7"}, ""),
        ({}, "request_timeout = 7"),
        ({}, "request-timeout = 7"),
    ):
        assert call(tmp_path, "worker start", environ, toml)["timeout_s"] == 7.0


def test_one_setting_reaches_every_command_that_has_it_and_the_global_ones_too(tmp_path: Path) -> None:
    environ = {"THINKLEDGER_CONCURRENCY": "9", "THINKLEDGER_DB": "env.db"}
    for args in ("worker start", "other"):
        given = call(tmp_path, args, environ)
        assert (given["concurrency"], given["db"]) == (9, "env.db")


@pytest.mark.parametrize(
    ("environ", "toml"),
    [
        ({"THINKLEDGER_CONCURENCY": "8"}, None),
        ({"THINKLEDGER_": "8"}, None),
        ({"THINKLEDGER_TIMEOUT_S": "8"}, None),
        ({}, "concurency = 8"),
        ({}, "timeout_s = 8"),
        ({}, "[worker]\nconcurrency = 8"),
        ({}, "HELP = true"),
    ],
)
def test_a_name_that_no_command_has_is_an_error(tmp_path: Path, environ: dict[str, str], toml: str | None) -> None:
    with pytest.raises(UsageError, match="Unknown setting"):
        call(tmp_path, "worker start", environ, toml)


@pytest.mark.parametrize("toml", ["concurrency 8", "concurrency = ", "a = 1\na = 2"])
def test_a_file_that_is_no_toml_is_a_usage_error_that_names_it(tmp_path: Path, toml: str) -> None:
    with pytest.raises(UsageError, match=r"thinkledger\.toml"):
        call(tmp_path, "worker start", {}, toml)


def test_a_file_that_is_no_text_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "thinkledger.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError):
        call(tmp_path, "worker start")


def test_secrets_are_no_settings(tmp_path: Path) -> None:
    environ = dict.fromkeys(NOT_FLAGS, "hush") | {"OTHER": "x"}
    assert defaults(root, environ, tmp_path / "none.toml") == {"worker": {"start": {}}, "other": {}}
    assert sources(root, environ, tmp_path / "none.toml") == {}


def test_each_setting_says_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "thinkledger.toml"
    file.write_text("concurrency = 2\nrequest-timeout = 5", encoding="utf-8")
    found = sources(root, {"THINKLEDGER_CONCURRENCY": "3"}, file)
    assert found == {"concurrency": ("3", "THINKLEDGER_CONCURRENCY"), "request_timeout": (5, str(file))}


@pytest.mark.parametrize(
    ("args", "hoisted"),
    [
        ("worker start --db x.db", "--db x.db worker start"),
        ("worker --db=x.db start -v --concurrency 3", "--db=x.db -v worker start --concurrency 3"),
        ("-q other --db x.db name", "-q --db x.db other name"),
        ("other -- --db x.db", "other -- --db x.db"),
        ("other --db x.db -- -v", "--db x.db other -- -v"),
        ("other --help", "other --help"),
        ("other --db", "--db other"),
        ("", ""),
    ],
)
def test_global_options_are_taken_before_and_after_the_verb(args: str, hoisted: str) -> None:
    assert hoist(root, args.split()) == hoisted.split()


def test_a_hoisted_option_reaches_the_program(tmp_path: Path) -> None:
    given = call(tmp_path, "worker start --db x.db -v --concurrency 3 -v -q")
    assert (given["db"], given["verbose"], given["quiet"], given["concurrency"]) == ("x.db", 2, True, 3)
