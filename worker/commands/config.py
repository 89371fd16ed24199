"""`thinkledger config`: every setting, its value and where that comes from. Never a secret."""

import os
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from worker import cli_context, cli_settings


def register(app: typer.Typer) -> None:
    app.command("config", help="Show every setting, its value and where it comes from.")(config)


def config(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False
) -> None:
    """Print the settings that commands share, one a line."""
    root = ctx.find_root().command
    assert isinstance(root, click.Group)
    said = cli_settings.sources(root, os.environ, Path("thinkledger.toml"))
    settings = _settings(root, said)
    if as_json:
        cli_context.put_json({"settings": settings})
        return
    width = max(len(setting["name"]) for setting in settings)
    for setting in settings:
        cli_context.put(f"{setting['name']:{width}}  {setting['value']}  ({setting['source']})")


def _settings(root: click.Group, said: dict[str, tuple[Any, str]]) -> list[dict[str, Any]]:
    """One row a setting; where commands have different defaults, each stands with its commands."""
    found: dict[str, dict[str, list[str]]] = {}
    for path, command in cli_settings.paths(root):
        for option in cli_settings.options(command):
            name = cli_settings.flag(option)
            value, _ = said.get(name, (_default(option), None))
            cli_settings.check(option, name, said)
            found.setdefault(name, {}).setdefault(_without_password(str(value)), []).append(path)
    return [
        {"name": name, "value": _shown(found[name]), "source": said[name][1] if name in said else "default"}
        for name in sorted(found)
    ]


def _without_password(value: str) -> str:
    """The value; of a database's URL only host, port and name."""
    if "://" not in value:
        return value
    from app.store.address import address_of, is_address

    return address_of(value).shown if is_address(value) else value


def _default(option: click.Option) -> Any:
    if option.required or callable(option.default):
        return "-"
    value = option.to_info_dict()["default"]
    return "-" if value is None else value


def _shown(values: dict[str, list[str]]) -> str:
    if len(values) == 1:
        return next(iter(values))
    return ", ".join(f"{value} for {' and '.join(paths)}" for value, paths in values.items())
