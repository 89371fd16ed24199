"""Changes: each is one function behind two doors, a form that leads on to a page and a JSON twin."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from litestar import post

from app.web.answers import Answer, Asked, html, json_response, redirect
from app.web.asking import Said, form
from app.web.problems import ReadOnly
from app.web.site import Site


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change came to: where a person goes on, or what is shown at once, and what a program is told."""

    go: str = ""
    page: bytes | None = None
    data: dict[str, Any] = field(default_factory=dict)
    status: int = 200


Change = Callable[[Asked, Said], Awaitable[Outcome]]


# What a form of a dataset says beside the change: how the page was chosen that it leads back to. Programs are not led.
_BACK = ("span",)


def action(site: Site, path: str, keys: tuple[str, ...], change: Change) -> list[Any]:
    """The two routes of a change; both refuse on a server that is read-only."""

    back = _BACK if path.startswith("/datasets/") else ()

    async def run(request: Asked, known: tuple[str, ...]) -> Outcome:
        if site.read_only:
            raise ReadOnly("This server shows and changes nothing. `thinkledger serve` without --read-only does both.")
        return await change(request, await form(request, *known))

    @post(path)
    async def by_form(request: Asked) -> Answer:
        outcome = await run(request, (*keys, *back))
        return redirect(outcome.go) if outcome.page is None else html(outcome.page)

    @post(f"/api/v1{path}")
    async def by_program(request: Asked) -> Answer:
        outcome = await run(request, keys)
        seq = await site.store.seq()
        twin = {"data": outcome.data, "as_of": site.store.now_ms(), "seq": seq}
        return json_response(twin, status=outcome.status)

    return [by_form, by_program]
