"""Changes by form and by program: what they do, what they refuse, and the trail they leave."""

import html
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.store.raw import connection
from tests.integration.web.kit import fill, fill_free
from tests.support.dashboard import Dashboard, dashboard


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Dashboard]:
    """A server on the store `free`."""
    fill_free(tmp_path)
    with dashboard(tmp_path, "--no-auth") as running:
        yield running


def events(folder: Path) -> list[tuple[str, dict[str, object]]]:
    with connection(folder / "t.db") as store:
        rows = store.execute("SELECT kind, detail FROM event ORDER BY id").fetchall()
    return [(kind, json.loads(detail)) for kind, detail in rows]


def states(folder: Path) -> dict[str, int]:
    with connection(folder / "t.db") as store:
        return dict(store.execute("SELECT state, count(*) FROM job GROUP BY 1").fetchall())


def holds(running: Dashboard, name: str) -> list[str]:
    found = running.ask("/api/v1/overview").json["data"]["datasets"]
    return [hold["kind"] for one in found if one["name"] == name for hold in one["holds"]]


def test_pause_and_resume_by_form_lead_back_to_the_dataset(opened: Dashboard) -> None:
    paused = opened.submit("/datasets/free/pause")
    assert (paused.status, paused.headers["location"]) == (303, "/datasets/free?said=paused")
    assert "Paused: nothing more is claimed" in opened.ask(paused.headers["location"]).body
    assert holds(opened, "free") == ["person"]
    resumed = opened.submit("/datasets/free/resume")
    assert resumed.headers["location"] == "/datasets/free?said=resumed"
    assert holds(opened, "free") == []
    assert opened.submit("/datasets/free/resume").headers["location"] == "/datasets/free?said=not_held"


def test_a_form_leads_back_to_the_page_as_it_was_chosen(opened: Dashboard) -> None:
    """From the chosen span of the charts, also by the pages between; an export to the choices of its order."""
    shown = opened.ask("/datasets/free?span=6h").body
    hidden = '<input type="hidden" name="span" value="6h">'
    assert hidden in shown
    for link in ("retry?span=6h", "reparse?span=6h", "retry?verdict=missing&amp;span=6h"):
        assert f'href="/datasets/free/{link}"' in shown, link
    retry = opened.ask("/datasets/free/retry?state=failed&span=6h").body
    assert retry.count(hidden) == 2
    assert hidden in opened.ask("/datasets/free/reparse?span=6h").body
    assert hidden in opened.submit("/datasets/free/reparse", {"dry_run": 1, "span": "6h"}).body
    for path, form, said in (
        ("pause", {}, "paused"), ("resume", {}, "resumed"),
        ("retry", {"state": "failed", "expected_count": 2}, "retried.2"), ("reparse", {"dry_run": 0}, "reparsed.0"),
    ):  # fmt: skip
        to = opened.submit(f"/datasets/free/{path}", form | {"span": "6h"}).headers["location"]
        assert to == f"/datasets/free?span=6h&said={said}"
        assert opened.ask(to).status == 200
    order = {"dataset": "free", "only": "done", "format": "jsonl", "packing": "gzip", "allow_uncaptured": "1"}
    to = opened.submit("/exports", order).headers["location"]
    assert to == "/exports?dataset=free&only=done&format=jsonl&packing=gzip&said=export"
    assert opened.ask(to).status == 200


@pytest.mark.parametrize("evil", ["//evil.example", "https://evil.example", "6h/../..", "6h\r\nx: y", "\\evil.example"])
def test_no_form_leads_anywhere_else(opened: Dashboard, tmp_path: Path, evil: str) -> None:
    """What leads back is a known word, never an address: the way there is always made here."""
    before = states(tmp_path), events(tmp_path)
    for path in ("pause", "resume", "reparse"):
        answer = opened.submit(f"/datasets/free/{path}", {"span": evil})
        assert (answer.status, "location" in answer.headers) == (400, False), path
    retry = opened.submit("/datasets/free/retry", {"state": "failed", "expected_count": 2, "span": evil})
    export = opened.submit("/exports", {"dataset": "free", "packing": evil})
    assert [(one.status, "location" in one.headers) for one in (retry, export)] == [(400, False)] * 2
    assert (states(tmp_path), events(tmp_path)) == before


def test_pause_and_resume_by_program(opened: Dashboard) -> None:
    assert opened.send("/api/v1/datasets/free/pause", {"reason": "lunch"}).json["data"]["new"] is True
    assert opened.send("/api/v1/datasets/free/pause", {}).json["data"]["new"] is False
    assert opened.send("/api/v1/datasets/free/resume", {"kinds": "gate"}).json["data"]["lifted"] == 0
    assert opened.send("/api/v1/datasets/free/resume", {"kinds": "gate,person"}).json["data"]["lifted"] == 1


def test_a_gate_is_taken_back_with_its_hold(tmp_path: Path) -> None:
    fill(tmp_path)
    with dashboard(tmp_path, "--no-auth") as running:
        assert holds(running, "B1_glaive") == ["gate"]
        assert running.submit("/datasets/B1_glaive/resume").status == 303
        assert holds(running, "B1_glaive") == []


def test_a_retry_counts_first_and_is_refused_when_the_count_has_moved(opened: Dashboard, tmp_path: Path) -> None:
    page = opened.ask("/datasets/free/retry?state=failed").body
    assert "2 jobs are chosen" in page
    assert '<input type="hidden" name="expected_count" value="2">' in page
    moved = opened.submit("/datasets/free/retry", {"state": "failed", "expected_count": 3})
    assert moved.status == 409
    assert "3 jobs were chosen when the page was made, and 2 are now. Nothing was changed." in moved.body
    assert states(tmp_path) == {"done": 4, "failed": 2, "ready": 2}
    done = opened.submit("/datasets/free/retry", {"state": "failed", "expected_count": 2, "max_tokens": 4096})
    assert done.headers["location"] == "/datasets/free?said=retried.2"
    assert "2 jobs are ready again." in opened.ask(done.headers["location"]).body
    assert states(tmp_path) == {"done": 4, "ready": 4}


def test_a_retry_by_program_says_the_same(opened: Dashboard) -> None:
    refused = opened.send("/api/v1/datasets/free/retry", {"verdict": "missing", "expected_count": 7})
    assert (refused.status, refused.headers["content-type"]) == (409, "application/problem+json")
    assert opened.send("/api/v1/datasets/free/retry", {"verdict": "missing"}).status == 400
    assert opened.send("/api/v1/datasets/free/retry", {"expected_count": 1}).status == 400
    done = opened.send("/api/v1/datasets/free/retry", {"verdict": "missing", "expected_count": 1})
    assert done.json["data"] == {"dataset": "free", "chosen": 1, "retried": 1}


def test_a_reparse_is_dry_unless_it_is_told_otherwise(opened: Dashboard, tmp_path: Path) -> None:
    with connection(tmp_path / "t.db") as store:
        store.execute("UPDATE reading SET flags = '[\"old\"]'")
    dry = opened.send("/api/v1/datasets/free/reparse", {}).json["data"]
    assert (dry["applied"], dry["bodies"], dry["unchanged"]) == (False, 4, 0)
    assert sum(one["n"] for one in dry["transitions"]) == 4
    shown = opened.submit("/datasets/free/reparse", {"dry_run": 1})
    assert shown.status == 200
    assert "4 stored bodies, 0 read as before" in shown.body
    assert not [kind for kind, _ in events(tmp_path) if kind == "reparsed"]
    applied = opened.submit("/datasets/free/reparse", {"dry_run": 0})
    assert applied.headers["location"] == "/datasets/free?said=reparsed.4"
    assert opened.send("/api/v1/datasets/free/reparse", {}).json["data"]["unchanged"] == 4


def test_a_worker_is_asked_to_drain(opened: Dashboard) -> None:
    number = opened.ask("/api/v1/overview").json["data"]["workers"]["open"][0]["id"]
    assert opened.submit(f"/workers/{number}/drain").headers["location"] == "/workers?said=draining"
    assert opened.ask("/api/v1/overview").json["data"]["workers"]["open"][0]["draining"] is True
    assert opened.submit("/workers/4711/drain").status == 404
    assert opened.submit(f"/workers/{2**64}/drain").status == 404  # beyond what a row can have


CHANGES = {  # every one there is, with the event that it leaves
    "/datasets/free/pause": "held",
    "/datasets/free/resume": "resumed",
    "/datasets/free/retry": "retried",
    "/datasets/free/reparse": "reparsed",
    "/workers/1/drain": "worker_draining",
    "/alerts/1/acknowledge": "alarm_acknowledged",
    "/exports": "exported",
}


def test_no_change_takes_a_url_or_any_other_key_that_is_not_its_own(opened: Dashboard, tmp_path: Path) -> None:
    before = events(tmp_path)
    for path in CHANGES:
        for key in ("url", "endpoint", "base_url"):
            for answer in (
                opened.submit(path, {key: "http://evil.example"}),
                opened.send(f"/api/v1{path}", {key: "x"}),
            ):
                assert answer.status == 400, path
                assert f"{key}' is not known here" in html.unescape(answer.body), path
    assert events(tmp_path) == before


def test_every_change_leaves_a_line_in_the_trail(opened: Dashboard, tmp_path: Path) -> None:
    number = opened.ask("/api/v1/overview").json["data"]["workers"]["open"][0]["id"]
    before = len(events(tmp_path))
    opened.send("/api/v1/datasets/free/pause", {"reason": "lunch"})
    opened.send("/api/v1/datasets/free/resume", {})
    opened.send("/api/v1/datasets/free/retry", {"state": "failed", "expected_count": 2})
    with connection(tmp_path / "t.db") as store:
        store.execute("UPDATE reading SET flags = '[\"old\"]'")
    opened.send("/api/v1/datasets/free/reparse", {"dry_run": False})
    opened.send(f"/api/v1/workers/{number}/drain", {})
    found = events(tmp_path)[before:]
    assert [kind for kind, _ in found] == list(CHANGES.values())[:5]
    assert found[0][1] == {"by": "person", "reason": "lunch"}
    assert found[2][1]["jobs"] == 2


def test_a_read_only_server_refuses_every_change_but_the_login(tmp_path: Path) -> None:
    fill_free(tmp_path)
    before = events(tmp_path)
    with dashboard(tmp_path, "--read-only") as running:
        session = running.log_in("a-token-of-the-tests-0123456789").headers["set-cookie"].partition(";")[0]
        for path in CHANGES:
            assert running.submit(path, cookie=session).status == 403
            assert running.send(f"/api/v1{path}", {}, cookie=session).status == 403
        page = running.ask("/datasets/free", cookie=session).body
        assert "read-only" in page
        assert "do-pause" not in page
    assert events(tmp_path) == before
    assert not (tmp_path / "t.db.exports").exists()


def test_no_get_changes_anything(opened: Dashboard, tmp_path: Path) -> None:
    before, seq = events(tmp_path), opened.ask("/api/v1/overview").json["seq"]
    for path in ("pause", "resume"):
        assert opened.ask(f"/datasets/free/{path}").status == 405
        assert opened.ask(f"/api/v1/datasets/free/{path}").status == 405
    for path in ("/workers/1/drain", "/alerts/1/acknowledge"):
        assert opened.ask(path).status == 405
    for path in (
        "/datasets/free/retry?state=failed",
        "/datasets/free/reparse",
        "/exports?dataset=free",
        "/datasets/free",
    ):
        assert opened.ask(path).status == 200
    assert events(tmp_path) == before
    assert opened.ask("/api/v1/overview").json["seq"] == seq
