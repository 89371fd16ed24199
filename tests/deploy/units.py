"""Service files, read."""

import warnings
from functools import cache
from pathlib import Path

import click

from worker.cli_settings import hoist

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def entries(name: str) -> dict[str, list[str]]:
    """Every key of a unit with its values, in their order."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / "systemd" / name).read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def variables(name: str) -> dict[str, str]:
    """The settings of an environment file."""
    lines = (DEPLOY / "systemd" / name).read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {key: value for key, _, value in pairs}


@cache
def tree() -> click.Group:
    """All commands. Importing typer warns of what it uses of click."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from worker.cli import build

        return build()


def parse(words: list[str]) -> list[str]:
    """The verbs of a command line; click refuses what it does not know."""
    command: click.Command = tree()
    context, verbs, rest = None, list[str](), hoist(tree(), words)
    while True:
        context = command.make_context(command.name, rest, parent=context, resilient_parsing=False)
        if not isinstance(command, click.Group):
            return verbs
        words = [*context._protected_args, *context.args]
        if not words and command.invoke_without_command:
            return verbs
        name, found, rest = command.resolve_command(context, words)
        assert name is not None
        assert found is not None
        verbs.append(name)
        command = found
