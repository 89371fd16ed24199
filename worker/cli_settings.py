"""Where a setting comes from: flag, then THINKLEDGER_<FLAG>, then ./thinkledger.toml, then the default.

One flat set of names: `--request-timeout`, `THINKLEDGER_REQUEST_TIMEOUT` and `request_timeout` in the file are one
setting, for every command that has it. A name that no command has is an error, never ignored.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from app.model.errors import UsageError

PREFIX = "THINKLEDGER_"
# Read where they are used, so that a secret never passes through the settings.
# Said anew at each call: one for all commands would cut exports and hide rows.
OF_ONE_CALL = frozenset(
    {
        "after",
        "all",
        "allow_incomplete",
        "allow_regression",
        "allow_uncaptured",
        "apply",
        "attempt",
        "cause",
        "check",
        "dedupe",
        "dir",
        "dry_run",
        "expect",
        "fail_on_regression",
        "finish",
        "force",
        "help",
        "json",
        "jsonl",
        "kind",
        "limit",
        "n",
        "name",
        "on_duplicate",
        "only",
        "output",
        "overwrite",
        "part",
        "raw",
        "reason",
        "require_complete",
        "resume",
        "state",
        "verdict",
        "version",
        "watch",
        "yes",
    }
)
# The same for one command only: a setting for workers must not turn every probe into one that ends holds, and one for
# imports must not stick to every job that is asked again.
OF_ONE_CALL_OF = frozenset({("probe", "dataset"), ("retry", "max_tokens")})
# Commands whose options are no settings: the server they start is a toy.
TOYS = frozenset({"simulate", "demo"})
NOT_FLAGS = frozenset(
    {"THINKLEDGER_API_KEY", "THINKLEDGER_TOKEN", "THINKLEDGER_WEBHOOK_URL", "THINKLEDGER_WEBHOOK_TOKEN"}
)


def defaults(group: click.Group, environ: Mapping[str, str], file: Path) -> dict[str, Any]:
    """click's default_map for the whole tree: what the environment says over what the file says."""
    said = _checked(group, _from_file(file), str(file)) | _checked(group, _from_environment(environ), "the environment")
    return _map_of(group, said)


def sources(group: click.Group, environ: Mapping[str, str], file: Path) -> dict[str, tuple[Any, str]]:
    """Every setting that was said outside the command line: its value and where."""
    found = {name: (value, str(file)) for name, value in _checked(group, _from_file(file), str(file)).items()}
    environment = _checked(group, _from_environment(environ), "the environment")
    return found | {name: (value, PREFIX + name.upper()) for name, value in environment.items()}


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    return {
        name.removeprefix(PREFIX).lower(): value
        for name, value in environ.items()
        if name.startswith(PREFIX) and name not in NOT_FLAGS
    }


def _from_file(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}. Expected lines like `concurrency = 64`.") from error
    return {name.replace("-", "_"): value for name, value in read.items()}


def _checked(group: click.Group, said: dict[str, Any], where: str) -> dict[str, Any]:
    known = set(_names(group))
    for name in said:
        if name not in known:
            raise UsageError(f"Unknown setting `{name}` in {where}. `thinkledger config` lists the known ones.")
    return said


def options(command: click.Command) -> Iterator[click.Option]:
    """The options of one command that are settings."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and _outlives_a_call(command, flag(parameter)):
            yield parameter


def _outlives_a_call(command: click.Command, name: str) -> bool:
    return name not in OF_ONE_CALL and (command.name, name) not in OF_ONE_CALL_OF


def commands(group: click.Group) -> Iterator[click.Command]:
    """The group and all below it whose options are settings."""
    return (command for _, command in paths(group))


def paths(group: click.Group, words: str = "") -> Iterator[tuple[str, click.Command]]:
    """The same with the words that call each: `worker start`; "all" for the root."""
    yield words or "all", group
    for name, command in group.commands.items():
        path = f"{words} {name}".strip()
        if isinstance(command, click.Group):
            yield from paths(command, path)
        elif name not in TOYS:
            yield path, command


def every(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """All commands below the group by their words, those whose options are no settings too."""
    for name, command in group.commands.items():
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {words}", below) for words, below in every(command))


def check(option: click.Option, name: str, said: dict[str, tuple[Any, str]]) -> None:
    """Refuse a value that the option cannot take, naming where it was said."""
    if name not in said:
        return
    value, source = said[name]
    try:
        option.type_cast_value(click.Context(click.Command("config")), _value(option, value))
    except click.BadParameter as error:
        raise UsageError(f"{source}: {name} is {value!r}. {error.format_message()}") from error


def flag(option: click.Option) -> str:
    """The setting's name: that of the flag, not of the function's parameter."""
    longest = max(option.opts, key=len)
    return longest.lstrip("-").replace("-", "_")


def _names(group: click.Group) -> Iterator[str]:
    for command in commands(group):
        yield from (flag(option) for option in options(command))


def _map_of(command: click.Command, said: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {
        str(option.name): _value(option, said[flag(option)]) for option in options(command) if flag(option) in said
    }
    if isinstance(command, click.Group):
        for name, sub in command.commands.items():
            if name not in TOYS:
                values[name] = _map_of(sub, said)
    return values


def _value(option: click.Option, said: Any) -> Any:
    """An option that may be repeated takes a list, or words parted by commas."""
    if option.multiple and isinstance(said, str):
        return [word.strip() for word in said.split(",") if word.strip()]
    return said


def hoist(group: click.Group, args: list[str]) -> list[str]:
    """Move global options before the verb, where click expects them; what follows `--` stays."""
    takes_value = {
        flag: not (option.is_flag or option.count)
        for option in group.params
        if isinstance(option, click.Option)
        for flag in option.opts
    }
    front: list[str] = []
    rest: list[str] = []
    pending = iter(args)
    for arg in pending:
        if arg == "--":
            return [*front, *rest, arg, *pending]
        name, equals, _ = arg.partition("=")
        if arg in ("-h", "--help") or name not in takes_value:
            rest.append(arg)
        elif takes_value[name] and not equals:
            front += [arg, *_next(pending)]
        else:
            front.append(arg)
    return front + rest


def _next(pending: Iterator[str]) -> list[str]:
    value = next(pending, None)
    return [] if value is None else [value]
