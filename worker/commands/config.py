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
        value = "-" if setting["value"] is None else setting["value"]
        cli_context.put(f"{setting['name']:{width}}  {value}  ({setting['source']})")


def _settings(root: click.Group, said: dict[str, tuple[Any, str]]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for command in cli_settings.commands(root):
        for option in cli_settings.options(command):
            name = cli_settings.flag(option)
            default = None if callable(option.default) or option.required else option.to_info_dict()["default"]
            value, source = said.get(name, (default, "default"))
            found.setdefault(name, {"name": name, "value": value, "source": source})
    return [found[name] for name in sorted(found)]
