"""What PostgreSQL does by itself: the sums that SQLite keeps by triggers, kept so that no host waits for another.

A sum lies in several rows, one a slot. A transaction takes a slot that no other one has (an advisory lock that ends
with it), so no two ever change one row; what the stations read under the table's name is a view that adds the slots up.
The triggers are those of a statement: they see all of its rows at once, and what a batch comes to is one row a sum.
"""

from dataclasses import dataclass

from app.model.bins import BINS, LATENCY_BINS
from app.store.triggers import ANSWER_VIEW, CAPTURED, GRADED, bin_of

LOCKS = 0x54686C67  # the first half of our advisory locks; the second is a slot, or one of these
MIGRATING = -1
SLOTS = 256
SILENT = "10s"  # how long a transaction may ask nothing: a host that the network lost holds locks that others wait for


@dataclass(frozen=True, slots=True)
class Summed:
    """A table of sums: what a sum is of, and its columns."""

    table: str
    key: tuple[str, ...]
    sums: tuple[str, ...]


SUMMED = (
    Summed("counter", ("dataset_id", "metric"), ("n",)),
    Summed("bucket", ("dataset_id", "minute"), ("done", "failed", "graded", "captured", "tokens")),
    Summed("triage", ("dataset_id", "finish_reason", "found"), ("n",)),
    Summed("reasoning_length", ("dataset_id", "least"), ("n",)),
    Summed("latency", ("dataset_id", "least_ms"), ("n", "sum_ms")),
    Summed("worker_minute", ("worker_id", "minute"), ("bodies", "failed")),
)
_BY_NAME = {one.table: one for one in SUMMED}


def _slotted(one: Summed) -> tuple[str, ...]:
    """The table becomes one of slots, and a view takes its name."""
    key, part = ", ".join(one.key), f"{one.table}_slot"
    sums = ", ".join(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in one.sums)
    same = " AND ".join(f"{name} = OLD.{name}" for name in one.key)
    return (
        f"ALTER TABLE {one.table} RENAME TO {part}",
        f"ALTER TABLE {part} ADD COLUMN slot BIGINT NOT NULL DEFAULT 0",
        f"ALTER TABLE {part} DROP CONSTRAINT {one.table}_pkey, ADD PRIMARY KEY ({key}, slot)",
        f"ALTER TABLE {part} SET (fillfactor = 50)",  # its rows are changed again and again: there is room beside each
        f"CREATE VIEW {one.table} AS SELECT {key}, {sums} FROM {part} GROUP BY {key}",
        _function(f"{one.table}_forget", f"DELETE FROM {part} WHERE {same}; RETURN OLD;"),
        (
            f"CREATE TRIGGER {one.table}_forget INSTEAD OF DELETE ON {one.table} FOR EACH ROW"
            f" EXECUTE FUNCTION {one.table}_forget()"
        ),
    )


def _function(name: str, body: str, declare: str = "", returns: str = "trigger") -> str:
    head = name if "(" in name else f"{name}()"
    means = "#variable_conflict use_column"  # plpgsql has a variable `found` of its own
    inside = f"{means}\n{declare} BEGIN {body} END"
    return f"CREATE FUNCTION {head} RETURNS {returns} LANGUAGE plpgsql AS $body$\n{inside} $body$"


_MY_SLOT = _function(
    "my_slot",
    f"""
    taken := nullif(current_setting('thinkledger.slot', true), '');
    IF taken IS NULL THEN
        FOR one IN 0..{SLOTS - 1} LOOP
            IF pg_try_advisory_xact_lock({LOCKS}, one) THEN taken := one; EXIT; END IF;
        END LOOP;
        IF taken IS NULL THEN
            PERFORM pg_advisory_xact_lock({LOCKS}, 0);
            taken := 0;
        END IF;
        PERFORM set_config('thinkledger.slot', taken::text, true);
    END IF;
    RETURN taken;""",
    "DECLARE taken BIGINT;",
    "BIGINT",
)

# The first statement of a writing transaction: whether it is beside others or alone, its patience, the server's clock.
# What a server that commits lazily calls committed may be gone after its next crash, and no answer may.
# A table's locks are used, not advisory ones: a reader that must see no writer half way takes one before its snapshot.
_BEGIN_WRITING = _function(
    "begin_writing(beside_others BOOLEAN, patience TEXT)",
    f"""
    PERFORM set_config('lock_timeout', patience, true);
    PERFORM set_config('idle_in_transaction_session_timeout', '{SILENT}', true);
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF beside_others THEN
        LOCK TABLE gate IN ROW EXCLUSIVE MODE;
    ELSE
        LOCK TABLE gate IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    RETURN CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT);""",
    returns="BIGINT",
)
_NEXT_SEQ = _function(
    "next_seq", "RETURN (SELECT seq FROM meta_row) + pg_current_xact_id()::text::BIGINT;", returns="BIGINT"
)

# The number of the newest transaction that is over, with all before it; beside writers that are kept out: of all.
_META = (
    "ALTER TABLE meta RENAME TO meta_row",
    """CREATE VIEW meta AS SELECT id, store_id, created_ms,
    seq + CASE current_setting('thinkledger.settled', true)
        WHEN '1' THEN pg_snapshot_xmax(pg_current_snapshot()) ELSE pg_snapshot_xmin(pg_current_snapshot())
    END::text::BIGINT - 1 AS seq,
    epoch, parser_version, backup_ms, backup_seq FROM meta_row""",
    # Its row is written once. In a database that was made of a dump another transaction has written it.
    "CREATE TABLE gate (written_by BIGINT NOT NULL)",
    "INSERT INTO gate VALUES (pg_current_xact_id()::text::BIGINT & 4294967295)",
)

# A dump holds everything but what transaction numbers mean: here they begin anew, behind those that the rows have. An
# epoch begins, which makes the leases of whoever worked on the other database void, as a restore on SQLite does.
_ADOPT_DUMP = _function(
    "adopt_dump",
    """
    LOCK TABLE gate IN ACCESS EXCLUSIVE MODE;
    UPDATE meta_row SET epoch = CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT),
        seq = greatest((SELECT max(greatest(accepted_seq, superseded_seq)) FROM response),
            (SELECT max(seq) FROM reading), (SELECT max(since_seq) FROM hold), seq + pg_current_xact_id()::text::BIGINT)
            + 1 - pg_current_xact_id()::text::BIGINT;
    UPDATE job SET state = 'ready', lease_worker = NULL, lease_deadline_ms = NULL WHERE state = 'leased';
    UPDATE worker SET state = 'dead', stopped_ms = CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)
        WHERE state IN ('live', 'draining');
    DELETE FROM endpoint_health;
    DELETE FROM gate;
    INSERT INTO gate VALUES (pg_current_xact_id()::text::BIGINT & 4294967295);""",
    returns="VOID",
)


def _add(table: str, rows: str) -> str:
    """Rows of (key, sums) into the transaction's slot of a table, as part of one statement."""
    one = _BY_NAME[table]
    key = ", ".join(one.key)
    sums = ", ".join(f"sum({name})" for name in one.sums)
    some = " OR ".join(f"sum({name}) <> 0" for name in one.sums)
    more = ", ".join(f"{name} = {table}_slot.{name} + excluded.{name}" for name in one.sums)
    return (
        f"INSERT INTO {table}_slot ({key}, {', '.join(one.sums)}, slot)"
        f" SELECT {key}, {sums}, mine FROM ({rows}) AS rows"
        f" GROUP BY {key} HAVING {some} ON CONFLICT ({key}, slot) DO UPDATE SET {more}"
    )


_FINISHED = "state IN ('done', 'failed')"
_IS_GRADED = GRADED.format(row="moved")
_IS_CAPTURED = CAPTURED.format(row="moved")
_COUNTERS = f"""
    SELECT dataset_id, 'state:' || state AS metric, sign AS n FROM moved
    UNION ALL SELECT dataset_id, CASE WHEN state = 'failed' THEN 'failed:' || cause
        WHEN expected = 1 THEN 'expected:' || verdict ELSE 'unexpected:' || verdict END, sign FROM moved
        WHERE {_FINISHED}
    UNION ALL SELECT dataset_id, 'tokens', sign * completion_tokens FROM moved
        WHERE state = 'done' AND completion_tokens > 0
    UNION ALL SELECT dataset_id, 'flag:' || flag, sign FROM moved, json_array_elements_text(loss_flags::json) AS flag
        WHERE state = 'done' AND loss_flags IS NOT NULL
    UNION ALL SELECT dataset_id, 'turns', sign * turns FROM moved WHERE turns > 1
    UNION ALL SELECT dataset_id, 'turns_answered', sign * turn FROM moved WHERE turns > 1"""
_CELLS = """SELECT dataset_id, finish_reason, found, sign AS n FROM moved
    WHERE state = 'done' AND found IS NOT NULL AND finish_reason IS NOT NULL"""
_LENGTHS = f"""SELECT dataset_id, {bin_of("reasoning_chars", BINS)} AS least, sign AS n FROM moved
    WHERE state = 'done' AND reasoning_chars > 0"""
_MINUTES = f"""SELECT dataset_id, finished_ms / 60000 AS minute, sign * (state = 'done')::int AS done,
    sign * (state = 'failed')::int AS failed, sign * (state = 'done' AND {_IS_GRADED})::int AS graded,
    sign * (state = 'done' AND {_IS_CAPTURED})::int AS captured,
    CASE WHEN state = 'done' THEN sign * coalesce(completion_tokens, 0) ELSE 0 END AS tokens FROM moved
    WHERE state = 'failed' OR (state = 'done' AND imported = 0)"""

_JOB_COLUMNS = (
    "dataset_id, state, verdict, expected, completion_tokens, finished_ms, imported, cause, finish_reason, found,"
    " reasoning_chars, loss_flags, turns, turn"
)


def _of_jobs(moved: str) -> str:
    return f"""
    WITH moved AS ({moved}),
    cells AS ({_add("triage", _CELLS)}), lengths AS ({_add("reasoning_length", _LENGTHS)}),
    minutes AS ({_add("bucket", _MINUTES)})
    {_add("counter", _COUNTERS)};
    RETURN NULL;"""


_OLD, _NEW = f"SELECT -1 AS sign, {_JOB_COLUMNS} FROM old_rows", f"SELECT 1 AS sign, {_JOB_COLUMNS} FROM new_rows"

_TOOK_MS = "greatest(0, rows.received_ms - rows.requested_ms)"


def _of_responses(rows: str, sign: int) -> str:
    """What the bodies of a statement bring, or take along: latencies, late answers, a worker's minutes."""
    taken = f"""SELECT job.dataset_id, {bin_of(_TOOK_MS, LATENCY_BINS)} AS least_ms, {sign} AS n,
        {sign} * {_TOOK_MS} AS sum_ms FROM {rows} AS rows JOIN job ON job.id = rows.job_id
        WHERE rows.worker_id IS NOT NULL AND rows.requested_ms IS NOT NULL"""
    minutes = f"""SELECT worker_id, received_ms / 60000 AS minute, {sign} AS bodies, 0 AS failed FROM {rows}
        WHERE worker_id IS NOT NULL"""
    late = f"""SELECT job.dataset_id, 'late' AS metric, {sign} AS n FROM {rows} AS rows
        JOIN job ON job.id = rows.job_id WHERE rows.late = 1"""
    return f"""
    WITH taken AS ({_add("latency", taken)}), minutes AS ({_add("worker_minute", minutes)})
    {_add("counter", late)};
    RETURN NULL;"""


_TURNED_LATE = _add(
    "counter",
    """SELECT job.dataset_id, 'late' AS metric, 1 AS n FROM new_rows JOIN old_rows ON old_rows.id = new_rows.id
    JOIN job ON job.id = new_rows.job_id WHERE new_rows.late = 1 AND old_rows.late = 0""",
)
_FAILURES = "SELECT worker_id, at_ms / 60000 AS minute, 0 AS bodies, {} AS failed FROM {} WHERE worker_id IS NOT NULL"
_FAILED = _add("worker_minute", _FAILURES.format(1, "new_rows"))
_FORGOTTEN = f"""
    {_add("worker_minute", _FAILURES.format(-1, "old_rows"))};
    UPDATE failure_group SET attempts = attempts - gone.n FROM
        (SELECT group_id, count(*) AS n FROM old_rows GROUP BY group_id ORDER BY group_id) AS gone
        WHERE failure_group.id = gone.group_id;
    RETURN NULL;"""

_SEES = {"INSERT": "NEW TABLE AS new_rows", "DELETE": "OLD TABLE AS old_rows"}
_SEES["UPDATE"] = f"{_SEES['DELETE']} {_SEES['INSERT']}"


def _trigger(table: str, event: str, body: str) -> tuple[str, str]:
    name = f"{table}_{event.lower()}"
    return (
        _function(f"{name}_counts", body, "DECLARE mine BIGINT := my_slot();"),
        (
            f"CREATE TRIGGER {name} AFTER {event} ON {table} REFERENCING {_SEES[event]}"
            f" FOR EACH STATEMENT EXECUTE FUNCTION {name}_counts()"
        ),
    )


STATEMENTS: tuple[str, ...] = (
    *_META,
    *(statement for one in SUMMED for statement in _slotted(one)),
    _MY_SLOT,
    _BEGIN_WRITING,
    _NEXT_SEQ,
    _ADOPT_DUMP,
    *_trigger("job", "INSERT", _of_jobs(_NEW)),
    *_trigger("job", "UPDATE", _of_jobs(f"{_OLD} UNION ALL {_NEW}")),
    *_trigger("job", "DELETE", _of_jobs(_OLD)),
    *_trigger("response", "INSERT", _of_responses("new_rows", 1)),
    *_trigger("response", "UPDATE", f"{_TURNED_LATE}; RETURN NULL;"),
    *_trigger("response", "DELETE", _of_responses("old_rows", -1)),
    *_trigger("failure", "INSERT", f"{_FAILED}; RETURN NULL;"),
    *_trigger("failure", "DELETE", _FORGOTTEN),
    ANSWER_VIEW,
)
