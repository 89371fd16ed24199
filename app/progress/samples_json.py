"""Lists of samples as JSON: the same for `samples --json` and the API."""

from dataclasses import asdict
from typing import Any

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
