"""Logging in: the token, or the one-time code of the address that `serve` prints."""

from typing import Any

from litestar import MediaType, get, post

from app.web.answers import Answer, Asked, html, redirect
from app.web.asking import form, query
from app.web.door import SESSION_MS, Knock
from app.web.frame import bare_frame
from app.web.landing import NEXT, landing
from app.web.rendering import render
from app.web.site import Site


def routes(site: Site) -> list[Any]:
    """The page that asks, and what it sends."""

    @get("/login")
    async def ask(request: Asked) -> Answer:
        return html(_page(site, None, query(request, NEXT).text(NEXT)))

    @post("/login", media_type=MediaType.HTML)
    async def answer(request: Asked) -> Answer:
        sent = await form(request, "token", NEXT)
        return _knock(site, sent.text("token"), sent.text(NEXT))

    return [ask, answer]


def _page(site: Site, problem: str | None, wanted: str | None) -> bytes:
    frame = bare_frame(site, "Log in - Thinkledger")
    return render("login/page.html", frame=frame, problem=problem, wanted=landing(wanted))


def _knock(site: Site, secret: str | None, wanted: str | None) -> Answer:
    door, there = site.door, site.root + landing(wanted)
    if door is None:
        return redirect(there)
    match door.knock("" if secret is None else secret.strip()):
        case Knock.OPEN:
            rules = f"Path={site.root or '/'}; HttpOnly; SameSite=Lax; Max-Age={SESSION_MS // 1000}"
            return redirect(there, {"set-cookie": f"{door.cookie}={door.session()}; {rules}"})
        case Knock.WRONG:
            return html(_page(site, "This is not the token.", wanted), status=401)
        case Knock.TOO_OFTEN:
            page = _page(site, "Too many wrong tokens. Wait a minute.", wanted)
            return html(page, status=429, headers={"retry-after": "60"})
