"""Templates to bytes. All text passes the display filter: no stored character can move, hide or break anything."""

from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.paths import data_folder
from app.progress.display import visible
from app.web.typeset import spans


def _shown(value: Any) -> Any:
    """What an expression in a template becomes; markup of our own templates stays as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(data_folder("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["spans"] = spans
    return made


def render(template: str, **values: object) -> bytes:
    """The template with its values, as UTF-8."""
    return _environment().get_template(template).render(**values).encode()
