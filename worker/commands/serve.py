"""`thinkledger serve`: the dashboard of a store, on this machine."""

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context
from worker.importing import importing
from worker.option_values import backup_age as backup_age_ms

if TYPE_CHECKING:
    from app.web.serving import Address, Running, Serving

TOKEN = "THINKLEDGER_TOKEN"  # noqa: S105 - the name of a variable
_ROOT = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")


def register(app: typer.Typer) -> None:
    app.command("serve", help="Show the dashboard of a store in a browser.")(serve)


def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option(help="The address to bind.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8484,
    uds: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A socket file instead of a port.", show_default=False)
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show only; every change is refused.")] = False,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="No token; on a loopback address only.")] = False,
    token_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where the token lies; default STORE.token.", show_default=False)
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="One more name of this server; repeat for several.")
    ] = None,
    trusted_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="An origin, as https://gpu.lan, whose pages may send changes; repeat."),
    ] = None,
    root_path: Annotated[
        str, typer.Option(metavar="PATH", help="What a proxy puts before every path, as /thinkledger.")
    ] = "",
    backup_age: Annotated[
        str, typer.Option(metavar="TIME", help="Alarm when answers are in no backup for so long; 0 for never.")
    ] = "36h",
    open_browser: Annotated[bool, typer.Option("--open", help="Open the login address in a browser.")] = False,
) -> None:
    """Serve until a signal comes."""
    settings = cli_context.context(ctx)
    if no_auth and token_file is not None:
        raise UsageError("--no-auth and --token-file exclude each other.")
    root, origins = _root(root_path), _origins(trusted_origin or [])
    backup_ms = backup_age_ms(backup_age)

    async def command() -> Exit:
        with importing():
            from app.gates.webhook import webhook_of
            from app.store.store import open_store
            from app.web.serving import Address, Serving, refuse_open
            from app.web.serving import serve as serve_store
            from worker.log import Records

        address = Address(host, port, uds)
        refuse_open(address, None if no_auth else "one will be there")
        async with open_store(settings.db) as store:
            token = None if no_auth else _token(store.place.path, token_file)
            names = frozenset(name.lower() for name in allowed_host or ())
            webhook = webhook_of(os.environ)
            log = cli_context.log_of(settings, token, *(() if webhook is None else webhook.secrets))
            logging.getLogger().addHandler(Records(log))
            asked = Serving(address, token, names, origins, root, read_only, backup_ms, webhook, log.listener())
            _warn(asked)
            return await serve_store(store, asked, lambda running: _ready(running, address, open_browser=open_browser))

    cli_context.run(command)


def _root(text: str) -> str:
    """A path prefix without a slash at its end; `/` is none."""
    root = text.rstrip("/")
    if root and not _ROOT.fullmatch(root):
        raise UsageError(f"--root-path {text!r} is no path. It begins with / and has letters, digits and ._~- in it.")
    return root


def _origins(said: list[str]) -> frozenset[str]:
    for origin in said:
        if not _ORIGIN.fullmatch(origin):
            raise UsageError(
                f"--trusted-origin {origin!r} is no origin. It looks like https://gpu.lan or http://gpu:80."
            )
    return frozenset(origin.lower() for origin in said)


def _token(store: Path, token_file: Path | None) -> str:
    """The token from the environment, the named file, or the file beside the store, made where absent."""
    from app.web import token

    said = os.environ.get(TOKEN)
    if said is not None:
        return token.check(said, TOKEN)
    return token.make_or_read(token_file or token.token_file(store))


def _warn(asked: "Serving") -> None:
    from app.web.hosts import is_loopback

    if asked.token is None:
        cli_context.say("No token: everybody with an account on this machine can use the dashboard.")
    elif asked.address.uds is None and not is_loopback(asked.address.host):
        cli_context.say("Other machines are let in, and nothing is encrypted on the way. An SSH tunnel is safer.")


def _ready(running: "Running", address: "Address", *, open_browser: bool) -> None:
    """Say where it is. The login address works once; after it, the token in the file does."""
    cli_context.put(f"dashboard {running.login.removesuffix('/')}")
    if address.uds is not None:
        cli_context.say(f"It listens on {address.uds}.")
    if running.door is not None:
        cli_context.say("The address works once. Later logins take the token from the file.")
    if open_browser:
        import webbrowser

        webbrowser.open(running.login)
