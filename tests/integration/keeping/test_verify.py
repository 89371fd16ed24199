"""`verify` is silent about a sound store, and names the dataset, the sample and the fault of every other."""

import json
import re
from pathlib import Path

import pytest

from app.capture import PARSER_VERSION
from tests.integration.keeping.kit import make_filled, verified
from tests.integration.store import raw
from tests.integration.store.kit import make
from tests.support.kinds import kind, summed
from tests.support.product import Product

DONE = "(SELECT id FROM job WHERE sample_id = 's1' AND dataset_id = 1)"
ANSWER = f"(SELECT id FROM response WHERE job_id = {DONE} AND accepted_seq IS NOT NULL AND superseded_seq IS NULL)"
OLD = f"(SELECT id FROM response WHERE job_id = {DONE} AND superseded_seq IS NOT NULL)"


@pytest.mark.parametrize("full", [True, False])
def test_a_sound_store_has_no_findings(tmp_path: Path, full: bool) -> None:
    make_filled(tmp_path / "t.db")
    report, found = verified(tmp_path / "t.db", full=full)
    assert found == []
    assert (report.jobs, report.responses, report.bodies) == (16, 8, 8)
    assert report.sound
    assert report.seq > 10


def test_an_empty_store_is_sound(tmp_path: Path) -> None:
    make(tmp_path / "t.db")
    report, found = verified(tmp_path / "t.db")
    assert (report.jobs, found) == (0, [])


SEEDED = {
    "other_bytes": (  # plain ones: whether a packed body with a flipped byte can be unpacked is up to the byte
        f"UPDATE body SET codec = 'plain', raw = CAST('{{}}' AS BLOB) WHERE response_id = {ANSWER}",
        "first s1: response 7: its body hashes to",
    ),
    "flipped_byte_of_a_superseded_body": (
        f"UPDATE response SET raw_sha256 = '00' WHERE id = {OLD}",
        "first s1: response 1: its body hashes to",
    ),
    "not_zstd": (
        "UPDATE body SET raw = X'0102' WHERE codec = 'zstd' AND response_id = 2",
        "first s2: response 2: its body cannot be unpacked",
    ),
    "no_body": (f"DELETE FROM body WHERE response_id = {ANSWER}", "response 7 (attempt 2): its body is not there"),
    "length": (f"UPDATE response SET raw_bytes = 7 WHERE id = {ANSWER}", "and 7 were recorded"),
    "counter": (
        "UPDATE counter SET n = n + 1 WHERE metric = 'state:done' AND dataset_id = 1",
        "first: the counter state:done says 4, and 3 are there",
    ),
    "counter_of_nothing": (
        "INSERT INTO counter VALUES (2, 'late', 3)",
        "second: the counter late says 3, and 0 are there",
    ),
    "tokens": (
        "UPDATE counter SET n = 1 WHERE metric = 'tokens' AND dataset_id = 2",
        "second: the counter tokens says 1, and 50 are there",
    ),
    "flag": (
        "INSERT INTO counter VALUES (2, 'flag:cut_upstream', 3)",
        "second: the counter flag:cut_upstream says 3, and 0 are there",
    ),
    "flag_of_a_job": (
        f"UPDATE job SET loss_flags = '[\"cut_upstream\"]' WHERE id = {DONE}",
        "loss_flags of the job is '[\"cut_upstream\"]', and None in the current reading",
    ),
    "bucket": ("UPDATE bucket SET captured = 9 WHERE dataset_id = 1", "says captured 9, and"),
    "bucket_gone": ("DELETE FROM bucket WHERE dataset_id = 1", "says done 0, and"),
    "triage": (
        "UPDATE triage SET n = n + 1 WHERE dataset_id = 1 AND found = 'tag'",
        "first: the triage cell of 'stop' and",
    ),
    "triage_of_nothing": ("INSERT INTO triage VALUES (2, 'odd', 'tag', 4)", "cell of 'odd' and tag says 4, and 0 are"),
    "bin_of_lengths": (
        "UPDATE reasoning_length SET n = n - 1 WHERE dataset_id = 1 AND least = 1",
        "first: the bin of reasoning lengths from 1 on says",
    ),
    "bin_of_latencies": ("UPDATE latency SET n = n + 1", "bin of latencies from 1,001 ms on says"),
    "sum_of_latencies": ("UPDATE latency SET sum_ms = 0", "bin of latencies from 1,001 ms on in milliseconds says 0"),
    "failure_group": ("UPDATE failure_group SET attempts = 9", "first: the failures by rejected ("),
    "worker_minute": ("UPDATE worker_minute SET bodies = 99", "of worker 1, bodies, says 99, and"),
    "worker_minute_gone": ("DELETE FROM worker_minute", "of worker 1, bodies, says 0, and 6 are there"),
    "copied_found": (f"UPDATE job SET found = 'field' WHERE id = {DONE}", "found of the job is 'field', and 'tag'"),
    "done_without_answer": (
        f"UPDATE response SET superseded_seq = accepted_seq WHERE id = {ANSWER}",
        "first s1: it is done without an accepted response",
    ),
    "failed_with_answer": (
        "UPDATE job SET state = 'failed', cause = 'rejected' WHERE sample_id = 's1' AND dataset_id = 1",
        "first s1: it is failed and still has an accepted response",
    ),
    "cancelled_with_answer": (
        "UPDATE job SET state = 'cancelled' WHERE sample_id = 's3'",
        "first s3: it is cancelled and still has an accepted response",
    ),
    "turn_left_out": (
        f"UPDATE response SET turn = 1 WHERE id = {ANSWER}",
        "the accepted responses are those of the turns [1]",
    ),
    "copy": (
        f"UPDATE job SET verdict = 'missing' WHERE id = {DONE}",
        "first s1: verdict of the job is 'missing', and 'split_from_content' in the current reading",
    ),
    "copied_length": (f"UPDATE job SET content_chars = 1 WHERE id = {DONE}", "content_chars of the job is 1, and 10"),
    "copied_expected": (f"UPDATE job SET expected = 0 WHERE id = {DONE}", "expected of the job is 0, and 1"),
    "reading": (
        f"UPDATE reading SET content = 'x' WHERE response_id = {ANSWER}",
        "first s1: response 7: its reading does not come of its body: content",
    ),
    "token_ids": (
        f"INSERT INTO token_ids VALUES ({ANSWER}, 1, NULL, X'01')",
        "the token ids of its answer do not come of its body",
    ),
    "no_reading": (f"DELETE FROM reading WHERE response_id = {OLD}", "it has no reading, and waits for none"),
    "unread_though_read": (
        f"INSERT INTO unread SELECT id, job_id, worker_id FROM response WHERE id = {ANSWER}",
        "it has a reading, and still waits for one",
    ),
    "attempt_of_the_future": (f"UPDATE response SET attempt = 9 WHERE id = {ANSWER}", "only come to attempt 2"),
    "seq_of_the_future": (
        f"UPDATE response SET accepted_seq = 9999 WHERE id = {ANSWER}",
        "after the newest one",
    ),
    "superseded_too_early": (
        f"UPDATE response SET superseded_seq = 1 WHERE id = {OLD}",
        "it was superseded before it was accepted",
    ),
    "parser_of_the_future": (
        f"UPDATE reading SET parser_version = {PARSER_VERSION + 1} WHERE response_id = {ANSWER}",
        f"parser {PARSER_VERSION + 1} wrote its reading",
    ),
    "sample_of_another_dataset": (
        f"UPDATE job SET sample_ref = (SELECT id FROM sample WHERE dataset_id = 2 LIMIT 1) WHERE id = {DONE}",
        "first s1: the sample that it points to has another id or belongs to another dataset",
    ),
    "leased_by_the_dead": (
        "UPDATE worker SET state = 'dead'",
        "first s9: it is leased to worker 1, which is dead",
    ),
    "window_letters": (
        "UPDATE gate_window SET recent = recent || 'z' WHERE dataset_id = 1",
        "first: its window of endpoint 1 holds letters that mean nothing",
    ),
    "window_counts": ("UPDATE gate_window SET lost = answers + 1 WHERE dataset_id = 1", "answers were lost"),
    "hold_of_the_future": (
        "INSERT INTO hold VALUES (1, 'person', 'why', 1, 9999)",
        "first: its person hold is of transaction 9,999",
    ),
    "job_gone": (
        "DELETE FROM job WHERE sample_id = 's2' AND dataset_id = 2 AND replica = 1",
        "second: the states add up to 3 of 4 jobs",
    ),
}


SUMS = re.compile(r"^(UPDATE|INSERT INTO|DELETE FROM) (counter|bucket|triage|reasoning_length|latency|worker_minute) ")


def seeding(name: str) -> str:
    """The statement that seeds a fault, in the words of what the store lies on."""
    change = SUMS.sub(lambda found: f"{found[1]} {summed(found[2])} ", SEEDED[name][0])
    if kind() == "sqlite":
        return change
    return change.replace("AS BLOB", "AS BYTEA").replace("X'", r"'\\x")


@pytest.mark.parametrize("seeded", SEEDED)
def test_every_seeded_fault_is_named(tmp_path: Path, seeded: str) -> None:
    change, expected = seeding(seeded), SEEDED[seeded][1]
    make_filled(tmp_path / "t.db")
    report, found = verified(tmp_path / "t.db", change)
    assert [line for line in found if expected in line], found
    assert report.findings == len(found)
    assert not report.sound
    assert all(". To do: " in line for line in found)


def test_two_accepted_responses_of_a_job_are_found(tmp_path: Path) -> None:
    """The unique index forbids it, so it can only be seen in a file whose index is gone."""
    make_filled(tmp_path / "t.db")
    raw.script(
        tmp_path / "t.db",
        "DROP INDEX response_accepted",
        f"UPDATE response SET superseded_seq = NULL WHERE id = {OLD}",
    )
    _, found = verified(tmp_path / "t.db")
    assert any("first s1: 2 responses are accepted, where one a turn may be" in line for line in found)


def test_what_points_nowhere_is_found(tmp_path: Path) -> None:
    make_filled(tmp_path / "t.db")
    unguarded = "PRAGMA foreign_keys=OFF" if kind() == "sqlite" else "SET session_replication_role = replica"
    raw.script(tmp_path / "t.db", unguarded, "UPDATE job SET sample_ref = 999 WHERE sample_id = 's3'")
    _, found = verified(tmp_path / "t.db")
    if kind() == "sqlite":  # a server is not asked: it refuses such a row whoever writes it
        assert any("of table job points to a row of sample that is not there" in line for line in found)
    assert any("first s3: its sample is not there" in line for line in found)


@pytest.mark.on_files  # the same
def test_a_broken_check_is_found_by_sqlite(tmp_path: Path) -> None:
    make_filled(tmp_path / "t.db")
    raw.script(
        tmp_path / "t.db", "PRAGMA ignore_check_constraints=ON", "UPDATE job SET tries = -1 WHERE sample_id = 's3'"
    )
    _, found = verified(tmp_path / "t.db")
    assert [line for line in found if "SQLite says: CHECK constraint failed in job" in line]


def test_a_reading_of_another_parser_is_only_hashed(tmp_path: Path) -> None:
    make_filled(tmp_path / "t.db")
    older = f"UPDATE reading SET parser_version = {PARSER_VERSION - 1}, content = 'as it was' WHERE response_id = {OLD}"
    report, found = verified(tmp_path / "t.db", older)
    assert (report.older_readings, found) == (1, [])


def test_the_command_says_what_is_wrong_and_exits_by_it(product: Product) -> None:
    make_filled(product.db)
    product.say_where()
    said = product.run("verify").stdout.decode()
    assert said.startswith("ok: 16 jobs, 8 responses, 8 of them hashed and read anew, as of seq ")
    facts = json.loads(product.run("verify", "--full", "--json").stdout)
    assert (facts["schema"], facts["ok"], facts["findings"], facts["listed"]) == (1, True, 0, [])
    verified(product.db, seeding("counter"), seeding("copy"))
    lines = product.run("verify", "--full", code=8).stdout.decode().splitlines()
    assert lines[-1].startswith("2 findings: 16 jobs")
    assert len(lines) == 3
    facts = json.loads(product.run("verify", "--json", code=8).stdout)
    assert facts["findings"] == 2
    assert {one["sample_id"] for one in facts["listed"]} == {"s1", None}
