"""One sample: what was asked, the three columns of its answer, and every attempt. Its texts can be downloaded."""

import json
from typing import Any

from litestar import get

from app.model.errors import NotFound, UsageError
from app.progress import filters
from app.progress.filters import KEYS
from app.progress.gathering import overview
from app.progress.sample import SampleView, sample
from app.progress.samples_json import sample_json
from app.web.answers import Answer, Asked, attachment, json_bytes
from app.web.asking import Said, query, row_number
from app.web.frame import frame
from app.web.pages import show
from app.web.sample_words import PARTS, Shown, Whole, sample_words
from app.web.site import Site

PATH = "/datasets/{name:str}"
LARGEST = 2**31


def routes(site: Site) -> list[Any]:
    """The page under its two addresses, the parts, and the twins."""

    async def page(request: Asked, name: str, sample_id: str, asked: Said) -> Answer:
        listing = filters.parse({key: value for key, value in asked.values.items() if key in KEYS})
        whole = tuple(map(str, asked.several("whole", Whole)))
        replica, turn = asked.number("replica", most=LARGEST) or 0, asked.number("turn", most=LARGEST)
        shown = Shown(name, replica, asked.number("attempt"), whole, listing, turn)
        view = await sample(
            site.store, name, sample_id, replica=replica, attempt=shown.attempt, turn=turn, listing=shown.listing
        )
        words = sample_words(site, view, shown)
        around = frame(site, await overview(site.store), "Datasets", f"{sample_id[:60]} - {name}")
        return show(request, "sample/page.html", around, page=words, dataset=site.dataset_url(name))

    @get(f"{PATH}/samples/{{sample_id:str}}")
    async def in_path(request: Asked, name: str, sample_id: str) -> Answer:
        return await page(request, name, sample_id, query(request, *KEYS, "replica", "attempt", "turn", "whole"))

    @get(f"{PATH}/sample")
    async def in_query(request: Asked, name: str) -> Answer:
        asked = query(request, *KEYS, "replica", "attempt", "turn", "whole", "id")
        return await page(request, name, asked.needed("id"), asked)

    @get(f"{PATH}/part")
    async def part(request: Asked, name: str) -> Answer:
        asked = query(request, "id", "replica", "attempt", "turn", "part")
        sample_id, which = asked.needed("id"), asked.needed("part")
        if which not in PARTS:
            raise UsageError(f"part is one of {', '.join(PARTS)}.")
        view = await _find(site, name, sample_id, asked)
        return _download(view, which, asked.number("attempt"))

    return [in_path, in_query, part, *_twins(site)]


def _twins(site: Site) -> list[Any]:
    base = "/api/v1" + PATH

    async def twin(name: str, sample_id: str, asked: Said) -> Answer:
        view = await _find(site, name, sample_id, asked)
        data = sample_json(view)
        twin = {"data": data, "as_of": site.store.now_ms(), "seq": await site.store.seq()}
        return json_bytes(json.dumps(twin).encode())  # ASCII: texts may hold lone surrogates, which UTF-8 cannot

    @get(f"{base}/samples/{{sample_id:str}}")
    async def in_path(request: Asked, name: str, sample_id: str) -> Answer:
        return await twin(name, sample_id, query(request, "replica", "attempt", "turn"))

    @get(f"{base}/sample")
    async def in_query(request: Asked, name: str) -> Answer:
        asked = query(request, "replica", "attempt", "turn", "id")
        return await twin(name, asked.needed("id"), asked)

    @get(f"{base}/samples/{{sample_id:str}}/attempts/{{attempt:int}}/raw")
    async def raw(request: Asked, name: str, sample_id: str, attempt: int) -> Answer:
        asked = query(request, "replica", "turn")
        wanted = row_number(attempt, "attempt")
        return _download(await _find(site, name, sample_id, asked, wanted), "raw", wanted)

    return [in_path, in_query, raw]


async def _find(site: Site, name: str, sample_id: str, asked: Said, attempt: int | None = None) -> SampleView:
    """The sample; of an attempt that stored no whole body, with what came of it."""
    replica, turn = asked.number("replica", most=LARGEST) or 0, asked.number("turn", most=LARGEST)
    attempt = asked.number("attempt") if attempt is None else attempt
    try:
        return await sample(site.store, name, sample_id, replica=replica, attempt=attempt, turn=turn)
    except NotFound:
        view = await sample(site.store, name, sample_id, replica=replica)
        if attempt is None or _partial(view, attempt) is None:
            raise
        return view


def _partial(view: SampleView, attempt: int) -> bytes | None:
    return next((one.body for one in reversed(view.failures) if one.attempt == attempt and one.body), None)


def _download(view: SampleView, which: str, attempt: int | None) -> Answer:
    """One part as exact bytes: the raw body as it was sent, texts as UTF-8 with lone surrogates kept."""
    name, texts = view.line.sample_id, view.texts
    stored = view.shown is not None and attempt in (None, view.shown.attempt)
    if which == "raw" and attempt is not None and not stored:
        body = _partial(view, attempt)
        assert body is not None
        return attachment(body, f"{name}.attempt-{attempt}.partial")
    if texts is None or view.shown is None:
        raise NotFound(f"Sample {name!r} has no stored body yet; it is {view.line.state}.")
    if which == "raw":
        return attachment(texts.raw, f"{name}.attempt-{view.shown.attempt}.raw")
    text = texts.reasoning if which == "reasoning" else texts.content
    if text is None:
        raise NotFound(f"Sample {name!r} has no {which}: it was not found in the body.")
    body = text.encode("utf-8", "surrogatepass")
    return attachment(body, f"{name}.{which}.txt", "text/plain; charset=utf-8")
