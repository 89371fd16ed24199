"""Settings of `worker start` that cannot be meant are refused before anything starts."""

from pathlib import Path

import pytest

from tests.support.typed import typed


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--lease-ttl", "999ms", "below 1s a worker that is only busy would be taken for dead"),
        ("--request-timeout", "0", "no answer comes within 100ms"),
        ("--stall-timeout", "0s", "no stream is as even"),
        ("--backup-age", "59s", "the shortest is 1m; 0 is for ever"),
        ("--max-body", "0", "no answer fits into less than 1KiB"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_a_sentence(
    tmp_path: Path, option: str, value: str, words: str
) -> None:
    done = typed(tmp_path, "worker", "start", "--endpoint", "http://127.0.0.1:9", option, value)
    said = " ".join(done.stderr.decode().split())
    assert done.returncode == 2, said
    assert f"{option} {value}: " in said
    assert words in said
    assert list(tmp_path.iterdir()) == []


def test_the_help_says_what_the_limit_counts(tmp_path: Path) -> None:
    said = " ".join(typed(tmp_path, "worker", "start", "--help").stdout.decode().replace("│", " ").split())
    assert "done or failed by this run" in said
