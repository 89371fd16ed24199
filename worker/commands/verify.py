"""`thinkledger verify`: whether the store is what was written into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.model.exits import Exit
from worker import cli_context

if TYPE_CHECKING:
    from app.store.store import Store
    from app.verify.findings import Finding, Report

LISTED = 1_000  # findings that one JSON object holds; the count is that of all


def register(app: typer.Typer) -> None:
    app.command("verify", help=HELP)(verify)


HELP = """Compare all that a store says twice: sums, answers, copies, hashes, readings. Changes nothing.

What it came to is noted, so that pages and `status` show an alarm until a later one finds nothing.

Without --full 500 bodies are hashed and read anew, with it every one. Exit 8 when anything is wrong.
"""


def verify(
    ctx: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Hash and read every body, compare every index.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """One line a finding, and what was looked at."""
    settings = cli_context.context(ctx)
    cli_context.run(lambda: _run(settings, full=full, as_json=as_json))


async def _run(settings: cli_context.Globals, *, full: bool, as_json: bool) -> Exit:
    from app.progress.display import one_line
    from app.spool.looking import look, waiting_words
    from app.store.store import open_store
    from app.verify.verifying import Told, verify
    from worker.bar import shown

    kept: list[Finding] = []

    def tell(finding: Finding) -> None:
        if not as_json:
            cli_context.put(one_line(finding.line))
        elif len(kept) < LISTED:
            kept.append(finding)

    async with open_store(settings.db) as store:
        with shown(settings, "verify") as show:
            report = await verify(store, Told(tell, show), full=full)
        await _note(store, report, full=full)
        waiting = look(store.place).waiting
    if as_json:
        cli_context.put_json(_facts(report, kept, full=full) | {"spool_waiting": waiting})
    else:
        cli_context.put(summary(report))
        if waiting:
            cli_context.say(waiting_words(waiting))
    return Exit.DONE if report.sound else Exit.INTEGRITY


async def _note(store: Store, report: Report, *, full: bool) -> None:
    """A store that cannot be written to, as a damaged or a busy one, is verified all the same."""
    from app.gates.soundness import Verified, note_verified
    from app.model.errors import ThinkledgerError

    try:
        await store.write(note_verified, Verified(report.findings, full, report.seq))
    except ThinkledgerError as error:
        cli_context.say(f"What it came to could not be noted in the store: {error}")


def summary(report: Report) -> str:
    """`ok: 10,000 jobs, 10,020 responses, 500 of them read anew, as of seq 12,345`"""
    verdict = "ok" if report.sound else f"{report.findings:,} findings"
    older = f" ({report.older_readings:,} by another parser version: hashed only)" if report.older_readings else ""
    return (
        f"{verdict}: {report.jobs:,} jobs, {report.responses:,} responses, {report.bodies:,} of them hashed and read "
        f"anew{older}, as of seq {report.seq:,}"
    )


def _facts(report: Report, kept: list[Finding], *, full: bool) -> dict[str, object]:
    return {
        "ok": report.sound, "full": full, "seq": report.seq, "jobs": report.jobs, "responses": report.responses,
        "bodies": report.bodies, "older_readings": report.older_readings, "findings": report.findings,
        "listed": [
            {"dataset": one.dataset, "sample_id": one.sample_id, "what": one.what, "todo": one.todo} for one in kept
        ],
    }  # fmt: skip
