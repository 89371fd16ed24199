"""Logging in: the token, or the one-time code of the address that `serve` prints."""

from typing import Any

from litestar import MediaType, get, post

from app.web.answers import Answer, Asked, html, redirect
from app.web.asking import form
from app.web.door import SESSION_MS, Knock
from app.web.frame import bare_frame
from app.web.rendering import render
from app.web.site import Site


def routes(site: Site) -> list[Any]:
    """The page that asks, and what it sends."""

    @get("/login")
    async def ask() -> Answer:
        return html(_page(site, None))

    @post("/login", media_type=MediaType.HTML)
    async def answer(request: Asked) -> Answer:
        return _knock(site, (await form(request, "token")).text("token"))

    return [ask, answer]


def _page(site: Site, problem: str | None) -> bytes:
    return render("login/page.html", frame=bare_frame(site, "Log in - Thinkledger"), problem=problem)


def _knock(site: Site, secret: str | None) -> Answer:
    door = site.door
    if door is None:
        return redirect(site.url("/"))
    match door.knock("" if secret is None else secret.strip()):
        case Knock.OPEN:
            rules = f"Path={site.root or '/'}; HttpOnly; SameSite=Lax; Max-Age={SESSION_MS // 1000}"
            return redirect(site.url("/"), {"set-cookie": f"{door.cookie}={door.session()}; {rules}"})
        case Knock.WRONG:
            return html(_page(site, "This is not the token."), status=401)
        case Knock.TOO_OFTEN:
            page = _page(site, "Too many wrong tokens. Wait a minute.")
            return html(page, status=429, headers={"retry-after": "60"})
