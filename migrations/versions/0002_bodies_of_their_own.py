"""The bytes of a response lie in a table of their own, so that its acceptance writes them no second time.

SQLite copies each page of `response` once, and each body once: a store of a million answers of 4 KB takes a minute or
two, and its WAL grows by the size of `response`, which `migrate` asks room for before it begins.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEPT = (
    "id, job_id, attempt, turn, accepted_seq, superseded_seq, late, worker_id, endpoint_id, leased_ms, requested_ms,"
    " received_ms, http_status, content_type, request_id, form, expected, profile, raw_text_sent, scrubbed, request,"
    " request_sha256, raw_bytes, raw_sha256"
)

ANSWER_VIEW = """CREATE VIEW answer AS
SELECT dataset.name AS dataset, job.sample_id, job.replica, response.turn, response.id AS response_id,
    body.codec, body.raw, reading.text_form, reading.reasoning, reading.content,
    reading.verdict, reading.finish_reason, reading.flags, reading.loss_flags, reading.usage
FROM job
JOIN dataset ON dataset.id = job.dataset_id
JOIN response ON response.job_id = job.id AND response.accepted_seq IS NOT NULL AND response.superseded_seq IS NULL
JOIN body ON body.response_id = response.id
JOIN reading ON reading.response_id = response.id
    AND reading.seq = (SELECT max(seq) FROM reading AS newest WHERE newest.response_id = response.id)"""


def upgrade() -> None:
    op.execute("DROP VIEW answer")
    op.create_table(
        "body",
        sa.Column("response_id", sa.Integer(), nullable=False),
        sa.Column("codec", sa.Text(), server_default=sa.text("'plain'"), nullable=False),
        sa.Column("raw", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("codec IN ('plain', 'zstd')", name="body_codec"),
        sa.ForeignKeyConstraint(["response_id"], ["response.id"]),
        sa.PrimaryKeyConstraint("response_id"),
        sqlite_strict=True,
    )
    op.execute("INSERT INTO body (response_id, codec, raw) SELECT id, codec, raw FROM response ORDER BY id")
    if op.get_bind().dialect.name == "sqlite":
        _narrow_by_copy()
    else:
        op.drop_column("response", "codec")
        op.drop_column("response", "raw")
    op.execute(ANSWER_VIEW)


def _narrow_by_copy() -> None:
    """SQLite drops no column that a CHECK names; the triggers of a table go with it."""
    connection = op.get_bind()
    of_response = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'response' ORDER BY rowid"
    triggers = connection.exec_driver_sql(of_response).scalars().all()
    _make_narrow("narrow_response")
    op.execute(f"INSERT INTO narrow_response ({KEPT}) SELECT {KEPT} FROM response ORDER BY id")
    op.drop_table("response")
    op.rename_table("narrow_response", "response")
    op.create_index(
        "response_accepted",
        "response",
        ["job_id", "turn"],
        unique=True,
        sqlite_where=sa.text("accepted_seq IS NOT NULL AND superseded_seq IS NULL"),
    )
    for trigger in triggers:
        connection.exec_driver_sql(trigger)


def _make_narrow(name: str) -> None:
    op.create_table(
        name,
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
        sa.CheckConstraint("superseded_seq IS NULL OR accepted_seq IS NOT NULL", name="superseded_was_accepted"),
        sa.ForeignKeyConstraint(["endpoint_id"], ["endpoint.id"]),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"]),
        sa.ForeignKeyConstraint(["worker_id"], ["worker.id"]),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job_id", "attempt", "turn", name="response_attempt"),
        sqlite_strict=True,
    )
