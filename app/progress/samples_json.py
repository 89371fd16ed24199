"""Samples as JSON: the same for `samples --json`, `sample --json` and the API."""

import base64
from dataclasses import asdict
from typing import Any

from app.progress.sample import SampleView, Texts
from app.progress.samples import Page, SampleLine


def page_json(page: Page) -> dict[str, Any]:
    """A page. `after` is what the next one is asked with; None at the end."""
    return {
        "samples": [line_json(line) for line in page.lines],
        "after": None if page.after is None else str(page.after),
        "searched_all": page.searched_all,
    }


def line_json(line: SampleLine) -> dict[str, Any]:
    """One job in a list."""
    return asdict(line)


def sample_json(view: SampleView) -> dict[str, Any]:
    """Everything; a body as text where it is UTF-8, else as base64."""
    facts = asdict(view)
    for failure in facts["failures"]:
        failure["body"] = None if failure["body"] is None else text_or_base64(failure["body"])
    shown = None if view.shown is None else view.shown.attempt
    turn = None if view.shown is None else view.shown.turn
    texts = None if view.texts is None else _texts(view.texts)
    return facts | {"sample": facts.pop("line"), "shown": shown, "shown_turn": turn, "texts": texts}


def _texts(texts: Texts) -> dict[str, Any]:
    return {"raw": text_or_base64(texts.raw), "reasoning": texts.reasoning, "content": texts.content}


def text_or_base64(body: bytes) -> dict[str, str]:
    """Bytes in JSON."""
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
