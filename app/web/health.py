"""Whether the server lives, and whether it can read its store."""

from typing import Any

from litestar import MediaType, get

from app.progress.about import about
from app.progress.about_json import about_json
from app.web.answers import Answer, Asked, json_response
from app.web.asking import query
from app.web.site import Site


def routes(site: Site) -> list[Any]:
    """For process managers, who are told nothing about the store; and its facts, for those who may see them."""

    @get("/healthz", media_type=MediaType.TEXT)
    async def healthz() -> str:
        return "ok\n"

    @get("/readyz", media_type=MediaType.TEXT)
    async def readyz() -> str:
        """Raises, and so answers with 503, where the store cannot be read."""
        await site.store.seq()
        return "ready\n"

    @get("/api/v1/about")
    async def about_twin(request: Asked) -> Answer:
        query(request)
        found = await about(site.store)
        return json_response({"data": about_json(found), "as_of": found.as_of_ms, "seq": found.seq})

    return [healthz, readyz, about_twin]
