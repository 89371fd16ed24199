"""`thinkledger completion`: a script that lets a shell complete verbs and options."""

from typing import Annotated

import click
import typer

from worker import cli_context

VARIABLE = "_THINKLEDGER_COMPLETE"  # by which the script asks this program

HELP = """Print the script that completes verbs and options in a shell.

bash: add `eval "$(thinkledger completion bash)"` to ~/.bashrc; zsh: the same in ~/.zshrc, after compinit.
fish: thinkledger completion fish > ~/.config/fish/completions/thinkledger.fish
"""


def register(app: typer.Typer) -> None:
    app.command("completion", help=HELP)(completion)


def completion(
    shell: Annotated[
        str, typer.Argument(metavar="SHELL", click_type=click.Choice(["bash", "zsh", "fish"]), help="bash, zsh, fish.")
    ],
) -> None:
    """The script of one shell."""
    from typer._completion_shared import get_completion_script

    cli_context.put(get_completion_script(prog_name="thinkledger", complete_var=VARIABLE, shell=shell))
