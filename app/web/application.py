"""The application: the routes of each noun over one store, inside the gate, inside the shield."""

from pathlib import Path
from typing import Any

from litestar import Litestar
from litestar.exceptions import NotFoundException
from litestar.static_files import create_static_files_router

from app.web import alerts, datasets, exports, health, login, overview, reparse, retry, sample, samples, workers
from app.web.answers import Asked
from app.web.gate import Gate
from app.web.polls import Polls
from app.web.problems import handlers
from app.web.rooted import Rooted
from app.web.shield import App, Shield
from app.web.site import Site

STATIC = Path(__file__).parent / "static"
ASSETS = frozenset(file.name for file in STATIC.iterdir())
LARGEST_BODY = 64 * 1024
NOUNS = (overview, datasets, samples, sample, retry, reparse, workers, alerts, exports, login, health)


def _one_of_ours(request: Asked) -> None:
    """Anybody may ask for these files, so a name that no file can have ends here, and not in the file system."""
    if request.scope["path"].rpartition("/static/")[2] not in ASSETS:
        raise NotFoundException


def create_app(site: Site) -> App:
    """The whole application, ready for a server."""
    static: Any = create_static_files_router(
        path="/static", directories=[STATIC], html_mode=False, before_request=_one_of_ours
    )
    inner = Litestar(
        route_handlers=[*(route for noun in NOUNS for route in noun.routes(site)), static],
        exception_handlers=handlers(site),
        openapi_config=None,
        debug=False,
        request_max_body_size=LARGEST_BODY,
        logging_config=None,
    )
    pages = Polls(inner)  # type: ignore[arg-type]
    return Shield(Rooted(Gate(pages, site.door, site.root), site.root), site.hosts, site.trusted)
