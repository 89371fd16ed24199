"""`thinkledger datasets`: list, show, set, pause, resume and delete."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context
from worker import dataset_options as options
from worker.dataset_deletion import delete

if TYPE_CHECKING:
    from app.leasing.datasets import DatasetSettings


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List the datasets; show, set, pause, resume or delete one.", invoke_without_command=True)
    group.callback()(listing)
    group.command("show", help="The settings of one dataset.")(show)
    group.command("set", help="Change the settings of one dataset; jobs that are not asked yet use them.")(change)
    group.command("pause", help="Claim nothing more from a dataset; what is in flight ends.")(pause)
    group.command("resume", help="Take back what holds a dataset.")(resume)
    group.command("delete", help="Delete a dataset of which a copy is known; refused while it is worked at.")(delete)
    app.add_typer(group, name="datasets")


Name = Annotated[str, typer.Argument(help="The dataset.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def listing(ctx: typer.Context, as_json: AsJson = False) -> None:
    """One line a dataset."""
    if ctx.invoked_subcommand is None:
        cli_context.run(lambda: _list(cli_context.context(ctx).db, as_json=as_json))


async def _list(db: str, *, as_json: bool) -> Exit:
    from app.leasing.datasets import all_datasets
    from app.progress.gathering import overview
    from app.store.store import open_store
    from worker.display import line

    async with open_store(db) as store:
        settings, now = await all_datasets(store), await overview(store)
    if as_json:
        cli_context.put_json({"datasets": [_facts(one) for one in settings]})
        return Exit.DONE
    width = max((len(dataset.name) for dataset in now.datasets), default=0)
    for dataset in now.datasets:
        cli_context.put(f"{dataset.name:{width}}  {line(dataset)}")
    if not settings:
        cli_context.say("No dataset yet. `thinkledger import NAME FILE` makes one.")
    return Exit.DONE


def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """The settings of one dataset."""
    cli_context.run(lambda: _show(cli_context.context(ctx).db, name, as_json=as_json))


async def _show(db: str, name: str, *, as_json: bool) -> Exit:
    from app.leasing.datasets import dataset_of
    from app.store.store import open_store

    async with open_store(db) as store:
        found = await dataset_of(store, name)
    _put(found, as_json=as_json)
    return Exit.DONE


def change(
    ctx: typer.Context,
    name: Name,
    model: options.Model = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    top_p: options.TopP = None,
    thinking: options.Thinking = None,
    profile: options.Profile = None,
    extra: options.Extra = None,
    gate: options.Gate = None,
    min_capture: options.MinCapture = None,
    turns: options.Turns = None,
    rank: options.Rank = None,
    max_attempts: options.MaxAttempts = None,
    as_json: AsJson = False,
) -> None:
    """Change what is said; the rest stays."""
    said = options.said(
        model=model, max_tokens=max_tokens, temperature=temperature, top_p=top_p, thinking=thinking, profile=profile,
        extra=extra, gate=gate, min_capture=min_capture, turns=turns,
    )  # fmt: skip
    if not said and rank is None and max_attempts is None:
        raise UsageError("Say what to change, for example --max-tokens 16384. `datasets show NAME` shows the settings.")
    cli_context.run(
        lambda: _change(cli_context.context(ctx).db, name, said, rank=rank, max_attempts=max_attempts, as_json=as_json)
    )


async def _change(
    db: str, name: str, said: dict[str, Any], *, rank: int | None, max_attempts: int | None, as_json: bool
) -> Exit:
    from app.leasing.datasets import ChangeRequest, change_settings, dataset_of
    from app.store.store import open_store

    async with open_store(db) as store:
        found = await dataset_of(store, name)
        await store.write(change_settings, ChangeRequest(found.id, found.config.changed(**said), rank, max_attempts))
        _put(await dataset_of(store, name), as_json=as_json)
    return Exit.DONE


def pause(
    ctx: typer.Context, name: Name, reason: Annotated[str, typer.Option(help="Shown beside the dataset.")] = "paused"
) -> None:
    """A person's hold."""
    cli_context.run(lambda: _pause(cli_context.context(ctx).db, name, reason))


async def _pause(db: str, name: str, reason: str) -> Exit:
    from app.leasing.datasets import dataset_of
    from app.leasing.holds import HoldKind, HoldRequest, hold
    from app.store.store import open_store

    async with open_store(db) as store:
        found = await dataset_of(store, name)
        new = await store.write(hold, HoldRequest(found.id, HoldKind.PERSON, reason))
    cli_context.say(f"{name} is paused." if new else f"{name} was paused already.")
    return Exit.DONE


def resume(
    ctx: typer.Context,
    name: Name,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            click_type=click.Choice(["person", "gate", "alarm"]), help="Only these holds; repeat for several."
        ),
    ] = None,
) -> None:
    """Take back holds. The checks of the first answers and of the latest ones begin anew."""
    cli_context.run(lambda: _resume(cli_context.context(ctx).db, name, kind or []))


async def _resume(db: str, name: str, kinds: list[str]) -> Exit:
    from app.gates.resume import resume as take_back
    from app.leasing.datasets import dataset_of
    from app.leasing.holds import HoldKind, LiftRequest
    from app.store.store import open_store

    lifted_kinds = tuple(HoldKind(kind) for kind in kinds) or tuple(HoldKind)
    async with open_store(db) as store:
        found = await dataset_of(store, name)
        lifted = await store.write(take_back, LiftRequest(found.id, lifted_kinds))
    cli_context.say(f"{name}: {lifted} hold(s) taken back." if lifted else f"{name} was not held.")
    return Exit.DONE


def _facts(found: DatasetSettings) -> dict[str, Any]:
    return {"name": found.name, "rank": found.rank, "max_attempts": found.max_attempts, **asdict(found.config)}


def _put(found: DatasetSettings, *, as_json: bool) -> None:
    facts = _facts(found)
    if as_json:
        cli_context.put_json(facts)
        return
    width = max(map(len, facts))
    for key, value in facts.items():
        cli_context.put(f"{key:{width}}  {'-' if value is None else value}")
