"""`/`: every dataset at one moment."""

from typing import Any

from litestar import get

from app.progress.as_json import overview_json
from app.progress.gathering import overview
from app.web.answers import Answer, Asked, json_response
from app.web.asking import query
from app.web.frame import frame
from app.web.overview_page import overview_page
from app.web.pages import show
from app.web.site import Site


def routes(site: Site) -> list[Any]:
    """The page and its twin."""

    @get("/")
    async def page(request: Asked) -> Answer:
        query(request)
        now = await overview(site.store)
        shown = overview_page(site, now)
        around = frame(site, now, "Overview", shown.title, say=shown.announcement)
        return show(request, "overview/page.html", around, page=shown)

    @get("/api/v1/overview")
    async def as_json(request: Asked) -> Answer:
        query(request)
        now = await overview(site.store)
        return json_response({"data": overview_json(now), "as_of": now.as_of_ms, "seq": now.seq})

    return [page, as_json]
