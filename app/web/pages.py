"""A page, whole or as what has changed of it since it was last asked for."""

import hashlib
from dataclasses import replace
from typing import Any

from app.web.answers import Answer, Asked, html
from app.web.frame import Frame
from app.web.rendering import render

LIVE = "x-live"  # the header by which the script asks for a page that it shows already


def show(request: Asked, template: str, frame: Frame, **values: Any) -> Answer:
    """The page. Asked for once more, it is left out where nothing changed: its tag leaves the time of reading out."""
    if LIVE not in request.headers:
        return html(render(template, frame=frame, **values))
    body = render(template, frame=replace(frame, as_of="", said=None), **values)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"etag": tag, "x-as-of": frame.as_of}
    if request.headers.get("if-none-match") == tag:
        return html(b"", status=304, headers=headers)
    return html(body, headers=headers)
