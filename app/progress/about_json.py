"""The facts of a store as JSON."""

from dataclasses import asdict
from typing import Any

from app.progress.about import About


def about_json(about: About) -> dict[str, Any]:
    """All of them."""
    return asdict(about)
