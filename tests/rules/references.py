"""The reference pages that are made from the code. `make references` writes them; a test compares them."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from app.capture.flags import Flag
from app.model import states
from app.model.states import MOVES, Event, JobState
from tests.deploy.units import tree
from tests.rules import openapi
from worker import cli_settings
from worker.examples import EXAMPLES

FOLDER = Path(__file__).resolve().parents[2] / "docs/reference"
MADE = "<!-- made from the code by `make references`; a test compares them -->"
SECRETS = {
    "THINKLEDGER_API_KEY": "the key of the model server; another variable with `--api-key-env`",
    "THINKLEDGER_TOKEN": "the token of the dashboard, in place of the file beside the store",
    "THINKLEDGER_WEBHOOK_URL": "where alarms are sent",
    "THINKLEDGER_WEBHOOK_TOKEN": "sent to it as a bearer token",
}


def pages() -> dict[str, str]:
    """Every page by its file name."""
    made = {"commands.md": commands(), "settings.md": settings(), "states.md": lives(), "flags.md": flags()}
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}


def commands() -> Iterator[str]:
    yield from ("# Commands", "", MADE, "")
    yield "`worker ...` and `export ...` are short for `thinkledger worker ...` and `thinkledger export ...`."
    yield "The options of this first table are accepted before and after every verb. `--help` prints the same."
    yield from ("", *_options(tree()))
    for words, command in cli_settings.every(tree()):
        if isinstance(command, click.Group) and not command.invoke_without_command:
            continue
        yield from ("", f"## {words}", "", *_help(command), "")
        arguments = [one for one in command.params if isinstance(one, click.Argument)]
        usage = " ".join(["thinkledger", words, *(str(one.make_metavar(_context(command))) for one in arguments)])
        yield from ("```", usage, "```", "", *_options(command))
        yield from _examples(words)


def _context(command: click.Command) -> click.Context:
    return click.Context(command)


def _help(command: click.Command) -> Iterator[str]:
    yield from inspect.cleandoc(command.help or "").splitlines()


def _examples(words: str) -> Iterator[str]:
    yield from ("", "```sh")
    for one in EXAMPLES[words]:
        yield from (f"# {one.why.removesuffix(':')}", one.call)
    yield "```"


def _options(command: click.Command) -> Iterator[str]:
    found = [one for one in command.params if isinstance(one, click.Option) and not one.hidden and one.name != "help"]
    if not found:
        return
    yield from ("| option | default | |", "|---|---|---|")
    for one in found:
        yield f"| {_flags(one)} | {_default(one)} | {_cell(one.help or '')} |"


def _flags(option: click.Option) -> str:
    names = "/".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag or option.count else f" {_metavar(option)}"
    return f"`{_cell(names + value)}`"


def _metavar(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "\\|".join(map(str, option.type.choices))
    return option.metavar or option.type.name.upper()


def _default(option: click.Option) -> str:
    value: Any = None if option.required else option.to_info_dict()["default"]
    if value is None or callable(option.default) or value is False or (value == 0 and option.count):
        return "required" if option.required else ""
    return f"`{value}`"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def settings() -> Iterator[str]:
    yield from ("# Settings", "", MADE, "")
    yield "A setting is said by its flag, else by `THINKLEDGER_<NAME>` in the environment, else by a line of"
    yield "`./thinkledger.toml` in the folder of the call (`concurrency = 64`), else it is the default. An unknown"
    yield "name is an error. An option that may be repeated takes a list, or words parted by commas."
    yield "`thinkledger config` prints every value and where it comes from."
    yield from ("", "| name | environment | of |", "|---|---|---|")
    found: dict[str, list[str]] = {}
    for path, command in cli_settings.paths(tree()):
        for option in cli_settings.options(command):
            found.setdefault(cli_settings.flag(option), []).append(path)
    for name, paths in sorted(found.items()):
        yield f"| `{name}` | `{cli_settings.PREFIX}{name.upper()}` | {', '.join(paths)} |"
    yield from ("", "Secrets stand in the environment alone, and never in a flag, a file of settings or the store:", "")
    yield from ("| environment | |", "|---|---|")
    yield from (f"| `{name}` | {SECRETS[name]} |" for name in sorted(cli_settings.NOT_FLAGS))
    yield ""
    yield (
        "What is said anew at each call is no setting: "
        + ", ".join(f"`--{name.replace('_', '-')}`" for name in sorted(cli_settings.OF_ONE_CALL))
        + "."
    )


def lives() -> Iterator[str]:
    yield from ("# States of a job", "", MADE, "", "| state | |", "|---|---|")
    meant = _comments(inspect.getsource(states))
    yield from (f"| `{state}` | {meant[state]} |" for state in JobState)
    yield from ("", "## What moves a job", "", "| event | what happens | from | to |", "|---|---|---|---|")
    for event in Event:
        sources = ", ".join(f"`{state}`" for state in states.sources(event))
        (to,) = {MOVES[state, event] for state in states.sources(event)}
        yield f"| `{event}` | {meant[event]} | {sources} | `{to}` |"


def flags() -> Iterator[str]:
    from app.capture import flags as module

    yield from ("# Flags of a reading", "", MADE, "")
    yield "A flag explains a verdict or notes an oddity; it never changes what is captured. `sample NAME ID` and the"
    yield "page of a sample show them, `parse` prints them. Loss flags stand apart: see [verdicts](verdicts.md)."
    yield from ("", "| flag | |", "|---|---|")
    meant = _comments(inspect.getsource(module))
    yield from (f"| `{flag}` | {meant.get(flag, flag.replace('_', ' '))} |" for flag in Flag)


def _comments(source: str) -> dict[str, str]:
    """What stands behind each value of an enum."""
    return dict(re.findall(r'= "(\w+)"  # (.+)', source))


def api_tables() -> tuple[dict[str, str], dict[str, str]]:
    """The two tables of the page of the JSON API, which is held against the running server: GET and POST."""
    text = (FOLDER / "json-api.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| `(/api/v1[^`]*)` \| (.*) \|$", re.MULTILINE)
    gets, _, posts = text.partition("| POST |")
    return dict(row.findall(gets)), dict(row.findall(posts))


def write() -> None:
    """Write every page."""
    made = pages() | {"openapi.json": openapi.text(openapi.document(*api_tables()))}
    for name, text in made.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
