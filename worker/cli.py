"""The command line: `thinkledger`, and its short doors `worker` and `export`."""

import importlib
import inspect
import os
import sys
from importlib.metadata import version as distribution_version
from pathlib import Path
from typing import Annotated

import click
import typer
from typer._completion_classes import completion_init
from typer.core import TyperArgument, TyperGroup
from typer.utils import get_params_from_function

from app.model.errors import ThinkledgerError
from app.model.exits import Exit
from worker import cli_context, cli_settings, examples
from worker.cli_context import DEFAULT_DB, Globals
from worker.commands.completion import VARIABLE

COMMANDS = (
    "import_",
    "datasets",
    "start",
    "status",
    "samples",
    "export",
    "parse",
    "reparse",
    "retry",
    "cancel",
    "probe",
    "simulate",
    "demo",
    "serve",
    "metrics",
    "verify",
    "backup",
    "restore",
    "copy",
    "migrate",
    "doctor",
    "sql",
    "config",
    "completion",
)

# From 8.4 on click names the commands that were perhaps meant, as typer does: only one of the two may.
CLICK_SUGGESTS = hasattr(click.exceptions, "NoSuchCommand")

app = typer.Typer(
    name="thinkledger",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
    add_completion=False,
    help="Regenerate data sets with a reasoning model on your own GPUs and never lose a thought.",
    epilog="Start with `thinkledger demo`. Documentation: docs/ in the source, or the README.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        cli_context.put(f"thinkledger {distribution_version('thinkledger')}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    db: Annotated[
        str, typer.Option(metavar="PATH", help="The store: a path, sqlite:///PATH or postgresql://...")
    ] = DEFAULT_DB,
    verbose: Annotated[int, typer.Option("--verbose", "-v", count=True, help="More on stderr.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors only on stderr.")] = False,
    log_format: Annotated[
        str, typer.Option(click_type=click.Choice(["text", "json"]), help="Form of log lines.")
    ] = "text",
    log_file: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            show_default=False,
            help="Where worker start and serve log; may be shared. Set aside every 16 MiB, 4 kept. Default: stderr.",
        ),
    ] = None,
    no_progress: Annotated[bool, typer.Option("--no-progress", help="No progress bar.")] = False,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never ask; take no for an answer.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Collect the settings that every verb shares."""
    del version
    ctx.obj = Globals(db, -1 if quiet else verbose, log_format, log_file, not no_progress, not no_input)


def build() -> click.Group:
    """The whole command tree. Command modules import what is heavy inside their functions."""
    for name in COMMANDS:
        importlib.import_module(f"worker.commands.{name}").register(app)
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group)
    for command in (group, *(command for _, command in cli_settings.every(group))):
        _explain_arguments(command)
        if isinstance(command, TyperGroup):
            command.suggest_commands = not CLICK_SUGGESTS
    examples.show_in_help(group)
    return group


def _explain_arguments(command: click.Command) -> None:
    """Give arguments their help text back: click 8.5 has one of its own and sets it to none after typer's."""
    arguments = [one for one in command.params if isinstance(one, TyperArgument)]
    if not arguments or command.callback is None:
        return
    declared = get_params_from_function(inspect.unwrap(command.callback))
    for argument in arguments:
        argument.help = declared[str(argument.name)].default.help
    vars(command)["format_arguments"] = _written_by_typer  # else click lists them a second time


def _written_by_typer(_ctx: click.Context, _formatter: click.HelpFormatter) -> None:
    """Typer lists arguments and options together."""


def call(args: list[str]) -> int:
    """Run one command line; the exit code. Errors are shown as a sentence, never as a traceback, unless unexpected."""
    group = build()
    try:
        if VARIABLE in os.environ:
            completion_init()  # typer's own words between shell and program; the group's main answers and leaves
            group.main([], prog_name="thinkledger", complete_var=VARIABLE)
        defaults = cli_settings.defaults(group, os.environ, Path("thinkledger.toml"))
        result = group.main(
            cli_settings.hoist(group, args), prog_name="thinkledger", standalone_mode=False, default_map=defaults
        )
    except ThinkledgerError as error:
        return cli_context.fail(error)
    except click.exceptions.Abort:
        return int(Exit.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        return int(Exit.USAGE)
    except BrokenPipeError:
        return cli_context.quiet_pipe()
    except SystemExit:
        if not type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):  # click's mark that it met a broken pipe first
            raise
        return cli_context.quiet_pipe()
    except KeyboardInterrupt:
        return int(Exit.INTERRUPTED)
    return result if isinstance(result, int) else int(Exit.DONE)


def main() -> None:
    """`thinkledger ...`"""
    sys.exit(call(sys.argv[1:]))


def main_worker() -> None:
    """`worker start ...` is `thinkledger worker start ...`"""
    sys.exit(call(["worker", *sys.argv[1:]]))


def main_export() -> None:
    """`export ...` is `thinkledger export ...`"""
    sys.exit(call(["export", *sys.argv[1:]]))
