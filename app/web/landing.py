"""Where a login leads: to the page that was asked for, if it is one of ours."""

import re
from urllib.parse import quote

NEXT = "next"
LONGEST = 2_000
# A path of this site and its query, as browsers write them: percent-encoded ASCII. Two slashes at the beginning, or a
# backslash, which browsers take for a slash, would name another host.
_OURS = re.compile(r"/(?!/)[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*")
_NOT_PAGES = ("/login", "/api/", "/static/")


def landing(wanted: str | None) -> str:
    """The path to go to after a login; the Overview where nothing that is ours was asked for."""
    if wanted is None or len(wanted) > LONGEST or not _OURS.fullmatch(wanted) or wanted.startswith(_NOT_PAGES):
        return "/"
    return wanted


def login_for(path: str, search: bytes) -> str:
    """The address of the login page, which remembers what was asked for. `path` is decoded, `search` is not."""
    asked = quote(path, safe="/!$&'()*+,;=:@") + (f"?{search.decode('latin-1')}" if search else "")
    wanted = landing(asked)
    return "/login" if wanted == "/" else f"/login?{NEXT}={quote(wanted, safe='')}"
