"""Every command shows how it is used, and what it shows can be typed."""

import shlex
import subprocess

import click
import pytest

from tests.deploy.units import parse, tree
from tests.support.forks import COMMAND, environment
from worker import cli_settings
from worker.examples import EXAMPLES

OURS = ("thinkledger", "worker")
CASES = [(words, example.call) for words, examples in EXAMPLES.items() for example in examples]


def calls(typed: str) -> list[list[str]]:
    """The commands of ours in a shell's line, without what stands around them."""
    lexer = shlex.shlex(typed.replace('"$(', " ; ").replace(')"', " "), posix=True, punctuation_chars=";|&>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set(";|&>"):
            found.append([])
        else:
            found[-1].append(word)
    return [call for call in found if call and call[0] in OURS]


def test_every_command_has_an_example_and_none_is_left_over() -> None:
    assert [words for words, _ in cli_settings.every(tree())] == sorted(
        EXAMPLES, key=[words for words, _ in cli_settings.every(tree())].index
    )
    assert all(EXAMPLES.values())


@pytest.mark.parametrize(("words", "typed"), CASES, ids=[call for _, call in CASES])
def test_an_example_can_be_typed(words: str, typed: str) -> None:
    found = calls(typed)
    assert found
    verbs = [" ".join(parse(call if call[0] == "worker" else call[1:])) for call in found]
    assert words in verbs or (words, verbs) == ("worker", ["worker start"])


def test_the_rule_sees_an_example_that_is_none() -> None:
    with pytest.raises(click.UsageError):
        parse(calls("thinkledger export --datasets B1_glaive")[0][1:])


@pytest.mark.parametrize("words", list(EXAMPLES))
def test_the_help_shows_them_unbroken(words: str) -> None:
    found: click.Command = dict(cli_settings.every(tree()))[words]
    context = click.Context(found, info_name=words, max_content_width=110, terminal_width=80)
    shown = found.get_help(context)
    for example in EXAMPLES[words]:
        assert f"\n    {example.call}" in shown.replace("\n      ", "\n    ")


def test_the_help_of_a_command_ends_with_its_examples() -> None:
    done = subprocess.run([*COMMAND, "backup", "--help"], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith(EXAMPLES["backup"][-1].call)
