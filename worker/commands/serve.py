"""`thinkledger serve`: the dashboard of a store, on this machine."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.model.errors import UsageError
from app.model.exits import Exit
from worker import cli_context

if TYPE_CHECKING:
    from app.web.door import Door
    from app.web.serving import Serving

TOKEN = "THINKLEDGER_TOKEN"  # noqa: S105 - the name of a variable


def register(app: typer.Typer) -> None:
    app.command("serve", help="Show the dashboard of a store in a browser.")(serve)


def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option(help="The address to bind.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8484,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="No token; on a loopback address only.")] = False,
    token_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Where the token lies; default STORE.token.", show_default=False)
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="One more name of this server; repeat for several.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the login address in a browser.")] = False,
) -> None:
    """Serve until a signal comes."""
    settings = cli_context.context(ctx)
    if no_auth and token_file is not None:
        raise UsageError("--no-auth and --token-file exclude each other.")

    async def command() -> Exit:
        import uuid

        import anyio

        from app.gates.evaluating import keep_evaluating
        from app.leasing import locks
        from app.store.store import open_store
        from app.web.serving import Address, Serving, refuse_open
        from app.web.serving import serve as serve_store

        address = Address(host, port)
        refuse_open(address, None if no_auth else "one will be there")
        async with open_store(settings.db) as store:
            token = None if no_auth else _token(store.place.path, token_file)
            names = frozenset(name.lower() for name in allowed_host or ())
            asked = Serving(address, token, names)
            _warn(asked)
            with locks.server(store.place.workers, uuid.uuid4().hex):
                async with anyio.create_task_group() as background:
                    background.start_soon(keep_evaluating, store, f"serve {os.getpid()}", cli_context.say)
                    code = await serve_store(
                        store, asked, lambda url, door: _ready(url, door, open_browser=open_browser)
                    )
                    background.cancel_scope.cancel()
                return code

    cli_context.run(command)


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
        cli_context.say("No token: everybody with an account on this machine can read the dashboard.")
    elif not is_loopback(asked.address.host):
        cli_context.say("Other machines are let in, and nothing is encrypted on the way. An SSH tunnel is safer.")


def _ready(url: str, door: "Door | None", *, open_browser: bool) -> None:
    """Say where it is. The login address works once; after it, the token in the file does."""
    login = url if door is None else f"{url}/login#{door.code}"
    cli_context.put(f"dashboard {login}")
    if door is not None:
        cli_context.say("The address works once. Later logins take the token from the file.")
    if open_browser:
        import webbrowser

        webbrowser.open(login)
