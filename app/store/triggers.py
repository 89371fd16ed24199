"""What the database does by itself: triggers and the view `answer`.

Triggers keep counters and minute buckets, so that completion, retry and reparse cannot disagree about
them. Counting by trigger costs 0.016 ms at any size; GROUP BY over 3 million jobs 181 ms with a covering index.
"""

_BUMP = "ON CONFLICT (dataset_id, metric) DO UPDATE SET n = n + excluded.n"
_GRADED = "{row}.expected = 1 AND {row}.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked')"
_CAPTURED = "{row}.expected = 1 AND {row}.verdict IN ('captured_field', 'split_from_content')"


def _state(row: str, sign: int) -> str:
    return f"INSERT INTO counter VALUES ({row}.dataset_id, 'state:' || {row}.state, {sign}) {_BUMP};"


def _finished(row: str, sign: int) -> str:
    """Add or take back a finished job: its verdict, its tokens and, unless it was imported, its minute."""
    graded, captured = _GRADED.format(row=row), _CAPTURED.format(row=row)
    return f"""
    INSERT INTO counter SELECT {row}.dataset_id,
        iif({row}.expected = 1, 'expected:', 'unexpected:') || {row}.verdict, {sign} WHERE {row}.state = 'done' {_BUMP};
    INSERT INTO counter SELECT {row}.dataset_id, 'tokens', {sign} * {row}.completion_tokens
        WHERE {row}.state = 'done' AND {row}.completion_tokens > 0 {_BUMP};
    INSERT INTO bucket SELECT {row}.dataset_id, {row}.finished_ms / 60000, {sign} * ({row}.state = 'done'),
        {sign} * ({row}.state = 'failed'), {sign} * ({row}.state = 'done' AND {graded}),
        {sign} * ({row}.state = 'done' AND {captured}),
        {sign} * iif({row}.state = 'done', coalesce({row}.completion_tokens, 0), 0)
        WHERE {row}.state = 'failed' OR ({row}.state = 'done' AND {row}.imported = 0)
        ON CONFLICT (dataset_id, minute) DO UPDATE SET done = done + excluded.done, failed = failed + excluded.failed,
        graded = graded + excluded.graded, captured = captured + excluded.captured, tokens = tokens + excluded.tokens;
    """


def _trigger(name: str, when: str, body: str) -> str:
    return f"CREATE TRIGGER {name} {when} BEGIN {body} END"


_FACTS = "OLD.{0} IS NOT NEW.{0}"
_COUNTED = ("state", "verdict", "expected", "completion_tokens", "finished_ms", "imported")
_CHANGED = " OR ".join(_FACTS.format(column) for column in _COUNTED)

SQLITE_TRIGGERS: tuple[str, ...] = (
    _trigger("job_inserted", "AFTER INSERT ON job", _state("NEW", 1)),
    _trigger(
        "job_inserted_finished",
        "AFTER INSERT ON job WHEN NEW.state IN ('done', 'failed')",
        _finished("NEW", 1),
    ),
    _trigger(
        "job_moved",
        "AFTER UPDATE OF state ON job WHEN OLD.state IS NOT NEW.state",
        _state("OLD", -1) + _state("NEW", 1),
    ),
    _trigger(
        "job_finished",
        f"AFTER UPDATE OF {', '.join(_COUNTED)} ON job WHEN NEW.state IN ('done', 'failed') AND ({_CHANGED})",
        _finished("NEW", 1),
    ),
    _trigger(
        "job_unfinished",
        f"AFTER UPDATE OF {', '.join(_COUNTED)} ON job WHEN OLD.state IN ('done', 'failed') AND ({_CHANGED})",
        _finished("OLD", -1),
    ),
    _trigger("job_deleted", "AFTER DELETE ON job", _state("OLD", -1)),
    _trigger(
        "job_deleted_finished",
        "AFTER DELETE ON job WHEN OLD.state IN ('done', 'failed')",
        _finished("OLD", -1),
    ),
    _trigger(
        "response_late",
        "AFTER INSERT ON response WHEN NEW.late = 1",
        f"INSERT INTO counter SELECT dataset_id, 'late', 1 FROM job WHERE id = NEW.job_id {_BUMP};",
    ),
    _trigger(
        "response_turned_late",
        "AFTER UPDATE OF late ON response WHEN NEW.late = 1 AND OLD.late = 0",
        f"INSERT INTO counter SELECT dataset_id, 'late', 1 FROM job WHERE id = NEW.job_id {_BUMP};",
    ),
)

ANSWER_VIEW = """CREATE VIEW answer AS
SELECT dataset.name AS dataset, job.sample_id, job.replica, response.turn, response.id AS response_id,
    response.codec, response.raw, reading.text_form, reading.reasoning, reading.content,
    reading.verdict, reading.finish_reason, reading.flags, reading.usage
FROM job
JOIN dataset ON dataset.id = job.dataset_id
JOIN response ON response.job_id = job.id AND response.accepted_seq IS NOT NULL AND response.superseded_seq IS NULL
JOIN reading ON reading.response_id = response.id
    AND reading.seq = (SELECT max(seq) FROM reading AS newest WHERE newest.response_id = response.id)"""
