"""The facts of a store as JSON."""

from dataclasses import asdict
from typing import Any

from app.progress.about import About
from app.progress.endpoints_json import endpoints_json


def about_json(about: About) -> dict[str, Any]:
    """All of them."""
    return asdict(about) | {"endpoints": endpoints_json(about.endpoints)}
