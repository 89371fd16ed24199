"""After a login a person is where they wanted to go, and never anywhere else."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from app.web.landing import LONGEST, landing, login_for
from tests.integration.web.kit import fill
from tests.support.dashboard import TOKEN, Dashboard, dashboard

OURS = ("/", "/workers", "/datasets/B1_glaive/samples?verdict=missing&sort=newest", "/datasets/a%20b", "/?said=paused")
FOREIGN = (
    "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "http://evil.example/",
    "https:evil.example", "javascript:alert(1)", "evil.example", "", "/a b", "/a\r\nSet-Cookie: x=1",
    "/\t/evil.example", "/\u2215evil.example", "/#x", "/login", "/login?next=/", "/api/v1/overview",
    "/static/style.css", "/" + "a" * LONGEST,
)  # fmt: skip


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("landing")
    fill(folder)
    with dashboard(folder) as running:
        yield running


@pytest.mark.parametrize("wanted", OURS)
def test_a_page_of_ours_is_where_a_login_leads(locked: Dashboard, wanted: str) -> None:
    answer = locked.submit("/login", {"token": TOKEN, "next": wanted})
    assert (answer.status, answer.headers["location"]) == (303, wanted)


@pytest.mark.parametrize("wanted", FOREIGN)
def test_anything_else_leads_to_the_overview(locked: Dashboard, wanted: str) -> None:
    assert landing(wanted) == "/"
    answer = locked.submit("/login", {"token": TOKEN, "next": wanted})
    assert answer.headers.get("location", "/") == "/"
    assert answer.status == (400 if len(wanted) > LONGEST else 303)
    page = locked.ask(f"/login?next={quote(wanted, safe='')}")
    assert page.status == (400 if answer.status == 400 else 200)
    assert 'name="next"' not in page.body


def test_what_was_asked_for_goes_with_the_person(locked: Dashboard) -> None:
    asked = "/datasets/B1_glaive/samples?verdict=missing"
    refused = locked.ask(asked, accept="text/html")
    there = refused.headers["location"]
    assert (refused.status, there) == (303, f"/login?next={quote(asked, safe='')}")
    assert f'name="next" value="{asked}"' in locked.ask(there).body
    wrong = locked.submit("/login", {"token": "wrong", "next": asked})
    assert f'name="next" value="{asked}"' in wrong.body


def test_a_path_comes_back_as_it_was_written() -> None:
    assert login_for("/datasets/a b/samples/\u00fc", b"") == "/login?next=%2Fdatasets%2Fa%2520b%2Fsamples%2F%25C3%25BC"
    assert login_for("//evil.example", b"") == "/login"
    assert login_for("/workers", b"\xff") == "/login"


def test_below_a_path_the_path_stays_in_front(tmp_path: Path) -> None:
    fill(tmp_path)
    with dashboard(tmp_path, "--root-path", "/tl") as running:
        refused = running.ask("/tl/workers", accept="text/html")
        assert refused.headers["location"] == "/tl/login?next=%2Fworkers"
        answer = running.submit("/tl/login", {"token": TOKEN, "next": "/workers"})
        assert answer.headers["location"] == "/tl/workers"
        assert running.submit("/tl/login", {"token": TOKEN, "next": "//evil.example"}).headers["location"] == "/tl/"
