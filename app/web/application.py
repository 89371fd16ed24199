"""The application: routes over one store, inside the gate, inside the shield."""

import hashlib
import logging
import secrets
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, get, post
from litestar.exceptions import HTTPException
from litestar.static_files import create_static_files_router

from app.model.errors import ThinkledgerError
from app.progress import wording
from app.progress.as_json import overview_json
from app.progress.gathering import overview
from app.store.store import Store
from app.web.door import SESSION_MS, Door, Knock
from app.web.gate import Gate
from app.web.hosts import Hosts
from app.web.overview_page import overview_page
from app.web.rendering import render
from app.web.shield import App, Shield

STATIC = Path(__file__).parent / "static"
LARGEST_BODY = 64 * 1024
Asked = Request[Any, Any, Any]

log = logging.getLogger("thinkledger.web")


@dataclass(frozen=True, slots=True)
class Site:
    """What the routes serve, and who may see it."""

    store: Store
    hosts: Hosts
    door: Door | None  # None: everybody on this machine


def create_app(site: Site) -> App:
    """The whole application, ready for a server."""
    inner = Litestar(
        route_handlers=[*_pages(site), *_api(site), *_login(site), _static()],
        exception_handlers={ThinkledgerError: _store_trouble, HTTPException: _http_error, Exception: _unexpected},
        openapi_config=None,
        debug=False,
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )
    return Shield(Gate(inner, site.door), site.hosts)  # type: ignore[arg-type]


def _static() -> Any:
    return create_static_files_router(path="/static", directories=[STATIC], html_mode=False)


def _pages(site: Site) -> list[Any]:
    @get("/", media_type=MediaType.HTML)
    async def page() -> Response[bytes]:
        found = await overview(site.store)
        return html(
            render(
                "overview/page.html",
                page=overview_page(found),
                as_of=wording.moment(found.as_of_ms),
                version=version("thinkledger"),
                signed_in=site.door is not None,
            )
        )

    @get("/overview/fragment", media_type=MediaType.HTML)
    async def fragment(request: Asked) -> Response[bytes]:
        """The changing part of the page. Its tag leaves the time out, or nothing would ever be unchanged."""
        found = await overview(site.store)
        body = render("overview/_body.html", page=overview_page(found))
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        headers = {"etag": tag, "x-as-of": wording.moment(found.as_of_ms)}
        if request.headers.get("if-none-match") == tag:
            return Response(content=b"", status_code=304, headers=headers, media_type=MediaType.HTML)
        return html(body, headers=headers)

    return [page, fragment]


def _api(site: Site) -> list[Any]:
    @get("/api/v1/overview")
    async def as_json() -> Response[bytes]:
        found = await overview(site.store)
        return json_response({"data": overview_json(found), "as_of": found.as_of_ms, "seq": found.seq})

    @get("/healthz", media_type=MediaType.TEXT)
    async def healthz() -> str:
        return "ok\n"

    return [as_json, healthz]


def _login(site: Site) -> list[Any]:
    @get("/login", media_type=MediaType.HTML)
    async def ask() -> Response[bytes]:
        return html(render("login/page.html", problem=None))

    @post("/login", media_type=MediaType.HTML)
    async def answer(request: Asked) -> Response[bytes]:
        form = await request.form()
        return _knock(site.door, str(form.get("token", "")))

    return [ask, answer]


def _knock(door: Door | None, secret: str) -> Response[bytes]:
    if door is None:
        return redirect("/")
    match door.knock(secret.strip()):
        case Knock.OPEN:
            cookie = f"{door.cookie}={door.session()}; Path=/; HttpOnly; SameSite=Lax; Max-Age={SESSION_MS // 1000}"
            return redirect("/", {"set-cookie": cookie})
        case Knock.WRONG:
            return html(render("login/page.html", problem="This is not the token."), status=401)
        case Knock.TOO_OFTEN:
            problem = "Too many wrong tokens. Wait a minute."
            return html(render("login/page.html", problem=problem), status=429, headers={"retry-after": "60"})


def html(body: bytes, *, status: int = 200, headers: dict[str, str] | None = None) -> Response[bytes]:
    """A page, or a part of one."""
    return Response(content=body, status_code=status, headers=headers, media_type=MediaType.HTML)


def redirect(to: str, headers: dict[str, str] | None = None) -> Response[bytes]:
    """Go there by GET."""
    return html(b"", status=303, headers={"location": to} | (headers or {}))


def json_response(value: Any, *, status: int = 200, kind: str = "application/json") -> Response[bytes]:
    """A JSON twin."""
    return Response(content=msgspec.json.encode(value), status_code=status, media_type=kind)


def _store_trouble(request: Asked, error: ThinkledgerError) -> Response[bytes]:
    """The store cannot be read now: say why."""
    return _problem(request, 503, "The store cannot be read", str(error))


def _http_error(request: Asked, error: HTTPException) -> Response[bytes]:
    words = {404: ("Not found", "There is no such page."), 405: ("Not allowed", "This address cannot do that.")}
    title, detail = words.get(error.status_code, ("Refused", "This request cannot be answered."))
    return _problem(request, error.status_code, title, detail)


def _unexpected(request: Asked, error: Exception) -> Response[bytes]:
    number = secrets.token_hex(4)
    log.error("error %s at %s", number, request.url.path, exc_info=error)
    return _problem(request, 500, "Something went wrong", f"The log tells more under {number}.")


def _problem(request: Asked, status: int, title: str, detail: str) -> Response[bytes]:
    if request.url.path.startswith("/api/"):
        problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
        return json_response(problem, status=status, kind="application/problem+json")
    return html(render("errors/page.html", title=title, detail=detail, status=status), status=status)
