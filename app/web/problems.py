"""Errors as answers: a page for a person, problem+json for a program, and a number instead of a stack."""

import logging
from collections.abc import Callable
from typing import Any

from litestar.exceptions import HTTPException

from app.model import errors
from app.web.answers import Answer, Asked, error_number, html, json_response
from app.web.frame import crumbs, error_frame
from app.web.rendering import render
from app.web.site import Site

_STATUS: tuple[tuple[type[errors.ThinkledgerError], int, str], ...] = (
    (errors.UsageError, 400, "This cannot be meant"),
    (errors.NotFound, 404, "Not found"),
    (errors.Refused, 409, "Refused"),
    (errors.CaptureFailed, 409, "Refused"),
    (errors.Unavailable, 503, "The store cannot be read"),
    (errors.IntegrityFailure, 503, "The store cannot be read"),
    (errors.ResourceExhausted, 507, "No room left"),
)
_HTTP = {
    404: ("Not found", "There is no such page."),
    405: ("Not allowed", "This address cannot do that."),
    413: ("Too large", "This is more than a form of these pages sends."),
}

log = logging.getLogger("thinkledger.web")
Handlers = dict[int | type[Exception], Callable[[Asked, Any], Answer]]


class ReadOnly(errors.ThinkledgerError):
    """The server was started to show, and to change nothing."""


def handlers(site: Site) -> Handlers:
    """What becomes of what a route raises."""

    def ours(request: Asked, error: errors.ThinkledgerError) -> Answer:
        if isinstance(error, ReadOnly):
            return problem(site, request, 403, "Read-only", str(error))
        for kind, status, title in _STATUS:
            if isinstance(error, kind):
                return problem(site, request, status, title, str(error))
        return problem(site, request, 409, "Refused", str(error))

    def http(request: Asked, error: HTTPException) -> Answer:
        title, detail = _HTTP.get(error.status_code, ("Refused", "This request cannot be answered."))
        return problem(site, request, error.status_code, title, detail)

    def unexpected(request: Asked, error: Exception) -> Answer:
        number = error_number()
        log.error("error %s at %s", number, request.url.path, exc_info=error)
        return problem(site, request, 500, "Something went wrong", f"The log tells more under {number}.")

    return {errors.ThinkledgerError: ours, HTTPException: http, Exception: unexpected}


def problem(site: Site, request: Asked, status: int, title: str, detail: str) -> Answer:
    """One refusal, in the form that suits the asker."""
    path = request.scope["path"]
    if path.startswith("/api/"):
        facts = {"type": "about:blank", "title": title, "status": status, "detail": detail}
        return json_response(facts, status=status, kind="application/problem+json")
    page = render(
        "errors/page.html", frame=error_frame(site, title, path), crumbs=crumbs(site, path), title=title, detail=detail,
        status=status,
    )  # fmt: skip
    return html(page, status=status)
