"""The first schema."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


TRIGGERS = (
    """CREATE TRIGGER job_inserted AFTER INSERT ON job BEGIN INSERT INTO counter VALUES (NEW.dataset_id, 'state:' || NEW.state, 1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n; END""",
    """CREATE TRIGGER job_inserted_finished AFTER INSERT ON job WHEN NEW.state IN ('done', 'failed') BEGIN 
    INSERT INTO counter VALUES (NEW.dataset_id, iif(NEW.state = 'failed', 'failed:' || NEW.cause,
        iif(NEW.expected = 1, 'expected:', 'unexpected:') || NEW.verdict), 1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT NEW.dataset_id, 'tokens', 1 * NEW.completion_tokens
        WHERE NEW.state = 'done' AND NEW.completion_tokens > 0 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT NEW.dataset_id, 'flag:' || flag.value, 1 FROM json_each(NEW.loss_flags) AS flag
        WHERE NEW.state = 'done' AND NEW.loss_flags IS NOT NULL ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO triage SELECT NEW.dataset_id, NEW.finish_reason, NEW.found, 1
        WHERE NEW.state = 'done' AND NEW.found IS NOT NULL AND NEW.finish_reason IS NOT NULL
        ON CONFLICT (dataset_id, finish_reason, found) DO UPDATE SET n = n + excluded.n;
    INSERT INTO reasoning_length SELECT NEW.dataset_id, CASE WHEN NEW.reasoning_chars < 128 THEN 1 WHEN NEW.reasoning_chars < 256 THEN 128 WHEN NEW.reasoning_chars < 512 THEN 256 WHEN NEW.reasoning_chars < 1024 THEN 512 WHEN NEW.reasoning_chars < 2048 THEN 1024 WHEN NEW.reasoning_chars < 4096 THEN 2048 WHEN NEW.reasoning_chars < 8192 THEN 4096 WHEN NEW.reasoning_chars < 16384 THEN 8192 WHEN NEW.reasoning_chars < 32768 THEN 16384 WHEN NEW.reasoning_chars < 65536 THEN 32768 WHEN NEW.reasoning_chars < 131072 THEN 65536 WHEN NEW.reasoning_chars < 262144 THEN 131072 ELSE 262144 END, 1
        WHERE NEW.state = 'done' AND NEW.reasoning_chars > 0
        ON CONFLICT (dataset_id, least) DO UPDATE SET n = n + excluded.n;
    INSERT INTO bucket SELECT NEW.dataset_id, NEW.finished_ms / 60000, 1 * (NEW.state = 'done'),
        1 * (NEW.state = 'failed'), 1 * (NEW.state = 'done' AND NEW.expected = 1 AND NEW.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked')),
        1 * (NEW.state = 'done' AND NEW.expected = 1 AND NEW.verdict IN ('captured_field', 'split_from_content')),
        1 * iif(NEW.state = 'done', coalesce(NEW.completion_tokens, 0), 0)
        WHERE NEW.state = 'failed' OR (NEW.state = 'done' AND NEW.imported = 0)
        ON CONFLICT (dataset_id, minute) DO UPDATE SET done = done + excluded.done, failed = failed + excluded.failed,
        graded = graded + excluded.graded, captured = captured + excluded.captured, tokens = tokens + excluded.tokens;
     END""",
    """CREATE TRIGGER job_moved AFTER UPDATE OF state ON job WHEN OLD.state IS NOT NEW.state BEGIN INSERT INTO counter VALUES (OLD.dataset_id, 'state:' || OLD.state, -1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;INSERT INTO counter VALUES (NEW.dataset_id, 'state:' || NEW.state, 1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n; END""",
    """CREATE TRIGGER job_finished AFTER UPDATE OF state, verdict, expected, completion_tokens, finished_ms, imported, cause, finish_reason, found, reasoning_chars, loss_flags ON job WHEN NEW.state IN ('done', 'failed') AND (OLD.state IS NOT NEW.state OR OLD.verdict IS NOT NEW.verdict OR OLD.expected IS NOT NEW.expected OR OLD.completion_tokens IS NOT NEW.completion_tokens OR OLD.finished_ms IS NOT NEW.finished_ms OR OLD.imported IS NOT NEW.imported OR OLD.cause IS NOT NEW.cause OR OLD.finish_reason IS NOT NEW.finish_reason OR OLD.found IS NOT NEW.found OR OLD.reasoning_chars IS NOT NEW.reasoning_chars OR OLD.loss_flags IS NOT NEW.loss_flags) BEGIN 
    INSERT INTO counter VALUES (NEW.dataset_id, iif(NEW.state = 'failed', 'failed:' || NEW.cause,
        iif(NEW.expected = 1, 'expected:', 'unexpected:') || NEW.verdict), 1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT NEW.dataset_id, 'tokens', 1 * NEW.completion_tokens
        WHERE NEW.state = 'done' AND NEW.completion_tokens > 0 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT NEW.dataset_id, 'flag:' || flag.value, 1 FROM json_each(NEW.loss_flags) AS flag
        WHERE NEW.state = 'done' AND NEW.loss_flags IS NOT NULL ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO triage SELECT NEW.dataset_id, NEW.finish_reason, NEW.found, 1
        WHERE NEW.state = 'done' AND NEW.found IS NOT NULL AND NEW.finish_reason IS NOT NULL
        ON CONFLICT (dataset_id, finish_reason, found) DO UPDATE SET n = n + excluded.n;
    INSERT INTO reasoning_length SELECT NEW.dataset_id, CASE WHEN NEW.reasoning_chars < 128 THEN 1 WHEN NEW.reasoning_chars < 256 THEN 128 WHEN NEW.reasoning_chars < 512 THEN 256 WHEN NEW.reasoning_chars < 1024 THEN 512 WHEN NEW.reasoning_chars < 2048 THEN 1024 WHEN NEW.reasoning_chars < 4096 THEN 2048 WHEN NEW.reasoning_chars < 8192 THEN 4096 WHEN NEW.reasoning_chars < 16384 THEN 8192 WHEN NEW.reasoning_chars < 32768 THEN 16384 WHEN NEW.reasoning_chars < 65536 THEN 32768 WHEN NEW.reasoning_chars < 131072 THEN 65536 WHEN NEW.reasoning_chars < 262144 THEN 131072 ELSE 262144 END, 1
        WHERE NEW.state = 'done' AND NEW.reasoning_chars > 0
        ON CONFLICT (dataset_id, least) DO UPDATE SET n = n + excluded.n;
    INSERT INTO bucket SELECT NEW.dataset_id, NEW.finished_ms / 60000, 1 * (NEW.state = 'done'),
        1 * (NEW.state = 'failed'), 1 * (NEW.state = 'done' AND NEW.expected = 1 AND NEW.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked')),
        1 * (NEW.state = 'done' AND NEW.expected = 1 AND NEW.verdict IN ('captured_field', 'split_from_content')),
        1 * iif(NEW.state = 'done', coalesce(NEW.completion_tokens, 0), 0)
        WHERE NEW.state = 'failed' OR (NEW.state = 'done' AND NEW.imported = 0)
        ON CONFLICT (dataset_id, minute) DO UPDATE SET done = done + excluded.done, failed = failed + excluded.failed,
        graded = graded + excluded.graded, captured = captured + excluded.captured, tokens = tokens + excluded.tokens;
     END""",
    """CREATE TRIGGER job_unfinished AFTER UPDATE OF state, verdict, expected, completion_tokens, finished_ms, imported, cause, finish_reason, found, reasoning_chars, loss_flags ON job WHEN OLD.state IN ('done', 'failed') AND (OLD.state IS NOT NEW.state OR OLD.verdict IS NOT NEW.verdict OR OLD.expected IS NOT NEW.expected OR OLD.completion_tokens IS NOT NEW.completion_tokens OR OLD.finished_ms IS NOT NEW.finished_ms OR OLD.imported IS NOT NEW.imported OR OLD.cause IS NOT NEW.cause OR OLD.finish_reason IS NOT NEW.finish_reason OR OLD.found IS NOT NEW.found OR OLD.reasoning_chars IS NOT NEW.reasoning_chars OR OLD.loss_flags IS NOT NEW.loss_flags) BEGIN 
    INSERT INTO counter VALUES (OLD.dataset_id, iif(OLD.state = 'failed', 'failed:' || OLD.cause,
        iif(OLD.expected = 1, 'expected:', 'unexpected:') || OLD.verdict), -1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT OLD.dataset_id, 'tokens', -1 * OLD.completion_tokens
        WHERE OLD.state = 'done' AND OLD.completion_tokens > 0 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT OLD.dataset_id, 'flag:' || flag.value, -1 FROM json_each(OLD.loss_flags) AS flag
        WHERE OLD.state = 'done' AND OLD.loss_flags IS NOT NULL ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO triage SELECT OLD.dataset_id, OLD.finish_reason, OLD.found, -1
        WHERE OLD.state = 'done' AND OLD.found IS NOT NULL AND OLD.finish_reason IS NOT NULL
        ON CONFLICT (dataset_id, finish_reason, found) DO UPDATE SET n = n + excluded.n;
    INSERT INTO reasoning_length SELECT OLD.dataset_id, CASE WHEN OLD.reasoning_chars < 128 THEN 1 WHEN OLD.reasoning_chars < 256 THEN 128 WHEN OLD.reasoning_chars < 512 THEN 256 WHEN OLD.reasoning_chars < 1024 THEN 512 WHEN OLD.reasoning_chars < 2048 THEN 1024 WHEN OLD.reasoning_chars < 4096 THEN 2048 WHEN OLD.reasoning_chars < 8192 THEN 4096 WHEN OLD.reasoning_chars < 16384 THEN 8192 WHEN OLD.reasoning_chars < 32768 THEN 16384 WHEN OLD.reasoning_chars < 65536 THEN 32768 WHEN OLD.reasoning_chars < 131072 THEN 65536 WHEN OLD.reasoning_chars < 262144 THEN 131072 ELSE 262144 END, -1
        WHERE OLD.state = 'done' AND OLD.reasoning_chars > 0
        ON CONFLICT (dataset_id, least) DO UPDATE SET n = n + excluded.n;
    INSERT INTO bucket SELECT OLD.dataset_id, OLD.finished_ms / 60000, -1 * (OLD.state = 'done'),
        -1 * (OLD.state = 'failed'), -1 * (OLD.state = 'done' AND OLD.expected = 1 AND OLD.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked')),
        -1 * (OLD.state = 'done' AND OLD.expected = 1 AND OLD.verdict IN ('captured_field', 'split_from_content')),
        -1 * iif(OLD.state = 'done', coalesce(OLD.completion_tokens, 0), 0)
        WHERE OLD.state = 'failed' OR (OLD.state = 'done' AND OLD.imported = 0)
        ON CONFLICT (dataset_id, minute) DO UPDATE SET done = done + excluded.done, failed = failed + excluded.failed,
        graded = graded + excluded.graded, captured = captured + excluded.captured, tokens = tokens + excluded.tokens;
     END""",
    """CREATE TRIGGER job_inserted_turns AFTER INSERT ON job WHEN NEW.turns > 1 BEGIN 
    INSERT INTO counter SELECT NEW.dataset_id, 'turns', 1 * NEW.turns WHERE NEW.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT NEW.dataset_id, 'turns_answered', 1 * NEW.turn WHERE NEW.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
     END""",
    """CREATE TRIGGER job_turned AFTER UPDATE OF turn, turns ON job WHEN OLD.turn IS NOT NEW.turn OR OLD.turns IS NOT NEW.turns BEGIN 
    INSERT INTO counter SELECT OLD.dataset_id, 'turns', -1 * OLD.turns WHERE OLD.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT OLD.dataset_id, 'turns_answered', -1 * OLD.turn WHERE OLD.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT NEW.dataset_id, 'turns', 1 * NEW.turns WHERE NEW.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT NEW.dataset_id, 'turns_answered', 1 * NEW.turn WHERE NEW.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
     END""",
    """CREATE TRIGGER job_deleted_turns AFTER DELETE ON job WHEN OLD.turns > 1 BEGIN 
    INSERT INTO counter SELECT OLD.dataset_id, 'turns', -1 * OLD.turns WHERE OLD.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT OLD.dataset_id, 'turns_answered', -1 * OLD.turn WHERE OLD.turns > 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
     END""",
    """CREATE TRIGGER job_deleted AFTER DELETE ON job BEGIN INSERT INTO counter VALUES (OLD.dataset_id, 'state:' || OLD.state, -1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n; END""",
    """CREATE TRIGGER job_deleted_finished AFTER DELETE ON job WHEN OLD.state IN ('done', 'failed') BEGIN 
    INSERT INTO counter VALUES (OLD.dataset_id, iif(OLD.state = 'failed', 'failed:' || OLD.cause,
        iif(OLD.expected = 1, 'expected:', 'unexpected:') || OLD.verdict), -1) ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT OLD.dataset_id, 'tokens', -1 * OLD.completion_tokens
        WHERE OLD.state = 'done' AND OLD.completion_tokens > 0 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO counter SELECT OLD.dataset_id, 'flag:' || flag.value, -1 FROM json_each(OLD.loss_flags) AS flag
        WHERE OLD.state = 'done' AND OLD.loss_flags IS NOT NULL ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n;
    INSERT INTO triage SELECT OLD.dataset_id, OLD.finish_reason, OLD.found, -1
        WHERE OLD.state = 'done' AND OLD.found IS NOT NULL AND OLD.finish_reason IS NOT NULL
        ON CONFLICT (dataset_id, finish_reason, found) DO UPDATE SET n = n + excluded.n;
    INSERT INTO reasoning_length SELECT OLD.dataset_id, CASE WHEN OLD.reasoning_chars < 128 THEN 1 WHEN OLD.reasoning_chars < 256 THEN 128 WHEN OLD.reasoning_chars < 512 THEN 256 WHEN OLD.reasoning_chars < 1024 THEN 512 WHEN OLD.reasoning_chars < 2048 THEN 1024 WHEN OLD.reasoning_chars < 4096 THEN 2048 WHEN OLD.reasoning_chars < 8192 THEN 4096 WHEN OLD.reasoning_chars < 16384 THEN 8192 WHEN OLD.reasoning_chars < 32768 THEN 16384 WHEN OLD.reasoning_chars < 65536 THEN 32768 WHEN OLD.reasoning_chars < 131072 THEN 65536 WHEN OLD.reasoning_chars < 262144 THEN 131072 ELSE 262144 END, -1
        WHERE OLD.state = 'done' AND OLD.reasoning_chars > 0
        ON CONFLICT (dataset_id, least) DO UPDATE SET n = n + excluded.n;
    INSERT INTO bucket SELECT OLD.dataset_id, OLD.finished_ms / 60000, -1 * (OLD.state = 'done'),
        -1 * (OLD.state = 'failed'), -1 * (OLD.state = 'done' AND OLD.expected = 1 AND OLD.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked')),
        -1 * (OLD.state = 'done' AND OLD.expected = 1 AND OLD.verdict IN ('captured_field', 'split_from_content')),
        -1 * iif(OLD.state = 'done', coalesce(OLD.completion_tokens, 0), 0)
        WHERE OLD.state = 'failed' OR (OLD.state = 'done' AND OLD.imported = 0)
        ON CONFLICT (dataset_id, minute) DO UPDATE SET done = done + excluded.done, failed = failed + excluded.failed,
        graded = graded + excluded.graded, captured = captured + excluded.captured, tokens = tokens + excluded.tokens;
     END""",
    """CREATE TRIGGER response_late AFTER INSERT ON response WHEN NEW.late = 1 BEGIN INSERT INTO counter SELECT dataset_id, 'late', 1 FROM job WHERE id = NEW.job_id ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n; END""",
    """CREATE TRIGGER response_turned_late AFTER UPDATE OF late ON response WHEN NEW.late = 1 AND OLD.late = 0 BEGIN INSERT INTO counter SELECT dataset_id, 'late', 1 FROM job WHERE id = NEW.job_id ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n; END""",
    """CREATE TRIGGER response_brought AFTER INSERT ON response WHEN NEW.worker_id IS NOT NULL BEGIN INSERT INTO worker_minute VALUES (NEW.worker_id, NEW.received_ms / 60000, 1, 0) ON CONFLICT (worker_id, minute) DO UPDATE SET bodies = bodies + excluded.bodies, failed = failed + excluded.failed; INSERT INTO latency SELECT dataset_id, CASE WHEN max(0, NEW.received_ms - NEW.requested_ms) < 1001 THEN 0 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 2001 THEN 1001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 5001 THEN 2001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 10001 THEN 5001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 20001 THEN 10001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 30001 THEN 20001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 60001 THEN 30001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 120001 THEN 60001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 300001 THEN 120001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 600001 THEN 300001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 1200001 THEN 600001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 1800001 THEN 1200001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 3600001 THEN 1800001 WHEN max(0, NEW.received_ms - NEW.requested_ms) < 7200001 THEN 3600001 ELSE 7200001 END, 1, 1 * max(0, NEW.received_ms - NEW.requested_ms) FROM job WHERE id = NEW.job_id AND NEW.worker_id IS NOT NULL AND NEW.requested_ms IS NOT NULL ON CONFLICT (dataset_id, least_ms) DO UPDATE SET n = n + excluded.n, sum_ms = sum_ms + excluded.sum_ms; END""",
    """CREATE TRIGGER failure_brought AFTER INSERT ON failure WHEN NEW.worker_id IS NOT NULL BEGIN INSERT INTO worker_minute VALUES (NEW.worker_id, NEW.at_ms / 60000, 0, 1) ON CONFLICT (worker_id, minute) DO UPDATE SET bodies = bodies + excluded.bodies, failed = failed + excluded.failed; END""",
    """CREATE TRIGGER response_deleted AFTER DELETE ON response BEGIN INSERT INTO worker_minute SELECT OLD.worker_id, OLD.received_ms / 60000, -1, 0 WHERE OLD.worker_id IS NOT NULL ON CONFLICT (worker_id, minute) DO UPDATE SET bodies = bodies + excluded.bodies, failed = failed + excluded.failed; INSERT INTO counter SELECT dataset_id, 'late', -1 FROM job WHERE id = OLD.job_id AND OLD.late = 1 ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n; INSERT INTO latency SELECT dataset_id, CASE WHEN max(0, OLD.received_ms - OLD.requested_ms) < 1001 THEN 0 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 2001 THEN 1001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 5001 THEN 2001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 10001 THEN 5001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 20001 THEN 10001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 30001 THEN 20001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 60001 THEN 30001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 120001 THEN 60001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 300001 THEN 120001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 600001 THEN 300001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 1200001 THEN 600001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 1800001 THEN 1200001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 3600001 THEN 1800001 WHEN max(0, OLD.received_ms - OLD.requested_ms) < 7200001 THEN 3600001 ELSE 7200001 END, -1, -1 * max(0, OLD.received_ms - OLD.requested_ms) FROM job WHERE id = OLD.job_id AND OLD.worker_id IS NOT NULL AND OLD.requested_ms IS NOT NULL ON CONFLICT (dataset_id, least_ms) DO UPDATE SET n = n + excluded.n, sum_ms = sum_ms + excluded.sum_ms; END""",
    """CREATE TRIGGER failure_deleted AFTER DELETE ON failure BEGIN INSERT INTO worker_minute SELECT OLD.worker_id, OLD.at_ms / 60000, 0, -1 WHERE OLD.worker_id IS NOT NULL ON CONFLICT (worker_id, minute) DO UPDATE SET bodies = bodies + excluded.bodies, failed = failed + excluded.failed; UPDATE failure_group SET attempts = attempts - 1 WHERE id = OLD.group_id; END""",
)

ANSWER_VIEW = """CREATE VIEW answer AS
SELECT dataset.name AS dataset, job.sample_id, job.replica, response.turn, response.id AS response_id,
    response.codec, response.raw, reading.text_form, reading.reasoning, reading.content,
    reading.verdict, reading.finish_reason, reading.flags, reading.loss_flags, reading.usage
FROM job
JOIN dataset ON dataset.id = job.dataset_id
JOIN response ON response.job_id = job.id AND response.accepted_seq IS NOT NULL AND response.superseded_seq IS NULL
JOIN reading ON reading.response_id = response.id
    AND reading.seq = (SELECT max(seq) FROM reading AS newest WHERE newest.response_id = response.id)"""


def upgrade() -> None:
    op.create_table(
        "dataset",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.Integer(), nullable=False),
        sa.Column("config", sa.Text(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("max_attempts", sa.Integer(), server_default=sa.text("5"), nullable=False),
        sa.Column("rank", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("claimed_ms", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name", name="dataset_name"),
        sqlite_strict=True,
    )
    op.create_table(
        "endpoint",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("fingerprint_sha256", sa.Text(), nullable=False),
        sa.Column("first_seen_ms", sa.Integer(), nullable=False),
        sa.Column("last_seen_ms", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("base_url", "model", "fingerprint_sha256", name="endpoint_identity"),
        sqlite_strict=True,
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("worker_id", sa.Integer(), nullable=True),
        sa.Column("detail", sa.Text(), server_default=sa.text("'{}'"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("event_kind", "event", ["kind", "at_ms"], unique=False)
    op.create_index("event_time", "event", ["at_ms"], unique=False)
    op.create_table(
        "meta",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("store_id", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("epoch", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("parser_version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("backup_ms", sa.Integer(), nullable=True),
        sa.Column("backup_seq", sa.Integer(), nullable=True),
        sa.CheckConstraint("id = 1", name="one_row"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("started_ms", sa.Integer(), nullable=False),
        sa.Column("heartbeat_ms", sa.Integer(), nullable=False),
        sa.Column("beat", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("ttl_ms", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'live'"), nullable=False),
        sa.Column("stopped_ms", sa.Integer(), nullable=True),
        sa.CheckConstraint("state IN ('live', 'draining', 'stopped', 'dead')", name="worker_state"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("uuid", name="worker_uuid"),
        sqlite_autoincrement=True,
        sqlite_strict=True,
    )
    op.create_index(
        "worker_open",
        "worker",
        ["state"],
        unique=False,
        sqlite_where=sa.text("state IN ('live', 'draining')"),
        postgresql_where=sa.text("state IN ('live', 'draining')"),
    )
    op.create_table(
        "alarm",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=True),
        sa.Column("endpoint_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("holds", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("since_ms", sa.Integer(), nullable=False),
        sa.Column("last_ms", sa.Integer(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=True),
        sa.Column("whole", sa.Integer(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("told_since_ms", sa.Integer(), nullable=True),
        sa.Column("tell_due_ms", sa.Integer(), nullable=True),
        sa.Column("tell_tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("tell_error", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('open', 'acknowledged', 'cleared')", name="alarm_state"),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["endpoint.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "subject", name="alarm_subject"),
        sqlite_strict=True,
    )
    op.create_table(
        "bucket",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("minute", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("graded", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("captured", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("dataset_id", "minute"),
        sqlite_strict=True,
    )
    op.create_table(
        "counter",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("dataset_id", "metric"),
        sqlite_strict=True,
    )
    op.create_table(
        "evaluator",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("until_ms", sa.Integer(), nullable=False),
        sa.Column("evaluated_ms", sa.Integer(), nullable=False),
        sa.CheckConstraint("id = 1", name="one_evaluator"),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_table(
        "failure_group",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("http_status", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("first_ms", sa.Integer(), nullable=False),
        sa.Column("last_ms", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dataset_id", "cause", "http_status", "message", name="failure_kind"),
        sqlite_strict=True,
    )
    op.create_index("failure_group_latest", "failure_group", ["dataset_id", "last_ms"], unique=False)
    op.create_table(
        "latency",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("least_ms", sa.Integer(), nullable=False),
        sa.Column("n", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("sum_ms", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("dataset_id", "least_ms"),
        sqlite_strict=True,
    )
    op.create_table(
        "reasoning_length",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("least", sa.Integer(), nullable=False),
        sa.Column("n", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("dataset_id", "least"),
        sqlite_strict=True,
    )
    op.create_table(
        "triage",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("finish_reason", sa.Text(), nullable=False),
        sa.Column("found", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("dataset_id", "finish_reason", "found"),
        sqlite_strict=True,
    )
    op.create_table(
        "worker_minute",
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("minute", sa.Integer(), nullable=False),
        sa.Column("bodies", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["worker_id"],
            ["worker.id"],
        ),
        sa.PrimaryKeyConstraint("worker_id", "minute"),
        sqlite_strict=True,
    )
    op.create_table(
        "gate_window",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("endpoint_id", sa.Integer(), nullable=False),
        sa.Column("since_ms", sa.Integer(), nullable=False),
        sa.Column("gate", sa.Text(), nullable=False),
        sa.Column("first", sa.Text(), nullable=False),
        sa.Column("recent", sa.Text(), nullable=False),
        sa.Column("answers", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lost", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("gate IN ('open', 'passed', 'failed')", name="gate_decision"),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["endpoint.id"],
        ),
        sa.PrimaryKeyConstraint("dataset_id", "endpoint_id"),
        sqlite_strict=True,
    )
    op.create_table(
        "hold",
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("since_ms", sa.Integer(), nullable=False),
        sa.Column("since_seq", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind IN ('person', 'gate', 'alarm')", name="hold_kind"),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("dataset_id", "kind"),
        sqlite_strict=True,
    )
    op.create_table(
        "source",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=True),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("rejected", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("started_ms", sa.Integer(), nullable=False),
        sa.Column("finished_ms", sa.Integer(), nullable=True),
        sa.CheckConstraint("sha256 IS NULL OR finished_ms IS NOT NULL", name="hashed_to_its_end"),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("source_content", "source", ["dataset_id", "sha256"], unique=False)
    op.create_table(
        "sample",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("sample_id", sa.Text(), nullable=False),
        sa.Column("base_id", sa.Text(), nullable=False),
        sa.Column("occurrence", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("content_sha256", sa.Text(), nullable=False),
        sa.Column("messages", sa.Text(), nullable=False),
        sa.Column("tools", sa.Text(), nullable=True),
        sa.Column("params", sa.Text(), nullable=True),
        sa.Column("source_id", sa.Integer(), nullable=True),
        sa.Column("source_row", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["source.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dataset_id", "base_id", "occurrence", name="sample_occurrence"),
        sa.UniqueConstraint("dataset_id", "sample_id", name="sample_name"),
        sqlite_strict=True,
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("sample_ref", sa.Integer(), nullable=False),
        sa.Column("sample_id", sa.Text(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("replica", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=True),
        sa.Column("turns", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("turn", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'ready'"), nullable=False),
        sa.Column("rank", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("due_ms", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("expiries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("deaths", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_worker", sa.Integer(), nullable=True),
        sa.Column("lease_deadline_ms", sa.Integer(), nullable=True),
        sa.Column("leased_ms", sa.Integer(), nullable=True),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.Column("finished_ms", sa.Integer(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("expected", sa.Integer(), nullable=True),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("found", sa.Text(), nullable=True),
        sa.Column("reasoning_chars", sa.Integer(), nullable=True),
        sa.Column("content_chars", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("preview", sa.Text(), nullable=True),
        sa.Column("loss_flags", sa.Text(), nullable=True),
        sa.Column("imported", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("params", sa.Text(), nullable=True),
        sa.CheckConstraint("(state = 'leased') = (lease_deadline_ms IS NOT NULL)", name="leased_until"),
        sa.CheckConstraint("(state = 'leased') = (lease_worker IS NOT NULL)", name="leased_by_somebody"),
        sa.CheckConstraint("(state = 'waiting') = (due_ms IS NOT NULL)", name="waiting_until"),
        sa.CheckConstraint(
            "state <> 'done' OR (verdict IS NOT NULL AND expected IS NOT NULL AND finished_ms IS NOT NULL)",
            name="done_has_a_verdict",
        ),
        sa.CheckConstraint(
            "state <> 'failed' OR (cause IS NOT NULL AND finished_ms IS NOT NULL)", name="failed_has_a_cause"
        ),
        sa.CheckConstraint("state IN ('ready', 'leased', 'waiting', 'done', 'failed', 'cancelled')", name="job_state"),
        sa.CheckConstraint(
            "verdict IN ('captured_field', 'split_from_content', 'none_expected', 'missing', 'truncated', 'leaked', 'malformed')",
            name="job_verdict",
        ),
        sa.CheckConstraint("attempt >= 0 AND tries >= 0 AND expiries >= 0 AND deaths >= 0", name="job_counts"),
        sa.CheckConstraint("found IN ('field', 'tag', 'both', 'neither')", name="job_found"),
        sa.CheckConstraint("turns >= 1 AND turn BETWEEN 0 AND turns", name="job_turns"),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["dataset.id"],
        ),
        sa.ForeignKeyConstraint(
            ["lease_worker"],
            ["worker.id"],
        ),
        sa.ForeignKeyConstraint(
            ["sample_ref"],
            ["sample.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("dataset_id", "ordinal", "replica", name="job_order"),
        sa.UniqueConstraint("dataset_id", "sample_id", "replica", name="job_name"),
        sqlite_strict=True,
    )
    op.create_index(
        "job_alone",
        "job",
        ["dataset_id", "rank", "id"],
        unique=False,
        sqlite_where=sa.text("state = 'ready' AND deaths >= 3"),
        postgresql_where=sa.text("state = 'ready' AND deaths >= 3"),
    )
    op.create_index(
        "job_cause_order",
        "job",
        ["dataset_id", "cause", "ordinal", "replica"],
        unique=False,
        sqlite_where=sa.text("cause IS NOT NULL"),
        postgresql_where=sa.text("cause IS NOT NULL"),
    )
    op.create_index(
        "job_finished",
        "job",
        ["dataset_id", "finished_ms"],
        unique=False,
        sqlite_where=sa.text("finished_ms IS NOT NULL"),
        postgresql_where=sa.text("finished_ms IS NOT NULL"),
    )
    op.create_index(
        "job_found_order",
        "job",
        ["dataset_id", "finish_reason", "found", "ordinal", "replica"],
        unique=False,
        sqlite_where=sa.text("found IS NOT NULL"),
        postgresql_where=sa.text("found IS NOT NULL"),
    )
    op.create_index(
        "job_leased",
        "job",
        ["lease_worker", "lease_deadline_ms"],
        unique=False,
        sqlite_where=sa.text("state = 'leased'"),
        postgresql_where=sa.text("state = 'leased'"),
    )
    op.create_index(
        "job_loss_order",
        "job",
        ["dataset_id", "ordinal", "replica"],
        unique=False,
        sqlite_where=sa.text("loss_flags IS NOT NULL"),
        postgresql_where=sa.text("loss_flags IS NOT NULL"),
    )
    op.create_index(
        "job_ready",
        "job",
        ["dataset_id", "rank", "id"],
        unique=False,
        sqlite_where=sa.text("state = 'ready'"),
        postgresql_where=sa.text("state = 'ready'"),
    )
    op.create_index(
        "job_reasoning",
        "job",
        ["dataset_id", "reasoning_chars"],
        unique=False,
        sqlite_where=sa.text("reasoning_chars IS NOT NULL"),
        postgresql_where=sa.text("reasoning_chars IS NOT NULL"),
    )
    op.create_index("job_sample", "job", ["sample_ref"], unique=False)
    op.create_index("job_state_order", "job", ["dataset_id", "state", "ordinal", "replica"], unique=False)
    op.create_index(
        "job_verdict_order",
        "job",
        ["dataset_id", "verdict", "ordinal", "replica"],
        unique=False,
        sqlite_where=sa.text("verdict IS NOT NULL"),
        postgresql_where=sa.text("verdict IS NOT NULL"),
    )
    op.create_index(
        "job_waiting",
        "job",
        ["dataset_id", "due_ms"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "endpoint_health",
        sa.Column("worker_id", sa.Integer(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=False),
        sa.Column("up", sa.Integer(), nullable=False),
        sa.Column("since_ms", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint("(up = 1) = (reason IS NULL)", name="down_for_a_reason"),
        sa.ForeignKeyConstraint(
            ["worker_id"],
            ["worker.id"],
        ),
        sa.PrimaryKeyConstraint("worker_id", "base_url"),
        sqlite_strict=True,
    )
    op.create_table(
        "response",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("accepted_seq", sa.Integer(), nullable=True),
        sa.Column("superseded_seq", sa.Integer(), nullable=True),
        sa.Column("late", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=True),
        sa.Column("endpoint_id", sa.Integer(), nullable=True),
        sa.Column("leased_ms", sa.Integer(), nullable=True),
        sa.Column("requested_ms", sa.Integer(), nullable=True),
        sa.Column("received_ms", sa.Integer(), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("content_type", sa.Text(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("form", sa.Text(), server_default=sa.text("'chat'"), nullable=False),
        sa.Column("expected", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("profile", sa.Text(), server_default=sa.text("'think'"), nullable=False),
        sa.Column("raw_text_sent", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("scrubbed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("request", sa.Text(), nullable=True),
        sa.Column("request_sha256", sa.Text(), nullable=True),
        sa.Column("raw_bytes", sa.Integer(), nullable=False),
        sa.Column("raw_sha256", sa.Text(), nullable=False),
        sa.Column("codec", sa.Text(), server_default=sa.text("'plain'"), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("codec IN ('plain', 'zstd')", name="response_codec"),
        sa.CheckConstraint("superseded_seq IS NULL OR accepted_seq IS NOT NULL", name="superseded_was_accepted"),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["endpoint.id"],
        ),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["job.id"],
        ),
        sa.ForeignKeyConstraint(
            ["worker_id"],
            ["worker.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job_id", "attempt", "turn", name="response_attempt"),
        sqlite_strict=True,
    )
    op.create_index(
        "response_accepted",
        "response",
        ["job_id", "turn"],
        unique=True,
        sqlite_where=sa.text("accepted_seq IS NOT NULL AND superseded_seq IS NULL"),
        postgresql_where=sa.text("accepted_seq IS NOT NULL AND superseded_seq IS NULL"),
    )
    op.create_table(
        "failure",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("at_ms", sa.Integer(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("counted", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=True),
        sa.Column("endpoint_id", sa.Integer(), nullable=True),
        sa.Column("response_id", sa.Integer(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("leased_ms", sa.Integer(), nullable=True),
        sa.Column("group_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["endpoint.id"],
        ),
        sa.ForeignKeyConstraint(
            ["group_id"],
            ["failure_group.id"],
        ),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["job.id"],
        ),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["response.id"],
        ),
        sa.ForeignKeyConstraint(
            ["worker_id"],
            ["worker.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sqlite_strict=True,
    )
    op.create_index("failure_job", "failure", ["job_id", "attempt"], unique=False)
    op.create_index("failure_response", "failure", ["response_id"], unique=False)
    op.create_index("failure_time", "failure", ["group_id", "at_ms"], unique=False)
    op.create_table(
        "reading",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("parser_version", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("flags", sa.Text(), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("loss_flags", sa.Text(), nullable=True),
        sa.Column("found", sa.Text(), nullable=True),
        sa.Column("reasoning", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("text_form", sa.Text(), server_default=sa.text("'plain'"), nullable=False),
        sa.Column("reasoning_chars", sa.Integer(), nullable=True),
        sa.Column("content_chars", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("preview", sa.Text(), nullable=True),
        sa.Column("tool_calls", sa.Integer(), nullable=True),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("usage", sa.Text(), nullable=True),
        sa.Column("parts", sa.Text(), nullable=True),
        sa.Column("choices", sa.Text(), nullable=True),
        sa.CheckConstraint("text_form IN ('plain', 'json')", name="reading_text_form"),
        sa.CheckConstraint(
            "verdict IN ('captured_field', 'split_from_content', 'none_expected', 'missing', 'truncated', 'leaked', 'malformed')",
            name="reading_verdict",
        ),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["response.id"],
        ),
        sa.PrimaryKeyConstraint("response_id", "seq"),
        sqlite_strict=True,
    )
    op.create_table(
        "token_ids",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("prompt", sa.LargeBinary(), nullable=True),
        sa.Column("answer", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["response.id"],
        ),
        sa.PrimaryKeyConstraint("response_id", "seq"),
        sqlite_strict=True,
    )
    op.create_table(
        "turn",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["job.id"],
        ),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["response.id"],
        ),
        sa.PrimaryKeyConstraint("job_id", "turn"),
        sqlite_strict=True,
    )
    op.create_index("turn_response", "turn", ["response_id"], unique=False)
    op.create_table(
        "unread",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("worker_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["job.id"],
        ),
        sa.ForeignKeyConstraint(
            ["response_id"],
            ["response.id"],
        ),
        sa.ForeignKeyConstraint(
            ["worker_id"],
            ["worker.id"],
        ),
        sa.PrimaryKeyConstraint("response_id"),
        sqlite_strict=True,
    )
    op.create_index("unread_job", "unread", ["job_id"], unique=False)
    if op.get_bind().dialect.name == "postgresql":
        own = Path(__file__).parents[1] / "postgresql" / f"{revision}.sql"
        for statement in own.read_text(encoding="utf-8").split("\n--;\n"):
            op.get_bind().exec_driver_sql(statement)
        return
    for trigger in TRIGGERS:
        op.execute(sa.DDL(trigger.replace("%", "%%")))
    op.execute(sa.DDL(ANSWER_VIEW))
