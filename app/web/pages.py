"""A page, whole or as what has changed of it since it was last asked for."""

import hashlib
from dataclasses import replace
from typing import Any

from app.web.answers import Answer, Asked, html
from app.web.frame import Frame
from app.web.rendering import render

LIVE = "x-live"  # the header by which the script asks for a page that it shows already


def polled(request: Asked) -> bool:
    """Whether only the marked parts of the page are looked at: what costs more need not be read anew for that."""
    return LIVE in request.headers


def show(request: Asked, template: str, frame: Frame, **values: Any) -> Answer:
    """The page. Asked for once more, it has a tag that leaves the time of reading out: see `Polls`."""
    if not polled(request):
        return html(render(template, frame=frame, **values))
    body = render(template, frame=replace(frame, as_of="", said=None), **values)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return html(body, headers={"etag": tag, "x-as-of": frame.as_of})
