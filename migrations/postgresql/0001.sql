ALTER TABLE meta RENAME TO meta_row
--;
CREATE VIEW meta AS SELECT id, store_id, created_ms,
    seq + CASE current_setting('thinkledger.settled', true)
        WHEN '1' THEN pg_snapshot_xmax(pg_current_snapshot()) ELSE pg_snapshot_xmin(pg_current_snapshot())
    END::text::BIGINT - 1 AS seq,
    epoch, parser_version, backup_ms, backup_seq FROM meta_row
--;
CREATE TABLE gate (written_by BIGINT NOT NULL)
--;
INSERT INTO gate VALUES (pg_current_xact_id()::text::BIGINT & 4294967295)
--;
ALTER TABLE counter RENAME TO counter_slot
--;
ALTER TABLE counter_slot ADD COLUMN slot BIGINT NOT NULL DEFAULT 0
--;
ALTER TABLE counter_slot DROP CONSTRAINT counter_pkey, ADD PRIMARY KEY (dataset_id, metric, slot)
--;
ALTER TABLE counter_slot SET (fillfactor = 50)
--;
CREATE VIEW counter AS SELECT dataset_id, metric, CAST(sum(n) AS BIGINT) AS n FROM counter_slot GROUP BY dataset_id, metric
--;
CREATE FUNCTION counter_forget() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN DELETE FROM counter_slot WHERE dataset_id = OLD.dataset_id AND metric = OLD.metric; RETURN OLD; END $body$
--;
CREATE TRIGGER counter_forget INSTEAD OF DELETE ON counter FOR EACH ROW EXECUTE FUNCTION counter_forget()
--;
ALTER TABLE bucket RENAME TO bucket_slot
--;
ALTER TABLE bucket_slot ADD COLUMN slot BIGINT NOT NULL DEFAULT 0
--;
ALTER TABLE bucket_slot DROP CONSTRAINT bucket_pkey, ADD PRIMARY KEY (dataset_id, minute, slot)
--;
ALTER TABLE bucket_slot SET (fillfactor = 50)
--;
CREATE VIEW bucket AS SELECT dataset_id, minute, CAST(sum(done) AS BIGINT) AS done, CAST(sum(failed) AS BIGINT) AS failed, CAST(sum(graded) AS BIGINT) AS graded, CAST(sum(captured) AS BIGINT) AS captured, CAST(sum(tokens) AS BIGINT) AS tokens FROM bucket_slot GROUP BY dataset_id, minute
--;
CREATE FUNCTION bucket_forget() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN DELETE FROM bucket_slot WHERE dataset_id = OLD.dataset_id AND minute = OLD.minute; RETURN OLD; END $body$
--;
CREATE TRIGGER bucket_forget INSTEAD OF DELETE ON bucket FOR EACH ROW EXECUTE FUNCTION bucket_forget()
--;
ALTER TABLE triage RENAME TO triage_slot
--;
ALTER TABLE triage_slot ADD COLUMN slot BIGINT NOT NULL DEFAULT 0
--;
ALTER TABLE triage_slot DROP CONSTRAINT triage_pkey, ADD PRIMARY KEY (dataset_id, finish_reason, found, slot)
--;
ALTER TABLE triage_slot SET (fillfactor = 50)
--;
CREATE VIEW triage AS SELECT dataset_id, finish_reason, found, CAST(sum(n) AS BIGINT) AS n FROM triage_slot GROUP BY dataset_id, finish_reason, found
--;
CREATE FUNCTION triage_forget() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN DELETE FROM triage_slot WHERE dataset_id = OLD.dataset_id AND finish_reason = OLD.finish_reason AND found = OLD.found; RETURN OLD; END $body$
--;
CREATE TRIGGER triage_forget INSTEAD OF DELETE ON triage FOR EACH ROW EXECUTE FUNCTION triage_forget()
--;
ALTER TABLE reasoning_length RENAME TO reasoning_length_slot
--;
ALTER TABLE reasoning_length_slot ADD COLUMN slot BIGINT NOT NULL DEFAULT 0
--;
ALTER TABLE reasoning_length_slot DROP CONSTRAINT reasoning_length_pkey, ADD PRIMARY KEY (dataset_id, least, slot)
--;
ALTER TABLE reasoning_length_slot SET (fillfactor = 50)
--;
CREATE VIEW reasoning_length AS SELECT dataset_id, least, CAST(sum(n) AS BIGINT) AS n FROM reasoning_length_slot GROUP BY dataset_id, least
--;
CREATE FUNCTION reasoning_length_forget() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN DELETE FROM reasoning_length_slot WHERE dataset_id = OLD.dataset_id AND least = OLD.least; RETURN OLD; END $body$
--;
CREATE TRIGGER reasoning_length_forget INSTEAD OF DELETE ON reasoning_length FOR EACH ROW EXECUTE FUNCTION reasoning_length_forget()
--;
ALTER TABLE latency RENAME TO latency_slot
--;
ALTER TABLE latency_slot ADD COLUMN slot BIGINT NOT NULL DEFAULT 0
--;
ALTER TABLE latency_slot DROP CONSTRAINT latency_pkey, ADD PRIMARY KEY (dataset_id, least_ms, slot)
--;
ALTER TABLE latency_slot SET (fillfactor = 50)
--;
CREATE VIEW latency AS SELECT dataset_id, least_ms, CAST(sum(n) AS BIGINT) AS n, CAST(sum(sum_ms) AS BIGINT) AS sum_ms FROM latency_slot GROUP BY dataset_id, least_ms
--;
CREATE FUNCTION latency_forget() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN DELETE FROM latency_slot WHERE dataset_id = OLD.dataset_id AND least_ms = OLD.least_ms; RETURN OLD; END $body$
--;
CREATE TRIGGER latency_forget INSTEAD OF DELETE ON latency FOR EACH ROW EXECUTE FUNCTION latency_forget()
--;
ALTER TABLE worker_minute RENAME TO worker_minute_slot
--;
ALTER TABLE worker_minute_slot ADD COLUMN slot BIGINT NOT NULL DEFAULT 0
--;
ALTER TABLE worker_minute_slot DROP CONSTRAINT worker_minute_pkey, ADD PRIMARY KEY (worker_id, minute, slot)
--;
ALTER TABLE worker_minute_slot SET (fillfactor = 50)
--;
CREATE VIEW worker_minute AS SELECT worker_id, minute, CAST(sum(bodies) AS BIGINT) AS bodies, CAST(sum(failed) AS BIGINT) AS failed FROM worker_minute_slot GROUP BY worker_id, minute
--;
CREATE FUNCTION worker_minute_forget() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN DELETE FROM worker_minute_slot WHERE worker_id = OLD.worker_id AND minute = OLD.minute; RETURN OLD; END $body$
--;
CREATE TRIGGER worker_minute_forget INSTEAD OF DELETE ON worker_minute FOR EACH ROW EXECUTE FUNCTION worker_minute_forget()
--;
CREATE FUNCTION my_slot() RETURNS BIGINT LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE taken BIGINT; BEGIN 
    taken := nullif(current_setting('thinkledger.slot', true), '');
    IF taken IS NULL THEN
        FOR one IN 0..255 LOOP
            IF pg_try_advisory_xact_lock(1416129639, one) THEN taken := one; EXIT; END IF;
        END LOOP;
        IF taken IS NULL THEN
            PERFORM pg_advisory_xact_lock(1416129639, 0);
            taken := 0;
        END IF;
        PERFORM set_config('thinkledger.slot', taken::text, true);
    END IF;
    RETURN taken; END $body$
--;
CREATE FUNCTION begin_writing(beside_others BOOLEAN, patience TEXT) RETURNS BIGINT LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN 
    PERFORM set_config('lock_timeout', patience, true);
    PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF beside_others THEN
        LOCK TABLE gate IN ROW EXCLUSIVE MODE;
    ELSE
        LOCK TABLE gate IN SHARE ROW EXCLUSIVE MODE;
    END IF;
    RETURN CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT); END $body$
--;
CREATE FUNCTION next_seq() RETURNS BIGINT LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN RETURN (SELECT seq FROM meta_row) + pg_current_xact_id()::text::BIGINT; END $body$
--;
CREATE FUNCTION adopt_dump() RETURNS VOID LANGUAGE plpgsql AS $body$
#variable_conflict use_column
 BEGIN 
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
    INSERT INTO gate VALUES (pg_current_xact_id()::text::BIGINT & 4294967295); END $body$
--;
CREATE FUNCTION job_insert_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN 
    WITH moved AS (SELECT 1 AS sign, dataset_id, state, verdict, expected, completion_tokens, finished_ms, imported, cause, finish_reason, found, reasoning_chars, loss_flags, turns, turn FROM new_rows),
    cells AS (INSERT INTO triage_slot (dataset_id, finish_reason, found, n, slot) SELECT dataset_id, finish_reason, found, sum(n), mine FROM (SELECT dataset_id, finish_reason, found, sign AS n FROM moved
    WHERE state = 'done' AND found IS NOT NULL AND finish_reason IS NOT NULL) AS rows GROUP BY dataset_id, finish_reason, found HAVING sum(n) <> 0 ON CONFLICT (dataset_id, finish_reason, found, slot) DO UPDATE SET n = triage_slot.n + excluded.n), lengths AS (INSERT INTO reasoning_length_slot (dataset_id, least, n, slot) SELECT dataset_id, least, sum(n), mine FROM (SELECT dataset_id, CASE WHEN reasoning_chars < 128 THEN 1 WHEN reasoning_chars < 256 THEN 128 WHEN reasoning_chars < 512 THEN 256 WHEN reasoning_chars < 1024 THEN 512 WHEN reasoning_chars < 2048 THEN 1024 WHEN reasoning_chars < 4096 THEN 2048 WHEN reasoning_chars < 8192 THEN 4096 WHEN reasoning_chars < 16384 THEN 8192 WHEN reasoning_chars < 32768 THEN 16384 WHEN reasoning_chars < 65536 THEN 32768 WHEN reasoning_chars < 131072 THEN 65536 WHEN reasoning_chars < 262144 THEN 131072 ELSE 262144 END AS least, sign AS n FROM moved
    WHERE state = 'done' AND reasoning_chars > 0) AS rows GROUP BY dataset_id, least HAVING sum(n) <> 0 ON CONFLICT (dataset_id, least, slot) DO UPDATE SET n = reasoning_length_slot.n + excluded.n),
    minutes AS (INSERT INTO bucket_slot (dataset_id, minute, done, failed, graded, captured, tokens, slot) SELECT dataset_id, minute, sum(done), sum(failed), sum(graded), sum(captured), sum(tokens), mine FROM (SELECT dataset_id, finished_ms / 60000 AS minute, sign * (state = 'done')::int AS done,
    sign * (state = 'failed')::int AS failed, sign * (state = 'done' AND moved.expected = 1 AND moved.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked'))::int AS graded,
    sign * (state = 'done' AND moved.expected = 1 AND moved.verdict IN ('captured_field', 'split_from_content'))::int AS captured,
    CASE WHEN state = 'done' THEN sign * coalesce(completion_tokens, 0) ELSE 0 END AS tokens FROM moved
    WHERE state = 'failed' OR (state = 'done' AND imported = 0)) AS rows GROUP BY dataset_id, minute HAVING sum(done) <> 0 OR sum(failed) <> 0 OR sum(graded) <> 0 OR sum(captured) <> 0 OR sum(tokens) <> 0 ON CONFLICT (dataset_id, minute, slot) DO UPDATE SET done = bucket_slot.done + excluded.done, failed = bucket_slot.failed + excluded.failed, graded = bucket_slot.graded + excluded.graded, captured = bucket_slot.captured + excluded.captured, tokens = bucket_slot.tokens + excluded.tokens)
    INSERT INTO counter_slot (dataset_id, metric, n, slot) SELECT dataset_id, metric, sum(n), mine FROM (
    SELECT dataset_id, 'state:' || state AS metric, sign AS n FROM moved
    UNION ALL SELECT dataset_id, CASE WHEN state = 'failed' THEN 'failed:' || cause
        WHEN expected = 1 THEN 'expected:' || verdict ELSE 'unexpected:' || verdict END, sign FROM moved
        WHERE state IN ('done', 'failed')
    UNION ALL SELECT dataset_id, 'tokens', sign * completion_tokens FROM moved
        WHERE state = 'done' AND completion_tokens > 0
    UNION ALL SELECT dataset_id, 'flag:' || flag, sign FROM moved, json_array_elements_text(loss_flags::json) AS flag
        WHERE state = 'done' AND loss_flags IS NOT NULL
    UNION ALL SELECT dataset_id, 'turns', sign * turns FROM moved WHERE turns > 1
    UNION ALL SELECT dataset_id, 'turns_answered', sign * turn FROM moved WHERE turns > 1) AS rows GROUP BY dataset_id, metric HAVING sum(n) <> 0 ON CONFLICT (dataset_id, metric, slot) DO UPDATE SET n = counter_slot.n + excluded.n;
    RETURN NULL; END $body$
--;
CREATE TRIGGER job_insert AFTER INSERT ON job REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION job_insert_counts()
--;
CREATE FUNCTION job_update_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN 
    WITH moved AS (SELECT -1 AS sign, dataset_id, state, verdict, expected, completion_tokens, finished_ms, imported, cause, finish_reason, found, reasoning_chars, loss_flags, turns, turn FROM old_rows UNION ALL SELECT 1 AS sign, dataset_id, state, verdict, expected, completion_tokens, finished_ms, imported, cause, finish_reason, found, reasoning_chars, loss_flags, turns, turn FROM new_rows),
    cells AS (INSERT INTO triage_slot (dataset_id, finish_reason, found, n, slot) SELECT dataset_id, finish_reason, found, sum(n), mine FROM (SELECT dataset_id, finish_reason, found, sign AS n FROM moved
    WHERE state = 'done' AND found IS NOT NULL AND finish_reason IS NOT NULL) AS rows GROUP BY dataset_id, finish_reason, found HAVING sum(n) <> 0 ON CONFLICT (dataset_id, finish_reason, found, slot) DO UPDATE SET n = triage_slot.n + excluded.n), lengths AS (INSERT INTO reasoning_length_slot (dataset_id, least, n, slot) SELECT dataset_id, least, sum(n), mine FROM (SELECT dataset_id, CASE WHEN reasoning_chars < 128 THEN 1 WHEN reasoning_chars < 256 THEN 128 WHEN reasoning_chars < 512 THEN 256 WHEN reasoning_chars < 1024 THEN 512 WHEN reasoning_chars < 2048 THEN 1024 WHEN reasoning_chars < 4096 THEN 2048 WHEN reasoning_chars < 8192 THEN 4096 WHEN reasoning_chars < 16384 THEN 8192 WHEN reasoning_chars < 32768 THEN 16384 WHEN reasoning_chars < 65536 THEN 32768 WHEN reasoning_chars < 131072 THEN 65536 WHEN reasoning_chars < 262144 THEN 131072 ELSE 262144 END AS least, sign AS n FROM moved
    WHERE state = 'done' AND reasoning_chars > 0) AS rows GROUP BY dataset_id, least HAVING sum(n) <> 0 ON CONFLICT (dataset_id, least, slot) DO UPDATE SET n = reasoning_length_slot.n + excluded.n),
    minutes AS (INSERT INTO bucket_slot (dataset_id, minute, done, failed, graded, captured, tokens, slot) SELECT dataset_id, minute, sum(done), sum(failed), sum(graded), sum(captured), sum(tokens), mine FROM (SELECT dataset_id, finished_ms / 60000 AS minute, sign * (state = 'done')::int AS done,
    sign * (state = 'failed')::int AS failed, sign * (state = 'done' AND moved.expected = 1 AND moved.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked'))::int AS graded,
    sign * (state = 'done' AND moved.expected = 1 AND moved.verdict IN ('captured_field', 'split_from_content'))::int AS captured,
    CASE WHEN state = 'done' THEN sign * coalesce(completion_tokens, 0) ELSE 0 END AS tokens FROM moved
    WHERE state = 'failed' OR (state = 'done' AND imported = 0)) AS rows GROUP BY dataset_id, minute HAVING sum(done) <> 0 OR sum(failed) <> 0 OR sum(graded) <> 0 OR sum(captured) <> 0 OR sum(tokens) <> 0 ON CONFLICT (dataset_id, minute, slot) DO UPDATE SET done = bucket_slot.done + excluded.done, failed = bucket_slot.failed + excluded.failed, graded = bucket_slot.graded + excluded.graded, captured = bucket_slot.captured + excluded.captured, tokens = bucket_slot.tokens + excluded.tokens)
    INSERT INTO counter_slot (dataset_id, metric, n, slot) SELECT dataset_id, metric, sum(n), mine FROM (
    SELECT dataset_id, 'state:' || state AS metric, sign AS n FROM moved
    UNION ALL SELECT dataset_id, CASE WHEN state = 'failed' THEN 'failed:' || cause
        WHEN expected = 1 THEN 'expected:' || verdict ELSE 'unexpected:' || verdict END, sign FROM moved
        WHERE state IN ('done', 'failed')
    UNION ALL SELECT dataset_id, 'tokens', sign * completion_tokens FROM moved
        WHERE state = 'done' AND completion_tokens > 0
    UNION ALL SELECT dataset_id, 'flag:' || flag, sign FROM moved, json_array_elements_text(loss_flags::json) AS flag
        WHERE state = 'done' AND loss_flags IS NOT NULL
    UNION ALL SELECT dataset_id, 'turns', sign * turns FROM moved WHERE turns > 1
    UNION ALL SELECT dataset_id, 'turns_answered', sign * turn FROM moved WHERE turns > 1) AS rows GROUP BY dataset_id, metric HAVING sum(n) <> 0 ON CONFLICT (dataset_id, metric, slot) DO UPDATE SET n = counter_slot.n + excluded.n;
    RETURN NULL; END $body$
--;
CREATE TRIGGER job_update AFTER UPDATE ON job REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION job_update_counts()
--;
CREATE FUNCTION job_delete_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN 
    WITH moved AS (SELECT -1 AS sign, dataset_id, state, verdict, expected, completion_tokens, finished_ms, imported, cause, finish_reason, found, reasoning_chars, loss_flags, turns, turn FROM old_rows),
    cells AS (INSERT INTO triage_slot (dataset_id, finish_reason, found, n, slot) SELECT dataset_id, finish_reason, found, sum(n), mine FROM (SELECT dataset_id, finish_reason, found, sign AS n FROM moved
    WHERE state = 'done' AND found IS NOT NULL AND finish_reason IS NOT NULL) AS rows GROUP BY dataset_id, finish_reason, found HAVING sum(n) <> 0 ON CONFLICT (dataset_id, finish_reason, found, slot) DO UPDATE SET n = triage_slot.n + excluded.n), lengths AS (INSERT INTO reasoning_length_slot (dataset_id, least, n, slot) SELECT dataset_id, least, sum(n), mine FROM (SELECT dataset_id, CASE WHEN reasoning_chars < 128 THEN 1 WHEN reasoning_chars < 256 THEN 128 WHEN reasoning_chars < 512 THEN 256 WHEN reasoning_chars < 1024 THEN 512 WHEN reasoning_chars < 2048 THEN 1024 WHEN reasoning_chars < 4096 THEN 2048 WHEN reasoning_chars < 8192 THEN 4096 WHEN reasoning_chars < 16384 THEN 8192 WHEN reasoning_chars < 32768 THEN 16384 WHEN reasoning_chars < 65536 THEN 32768 WHEN reasoning_chars < 131072 THEN 65536 WHEN reasoning_chars < 262144 THEN 131072 ELSE 262144 END AS least, sign AS n FROM moved
    WHERE state = 'done' AND reasoning_chars > 0) AS rows GROUP BY dataset_id, least HAVING sum(n) <> 0 ON CONFLICT (dataset_id, least, slot) DO UPDATE SET n = reasoning_length_slot.n + excluded.n),
    minutes AS (INSERT INTO bucket_slot (dataset_id, minute, done, failed, graded, captured, tokens, slot) SELECT dataset_id, minute, sum(done), sum(failed), sum(graded), sum(captured), sum(tokens), mine FROM (SELECT dataset_id, finished_ms / 60000 AS minute, sign * (state = 'done')::int AS done,
    sign * (state = 'failed')::int AS failed, sign * (state = 'done' AND moved.expected = 1 AND moved.verdict IN ('captured_field', 'split_from_content', 'missing', 'leaked'))::int AS graded,
    sign * (state = 'done' AND moved.expected = 1 AND moved.verdict IN ('captured_field', 'split_from_content'))::int AS captured,
    CASE WHEN state = 'done' THEN sign * coalesce(completion_tokens, 0) ELSE 0 END AS tokens FROM moved
    WHERE state = 'failed' OR (state = 'done' AND imported = 0)) AS rows GROUP BY dataset_id, minute HAVING sum(done) <> 0 OR sum(failed) <> 0 OR sum(graded) <> 0 OR sum(captured) <> 0 OR sum(tokens) <> 0 ON CONFLICT (dataset_id, minute, slot) DO UPDATE SET done = bucket_slot.done + excluded.done, failed = bucket_slot.failed + excluded.failed, graded = bucket_slot.graded + excluded.graded, captured = bucket_slot.captured + excluded.captured, tokens = bucket_slot.tokens + excluded.tokens)
    INSERT INTO counter_slot (dataset_id, metric, n, slot) SELECT dataset_id, metric, sum(n), mine FROM (
    SELECT dataset_id, 'state:' || state AS metric, sign AS n FROM moved
    UNION ALL SELECT dataset_id, CASE WHEN state = 'failed' THEN 'failed:' || cause
        WHEN expected = 1 THEN 'expected:' || verdict ELSE 'unexpected:' || verdict END, sign FROM moved
        WHERE state IN ('done', 'failed')
    UNION ALL SELECT dataset_id, 'tokens', sign * completion_tokens FROM moved
        WHERE state = 'done' AND completion_tokens > 0
    UNION ALL SELECT dataset_id, 'flag:' || flag, sign FROM moved, json_array_elements_text(loss_flags::json) AS flag
        WHERE state = 'done' AND loss_flags IS NOT NULL
    UNION ALL SELECT dataset_id, 'turns', sign * turns FROM moved WHERE turns > 1
    UNION ALL SELECT dataset_id, 'turns_answered', sign * turn FROM moved WHERE turns > 1) AS rows GROUP BY dataset_id, metric HAVING sum(n) <> 0 ON CONFLICT (dataset_id, metric, slot) DO UPDATE SET n = counter_slot.n + excluded.n;
    RETURN NULL; END $body$
--;
CREATE TRIGGER job_delete AFTER DELETE ON job REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION job_delete_counts()
--;
CREATE FUNCTION response_insert_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN 
    WITH taken AS (INSERT INTO latency_slot (dataset_id, least_ms, n, sum_ms, slot) SELECT dataset_id, least_ms, sum(n), sum(sum_ms), mine FROM (SELECT job.dataset_id, CASE WHEN greatest(0, rows.received_ms - rows.requested_ms) < 1001 THEN 0 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 2001 THEN 1001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 5001 THEN 2001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 10001 THEN 5001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 20001 THEN 10001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 30001 THEN 20001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 60001 THEN 30001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 120001 THEN 60001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 300001 THEN 120001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 600001 THEN 300001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 1200001 THEN 600001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 1800001 THEN 1200001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 3600001 THEN 1800001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 7200001 THEN 3600001 ELSE 7200001 END AS least_ms, 1 AS n,
        1 * greatest(0, rows.received_ms - rows.requested_ms) AS sum_ms FROM new_rows AS rows JOIN job ON job.id = rows.job_id
        WHERE rows.worker_id IS NOT NULL AND rows.requested_ms IS NOT NULL) AS rows GROUP BY dataset_id, least_ms HAVING sum(n) <> 0 OR sum(sum_ms) <> 0 ON CONFLICT (dataset_id, least_ms, slot) DO UPDATE SET n = latency_slot.n + excluded.n, sum_ms = latency_slot.sum_ms + excluded.sum_ms), minutes AS (INSERT INTO worker_minute_slot (worker_id, minute, bodies, failed, slot) SELECT worker_id, minute, sum(bodies), sum(failed), mine FROM (SELECT worker_id, received_ms / 60000 AS minute, 1 AS bodies, 0 AS failed FROM new_rows
        WHERE worker_id IS NOT NULL) AS rows GROUP BY worker_id, minute HAVING sum(bodies) <> 0 OR sum(failed) <> 0 ON CONFLICT (worker_id, minute, slot) DO UPDATE SET bodies = worker_minute_slot.bodies + excluded.bodies, failed = worker_minute_slot.failed + excluded.failed)
    INSERT INTO counter_slot (dataset_id, metric, n, slot) SELECT dataset_id, metric, sum(n), mine FROM (SELECT job.dataset_id, 'late' AS metric, 1 AS n FROM new_rows AS rows
        JOIN job ON job.id = rows.job_id WHERE rows.late = 1) AS rows GROUP BY dataset_id, metric HAVING sum(n) <> 0 ON CONFLICT (dataset_id, metric, slot) DO UPDATE SET n = counter_slot.n + excluded.n;
    RETURN NULL; END $body$
--;
CREATE TRIGGER response_insert AFTER INSERT ON response REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION response_insert_counts()
--;
CREATE FUNCTION response_update_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN INSERT INTO counter_slot (dataset_id, metric, n, slot) SELECT dataset_id, metric, sum(n), mine FROM (SELECT job.dataset_id, 'late' AS metric, 1 AS n FROM new_rows JOIN old_rows ON old_rows.id = new_rows.id
    JOIN job ON job.id = new_rows.job_id WHERE new_rows.late = 1 AND old_rows.late = 0) AS rows GROUP BY dataset_id, metric HAVING sum(n) <> 0 ON CONFLICT (dataset_id, metric, slot) DO UPDATE SET n = counter_slot.n + excluded.n; RETURN NULL; END $body$
--;
CREATE TRIGGER response_update AFTER UPDATE ON response REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION response_update_counts()
--;
CREATE FUNCTION response_delete_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN 
    WITH taken AS (INSERT INTO latency_slot (dataset_id, least_ms, n, sum_ms, slot) SELECT dataset_id, least_ms, sum(n), sum(sum_ms), mine FROM (SELECT job.dataset_id, CASE WHEN greatest(0, rows.received_ms - rows.requested_ms) < 1001 THEN 0 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 2001 THEN 1001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 5001 THEN 2001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 10001 THEN 5001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 20001 THEN 10001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 30001 THEN 20001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 60001 THEN 30001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 120001 THEN 60001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 300001 THEN 120001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 600001 THEN 300001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 1200001 THEN 600001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 1800001 THEN 1200001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 3600001 THEN 1800001 WHEN greatest(0, rows.received_ms - rows.requested_ms) < 7200001 THEN 3600001 ELSE 7200001 END AS least_ms, -1 AS n,
        -1 * greatest(0, rows.received_ms - rows.requested_ms) AS sum_ms FROM old_rows AS rows JOIN job ON job.id = rows.job_id
        WHERE rows.worker_id IS NOT NULL AND rows.requested_ms IS NOT NULL) AS rows GROUP BY dataset_id, least_ms HAVING sum(n) <> 0 OR sum(sum_ms) <> 0 ON CONFLICT (dataset_id, least_ms, slot) DO UPDATE SET n = latency_slot.n + excluded.n, sum_ms = latency_slot.sum_ms + excluded.sum_ms), minutes AS (INSERT INTO worker_minute_slot (worker_id, minute, bodies, failed, slot) SELECT worker_id, minute, sum(bodies), sum(failed), mine FROM (SELECT worker_id, received_ms / 60000 AS minute, -1 AS bodies, 0 AS failed FROM old_rows
        WHERE worker_id IS NOT NULL) AS rows GROUP BY worker_id, minute HAVING sum(bodies) <> 0 OR sum(failed) <> 0 ON CONFLICT (worker_id, minute, slot) DO UPDATE SET bodies = worker_minute_slot.bodies + excluded.bodies, failed = worker_minute_slot.failed + excluded.failed)
    INSERT INTO counter_slot (dataset_id, metric, n, slot) SELECT dataset_id, metric, sum(n), mine FROM (SELECT job.dataset_id, 'late' AS metric, -1 AS n FROM old_rows AS rows
        JOIN job ON job.id = rows.job_id WHERE rows.late = 1) AS rows GROUP BY dataset_id, metric HAVING sum(n) <> 0 ON CONFLICT (dataset_id, metric, slot) DO UPDATE SET n = counter_slot.n + excluded.n;
    RETURN NULL; END $body$
--;
CREATE TRIGGER response_delete AFTER DELETE ON response REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION response_delete_counts()
--;
CREATE FUNCTION failure_insert_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN INSERT INTO worker_minute_slot (worker_id, minute, bodies, failed, slot) SELECT worker_id, minute, sum(bodies), sum(failed), mine FROM (SELECT worker_id, at_ms / 60000 AS minute, 0 AS bodies, 1 AS failed FROM new_rows WHERE worker_id IS NOT NULL) AS rows GROUP BY worker_id, minute HAVING sum(bodies) <> 0 OR sum(failed) <> 0 ON CONFLICT (worker_id, minute, slot) DO UPDATE SET bodies = worker_minute_slot.bodies + excluded.bodies, failed = worker_minute_slot.failed + excluded.failed; RETURN NULL; END $body$
--;
CREATE TRIGGER failure_insert AFTER INSERT ON failure REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION failure_insert_counts()
--;
CREATE FUNCTION failure_delete_counts() RETURNS trigger LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE mine BIGINT := my_slot(); BEGIN 
    INSERT INTO worker_minute_slot (worker_id, minute, bodies, failed, slot) SELECT worker_id, minute, sum(bodies), sum(failed), mine FROM (SELECT worker_id, at_ms / 60000 AS minute, 0 AS bodies, -1 AS failed FROM old_rows WHERE worker_id IS NOT NULL) AS rows GROUP BY worker_id, minute HAVING sum(bodies) <> 0 OR sum(failed) <> 0 ON CONFLICT (worker_id, minute, slot) DO UPDATE SET bodies = worker_minute_slot.bodies + excluded.bodies, failed = worker_minute_slot.failed + excluded.failed;
    UPDATE failure_group SET attempts = attempts - gone.n FROM
        (SELECT group_id, count(*) AS n FROM old_rows GROUP BY group_id ORDER BY group_id) AS gone
        WHERE failure_group.id = gone.group_id;
    RETURN NULL; END $body$
--;
CREATE TRIGGER failure_delete AFTER DELETE ON failure REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION failure_delete_counts()
--;
CREATE VIEW answer AS
SELECT dataset.name AS dataset, job.sample_id, job.replica, response.turn, response.id AS response_id,
    response.codec, response.raw, reading.text_form, reading.reasoning, reading.content,
    reading.verdict, reading.finish_reason, reading.flags, reading.loss_flags, reading.usage
FROM job
JOIN dataset ON dataset.id = job.dataset_id
JOIN response ON response.job_id = job.id AND response.accepted_seq IS NOT NULL AND response.superseded_seq IS NULL
JOIN reading ON reading.response_id = response.id
    AND reading.seq = (SELECT max(seq) FROM reading AS newest WHERE newest.response_id = response.id)