"""`thinkledger probe`: what a server is, where its reasoning comes, and one real answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import click
import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context

if TYPE_CHECKING:
    from app.model.config import DatasetConfig
    from worker.preflight import Probe


def register(app: typer.Typer) -> None:
    app.command("probe", help="Show what an endpoint is, where its reasoning comes, and one real answer.")(probe)


def probe(
    ctx: typer.Context,
    endpoint: Annotated[str, typer.Option(metavar="URL", help="Base URL of the model server.")],
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Ask as this dataset does; when it passes, end its gate and alarm holds."),
    ] = None,
    n: Annotated[int, typer.Option("--n", min=1, max=100, help="How many answers to ask for.")] = 1,
    model: Annotated[str | None, typer.Option(help="Default: the only one listed.")] = None,
    thinking: Annotated[
        str | None, typer.Option(click_type=click.Choice(["on", "off"]), help="Ask for thinking or for none.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="How the model marks its reasoning. Default: think.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Token limit of an answer.")] = None,
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Ask for an event stream.")] = False,
    request_timeout: Annotated[str, typer.Option(metavar="TIME", help="Longest wait for one answer.")] = "5m",
    api_key_env: Annotated[
        str | None, typer.Option(metavar="VAR", help="Environment variable with the API key.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Exit 0 when reasoning is captured (or not expected), 7 when it is not, 5 when the server cannot be reached."""
    from app.model.config import DatasetConfig
    from worker.commands.start import api_key
    from worker.option_values import known_profile, seconds

    if dataset is not None and (thinking, profile, max_tokens) != (None, None, None):
        raise UsageError("--dataset asks as the dataset does, so --thinking, --profile and --max-tokens go without it.")
    config = DatasetConfig(
        thinking=None if thinking is None else thinking == "on",
        profile=known_profile(profile) or "think",
        max_tokens=max_tokens,
    )
    settings = {"model": model, "stream": stream, "timeout_s": seconds(request_timeout), "key": api_key(api_key_env)}
    if dataset is None:
        cli_context.run(lambda: _probe(endpoint, n, config, settings, as_json=as_json))
    else:
        db = cli_context.context(ctx).db
        cli_context.run(lambda: _probe_for(db, dataset, endpoint, n, settings, as_json=as_json))


async def _probe_for(db: str, name: str, url: str, n: int, settings: dict[str, Any], *, as_json: bool) -> Exit:
    """Probe with the settings of a dataset; a pass takes back what a gate or an alarm holds, never a person's pause."""
    from app.gates.resume import resume
    from app.leasing.datasets import dataset_of
    from app.leasing.holds import HoldKind, LiftRequest
    from app.store.store import open_store

    async with open_store(db) as store:
        found = await dataset_of(store, name)
        asked = settings | {"model": settings["model"] or found.config.model}
        code = await _probe(url, n, found.config, asked, as_json=as_json)
        if code is Exit.DONE:
            lifted = await store.write(resume, LiftRequest(found.id, (HoldKind.GATE, HoldKind.ALARM)))
            cli_context.say(f"{name}: {lifted} hold(s) taken back." if lifted else f"{name}: no gate or alarm held it.")
    return code


async def _probe(url: str, n: int, config: DatasetConfig, settings: dict[str, Any], *, as_json: bool) -> Exit:
    from app.model.errors import Unavailable
    from app.store.store import wall_ms
    from worker.endpoint import AskFailed, connect
    from worker.identify import identify
    from worker.pool import Server
    from worker.preflight import probe as ask_once
    from worker.pressure import Pressure

    async with connect(
        url, api_key=settings["key"], connections=1, timeout_s=settings["timeout_s"], stall_s=settings["timeout_s"],
        max_body=64 * 2**20, now_ms=wall_ms,
    ) as endpoint:  # fmt: skip
        server = Server(endpoint, Pressure.open(1))
        try:
            known = await identify(
                endpoint, settings["model"], raw_text=None, token_ids=True, stream=settings["stream"]
            )
            server.models, server.default_model, server.dialect = known.models, known.model.id, known.dialect
            found = [await ask_once(server, config, number) for number in range(n)]
        except AskFailed as error:
            raise Unavailable(
                f"{endpoint.base_url} cannot be asked: {error}. Check that it is up, then try again."
            ) from error
    _show(endpoint.base_url, known.model.id, known.fingerprint, found, settings["key"], as_json=as_json)
    return Exit.DONE if all(one.captured for one in found) else Exit.GATE


def _show(
    url: str, model: str, fingerprint: dict[str, Any], found: list[Probe], key: str | None, *, as_json: bool
) -> None:
    from app.progress.display import visible

    if as_json:
        answers = [
            {"verdict": p.reading.verdict, "captured": p.captured, "where": _without(key, p.where), "mode": p.mode}
            for p in found
        ]
        cli_context.put_json({"endpoint": url, "model": model, "fingerprint": fingerprint, "answers": answers})
        return
    cli_context.put(f"{url}  model {model}")
    for name, value in fingerprint.items():
        cli_context.put(f"  {name}: {value}")
    for one in found:
        cli_context.put(f"{one.reading.verdict}: {_without(key, one.where)}\n  asked {one.mode}")
        cli_context.put(f"  reasoning: {visible(repr((one.reading.reasoning or '')[:200]))}")
        cli_context.put(f"  content:   {visible(repr((one.reading.content or '')[:200]))}")


def _without(key: str | None, text: str) -> str:
    """The text without our key, which some servers echo."""
    return text.replace(key, "[secret]") if key else text
