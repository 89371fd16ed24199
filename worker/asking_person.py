"""A person's word before something that cannot be taken back."""

import sys

import typer

from app.model.errors import Refused
from worker import cli_context


def confirm(settings: cli_context.Globals, question: str, *, yes: bool) -> None:
    """Raise Refused unless `--yes` was given or a person at a terminal says so."""
    if yes:
        return
    if not (settings.ask and sys.stdin.isatty()):
        raise Refused(f"{question} Say so with --yes; --dry-run shows what it would do. Nothing was changed.")
    if not typer.confirm(question, err=True):
        raise Refused("Nothing was changed.")
