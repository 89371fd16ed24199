"""`thinkledger worker start`: lease, ask, store."""

import os
from pathlib import Path
from typing import Annotated

import click
import typer

from app.model.errors import UsageError
from worker import cli_context
from worker.commands import workers
from worker.importing import importing
from worker.open_files import make_room
from worker.option_values import at_least, seconds, size
from worker.option_values import backup_age as backup_age_ms

DEFAULT_KEY = "THINKLEDGER_API_KEY"
_TTL_WORDS = "below 1s a worker that is only busy would be taken for dead, and its jobs asked twice"


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Ask the endpoint and store every thought; see who does.", no_args_is_help=True)
    group.command("start", help=HELP)(start)
    workers.register(group)
    app.add_typer(group, name="worker")


HELP = """Lease prompts, ask the endpoint, store the answers; runs until stopped.
"""


def api_key(variable: str | None) -> str | None:
    """The key in the named environment variable. A named one must be set; the default one may be absent."""
    value = os.environ.get(variable or DEFAULT_KEY)
    if variable is not None and not value:
        raise UsageError(f"--api-key-env {variable}: that environment variable is not set. Export the key in it first.")
    return value or None


def start(
    ctx: typer.Context,
    endpoint: Annotated[list[str], typer.Option(metavar="URL", help="Base URL of a model server; repeat for several.")],
    dataset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this dataset; repeat for several.")
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=16384, help="Requests open at once.")] = 64,
    until_empty: Annotated[bool, typer.Option("--until-empty", help="End when nothing is left to do.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="End when so many jobs are done or failed by this run; one that is put off for later does not count. "
            "Exit 6 when one of them failed.",
        ),
    ] = None,
    on_gate: Annotated[
        str,
        typer.Option(
            click_type=click.Choice(["hold", "exit"]),
            help="When a gate or an alarm holds a dataset: hold waits for `datasets resume`, exit drains and exits 7.",
        ),
    ] = "hold",
    request_timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest wait for one answer.")] = "2h",
    lease_ttl: Annotated[
        str, typer.Option(metavar="TIME", help="A worker silent for so long is taken for dead.")
    ] = "60s",
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="How long the first SIGTERM waits for open answers.")
    ] = "30s",
    model: Annotated[str | None, typer.Option(help="Default: the dataset's, else the only one listed.")] = None,
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="Largest body that is taken.")] = "64MiB",
    separate_reasoning: Annotated[
        str,
        typer.Option(
            click_type=click.Choice(["auto", "off", "on"]),
            help="off: ask for the raw text and split it here, lossless; auto: off where the server is SGLang.",
        ),
    ] = "auto",
    token_ids: Annotated[
        str,
        typer.Option(click_type=click.Choice(["auto", "off"]), help="auto: ask for token ids where they are known."),
    ] = "auto",
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Ask for event streams (no token ids).")] = False,
    skip_preflight: Annotated[
        bool, typer.Option("--skip-preflight", help="Start without the one probe answer that shows where reasoning is.")
    ] = False,
    stall_timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest silence within a stream.")] = "5m",
    spool_dir: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Where answers go while the store takes none. Default: beside it."),
    ] = None,
    spool_reserve: Annotated[
        str, typer.Option(metavar="SIZE", help="Room for such answers, allocated at the start.")
    ] = "256MiB",
    spool_after: Annotated[
        str, typer.Option(metavar="TIME", help="How long an answer waits for a store that takes none.")
    ] = "5s",
    api_key_env: Annotated[
        str | None, typer.Option(metavar="VAR", help=f"Environment variable with the API key (else {DEFAULT_KEY}).")
    ] = None,
    min_free_disk: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Ask nothing new while the store's disk has less free. Default: 2GiB, or 5 % of a small disk.",
        ),
    ] = None,
    backup_age: Annotated[
        str, typer.Option(metavar="TIME", help="Alarm when answers are in no backup for so long; 0 for never.")
    ] = "36h",
    name: Annotated[str | None, typer.Option(help="Shown in pages and status. Default: host and pid.")] = None,
) -> None:
    """Collect the settings and run the worker."""
    shared = cli_context.context(ctx)
    key = api_key(api_key_env)
    timing = {
        "timeout": at_least(
            "--request-timeout", request_timeout, seconds(request_timeout), 0.1, "no answer comes within 100ms"
        ),
        "ttl": at_least("--lease-ttl", lease_ttl, seconds(lease_ttl), 1.0, _TTL_WORDS),
        "stall": at_least(
            "--stall-timeout", stall_timeout, seconds(stall_timeout), 0.1, "no stream is as even as 100ms"
        ),
    }
    largest = at_least("--max-body", max_body, size(max_body), 2**10, "no answer fits into less than 1KiB")
    make_room(concurrency, len(endpoint))
    with importing():
        from app.gates.webhook import webhook_of
        from worker.supervisor import WorkerSettings, run_worker

    webhook = webhook_of(os.environ)
    settings = WorkerSettings(
        db=shared.db,
        endpoints=tuple(endpoint),
        datasets=frozenset(dataset) if dataset else None,
        concurrency=concurrency,
        until_empty=until_empty,
        limit=limit,
        exit_on_gate=on_gate == "exit",
        model=model,
        max_body=largest,
        spool_dir=spool_dir,
        spool_reserve=size(spool_reserve),
        raw_text={"auto": None, "off": True, "on": False}[separate_reasoning],
        token_ids=token_ids == "auto",
        stream=stream,
        preflight=not skip_preflight,
        api_key=key,
        min_free_disk=None if min_free_disk is None else size(min_free_disk),
        name=name,
        live_progress=shared.live_progress,
        request_timeout_s=timing["timeout"],
        lease_ttl_s=timing["ttl"],
        stall_s=timing["stall"],
        grace_s=seconds(grace),
        spool_after_s=seconds(spool_after),
        backup_ms=backup_age_ms(backup_age),
        webhook=webhook,
    )
    log = cli_context.log_of(shared, key, *(() if webhook is None else webhook.secrets))
    cli_context.run(lambda: run_worker(settings, log))
