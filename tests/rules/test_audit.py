"""What runs with us is pinned, and an audit never claims what it did not ask."""

from pathlib import Path

import pytest

from tests import audit


def test_all_that_runs_with_us_is_pinned_and_installed_as_pinned() -> None:
    found = audit.installed()
    assert {"litestar", "openai", "sqlalchemy", "uvicorn", "multipart", "h11"} <= {one.name for one in found}
    assert [one for one in found if not one.as_pinned] == []


def test_what_only_tests_need_does_not_run_with_us() -> None:
    assert {"pytest", "schemathesis", "hypothesis", "ruff"}.isdisjoint(audit.closure())


def test_every_licence_is_one_that_lets_us_pass_it_on() -> None:
    free = ("MIT", "BSD", "Apache", "ISC", "PSF", "Python", "MPL", "Mozilla", "0BSD", "zlib", "CNRI", "Unlicense")
    other = {one.name: one.licence for one in audit.installed() if not any(word in one.licence for word in free)}
    assert other in ({}, {"pysqlite3": audit.NOT_SAID})  # its file LICENSE is zlib's; its metadata are silent


def test_without_the_program_nothing_is_said_to_be_safe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = audit.advisories()
    assert (code, "NOT ASKED" in said) == (2, True)


def test_without_its_database_nothing_is_said_to_be_safe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "pip-audit"
    program.write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert audit.advisories() == (2, audit.NOT_ASKED.format(why="connection refused"))


def test_an_advisory_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "pip-audit"
    program.write_text("#!/bin/sh\necho 'Found 1 known vulnerability in 1 package' >&2\necho 'x 1.0 CVE-1'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    code, said = audit.advisories()
    assert (code, "CVE-1" in said) == (1, True)
