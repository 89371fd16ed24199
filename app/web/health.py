"""Whether the server lives, whether it can read its store, and the store's metrics."""

from typing import Any

from litestar import MediaType, get

from app.progress.about import about
from app.progress.about_json import about_json
from app.progress.metric_facts import metric_facts
from app.web.answers import Answer, Asked, json_response, text_bytes
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

    @get("/metrics")
    async def metrics(request: Asked) -> Answer:
        """Loads the library of the text form when it is first asked for it: most dashboards never are."""
        from app.progress.metric_text import MEDIA_TYPE, metric_text

        query(request)
        return text_bytes(metric_text(await metric_facts(site.store)), MEDIA_TYPE)

    return [healthz, readyz, about_twin, metrics]
