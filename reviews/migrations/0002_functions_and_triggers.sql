-- Says whether the task context of a run has the answer that a model gave to a task.
-- Read by search/hidden_records.py. Takes the same context and answer as evidence/task_context.py.
CREATE FUNCTION answered_by_context(of_run bigint, of_task text, of_model text, of_response text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((
        SELECT has_answer(task_answer.response)
        FROM (
            SELECT id FROM task_context WHERE task_id = of_task AND (run_id = of_run OR run_id IS NULL)
            ORDER BY run_id NULLS LAST LIMIT 1
        ) context JOIN task_answer ON context_id = context.id
        WHERE model_id = of_model
          AND (of_response IS NULL OR response_id IS NULL OR response_id = of_response)
        ORDER BY response_id IS NULL, response_id COLLATE "C" LIMIT 1
    ), false)
$$;

-- Keeps decisions, reveals and the audit log append-only: no row is ever changed or removed, with one exception.
-- The decisions and reveals of a run are removed with the run (`run_deletion.sql`). The audit log is never removed.
-- Fired by every UPDATE, DELETE and TRUNCATE on these tables.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;

-- Lets a row go if its run is to be deleted (`runs/deletion.py`).
CREATE FUNCTION refuse_removal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_run bigint;
BEGIN
    CASE
        WHEN TG_TABLE_NAME IN ('review', 'reveal') THEN
            of_run := OLD.run_id;
        WHEN TG_TABLE_NAME = 'blind_scores' THEN
            SELECT run_id INTO of_run FROM evaluation WHERE id = OLD.evaluation_id;
        ELSE
            SELECT run_id INTO of_run FROM review WHERE id = OLD.review_id;
    END CASE;
    IF EXISTS (SELECT FROM run WHERE id = of_run AND deletion_requested_at IS NOT NULL) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER audit_event_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_seal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER review_is_append_only BEFORE UPDATE OR TRUNCATE ON review
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER review_is_removed_with_run BEFORE DELETE ON review
    FOR EACH ROW EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER withdrawal_is_append_only BEFORE UPDATE OR TRUNCATE ON withdrawal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER withdrawal_is_removed_with_run BEFORE DELETE ON withdrawal
    FOR EACH ROW EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER overturn_is_append_only BEFORE UPDATE OR TRUNCATE ON overturn
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER overturn_is_removed_with_run BEFORE DELETE ON overturn
    FOR EACH ROW EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER blind_scores_are_append_only BEFORE UPDATE OR TRUNCATE ON blind_scores
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER blind_scores_are_removed_with_run BEFORE DELETE ON blind_scores
    FOR EACH ROW EXECUTE FUNCTION refuse_removal();
CREATE TRIGGER reveal_is_append_only BEFORE UPDATE OR TRUNCATE ON reveal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reveal_is_removed_with_run BEFORE DELETE ON reveal
    FOR EACH ROW EXECUTE FUNCTION refuse_removal();

-- Seals each audit event into a chain of hashes when its transaction commits.
-- Fired by every INSERT into audit_event; writes audit_seal. Read by audit/log.py and verify_audit.

-- The text whose hash is sealed. audit/log.py has the same expression, and a test compares the two.
-- Temporary tables come last in the search path, so that none of them can replace ours.
CREATE FUNCTION audit_event_text(event audit_event) RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT jsonb_build_object(
        'id', event.id, 'at', to_char(event.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'actor', event.actor_id, 'actor_name', event.actor_name, 'action', event.action,
        'run', event.run_id, 'run_name', event.run_name, 'import', event.source_id,
        'evaluation', event.evaluation_id, 'record', event.record, 'detail', event.detail
    )::text
$$;

-- SECURITY DEFINER: only the owner of the tables may write seals, while the web role may add events.
CREATE FUNCTION seal_audit_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    head audit_seal;
    before bytea;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'audit events need a READ COMMITTED transaction: other levels may see an old chain head'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock(7201735);
    SELECT * INTO head FROM audit_seal ORDER BY position DESC LIMIT 1;
    before := coalesce(head.hash, decode(repeat('00', 32), 'hex'));
    INSERT INTO audit_seal (position, event_id, previous, hash) VALUES (
        coalesce(head.position, 0) + 1, NEW.id, before,
        sha256(before || sha256(convert_to(audit_event_text(NEW), 'UTF8')))
    );
    RETURN NULL;
END $$;

-- Nobody else can attach this function to a table of their own.
REVOKE ALL ON FUNCTION seal_audit_event() FROM PUBLIC;

-- Deferred, so that the chain head is locked only from the end of the transaction to its commit.
CREATE CONSTRAINT TRIGGER audit_event_is_sealed AFTER INSERT ON audit_event
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION seal_audit_event();

-- Adds a SHA-256 over place and content to each stored frame of a source file or an export.
-- Fired by every INSERT into source_chunk and export_part. Read by storage and exports, which compare it.
CREATE FUNCTION digest_source_chunk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.digest := sha256(int8send(NEW.source_id) || int4send(NEW.number) || int8send(NEW.first_line)
                         || int4send(NEW.lines) || int4send(NEW.size) || NEW.frame);
    RETURN NEW;
END $$;
CREATE TRIGGER source_chunk_has_digest BEFORE INSERT ON source_chunk
    FOR EACH ROW WHEN (NEW.digest IS NULL) EXECUTE FUNCTION digest_source_chunk();

CREATE FUNCTION digest_export_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.digest := sha256(int8send(NEW.export_id) || convert_to(NEW.kind, 'UTF8') || int4send(NEW.number)
                         || NEW.frame);
    RETURN NEW;
END $$;
CREATE TRIGGER export_part_has_digest BEFORE INSERT ON export_part
    FOR EACH ROW WHEN (NEW.digest IS NULL) EXECUTE FUNCTION digest_export_part();

-- Numbers the finished imports of a run, in the order in which they commit. Never depends on a clock.
-- Fired by every INSERT and UPDATE of import. Read by exports, which write the files in this order.
CREATE FUNCTION number_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.sequence IS NOT NULL THEN
        NEW.sequence := OLD.sequence;
    ELSIF NEW.state <> 'done' THEN
        NEW.sequence := NULL;
    ELSIF NEW.sequence IS NULL THEN
        -- Lock.IMPORT lets one import at a time get here. Without it, the unique constraint refuses the second.
        SELECT coalesce(max(sequence), 0) + 1 INTO NEW.sequence FROM import WHERE run_id = NEW.run_id;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER import_is_numbered BEFORE INSERT OR UPDATE ON import
    FOR EACH ROW EXECUTE FUNCTION number_import();

-- Keeps the sums over current decisions that the judge's figures are computed from: judged_count (the judge's
-- score against the human's), reason_count (what flag reasons led to) and cause_mention (causes named).
-- Fired when evaluation.review_id changes: the previous decision is subtracted and the current one added, in
-- one statement that locks the counts in the order of their keys. Read by the judge package.
CREATE FUNCTION count_judged(previous bigint, current bigint) RETURNS void LANGUAGE sql AS $$
    WITH counted AS (
        SELECT review.*, CASE WHEN id = current THEN 1 ELSE -1 END AS sign
        FROM review WHERE id IN (previous, current) AND judged IS NOT NULL AND stratum_id IS NOT NULL
    ), cell AS (
        SELECT stratum_id, reviewer_id, left(key, 200) AS criterion, blind_scores IS NOT NULL AS is_blind,
               is_sampled, left(value::text, 200) AS judge,
               left(CASE WHEN blind_scores IS NULL THEN corrected_scores -> key -> 'score'
                         ELSE blind_scores -> key END::text, 200) AS human,
               left((corrected_scores -> key -> 'score')::text, 200) AS final, sign
        FROM counted CROSS JOIN LATERAL jsonb_each(judged)
        UNION ALL
        SELECT stratum_id, reviewer_id, NULL, blind_scores IS NOT NULL, is_sampled, judged_verdict,
               CASE WHEN blind_scores IS NULL THEN verdict ELSE blind_verdict END, verdict, sign
        FROM counted
    )
    INSERT INTO judged_count
        (stratum_id, reviewer_id, criterion, is_blind, is_sampled, judge, human, final, reviews)
    SELECT stratum_id, reviewer_id, criterion, is_blind, is_sampled, judge, human, final, sum(sign)
    FROM cell GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 HAVING sum(sign) <> 0 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
    ON CONFLICT (stratum_id, reviewer_id, criterion, is_blind, is_sampled, judge, human, final)
        DO UPDATE SET reviews = judged_count.reviews + excluded.reviews
$$;

CREATE FUNCTION count_reasons(previous bigint, current bigint) RETURNS void LANGUAGE sql AS $$
    WITH counted AS (
        SELECT review.*, family, CASE WHEN id = current THEN 1 ELSE -1 END AS sign
        FROM review CROSS JOIN LATERAL unnest(families) AS found (family) WHERE id IN (previous, current)
    )
    INSERT INTO reason_count AS sums (
        run_id, reviewer_id, family, reviews, compared, changed, verdicts, verdict_changed, timed, active_ms
    )
    SELECT run_id, reviewer_id, family, sum(sign),
           sum(CASE WHEN changes IS NOT NULL THEN sign ELSE 0 END),
           sum(CASE WHEN changes > 0 THEN sign ELSE 0 END),
           sum(CASE WHEN verdict IS NOT NULL AND judged_verdict IS NOT NULL THEN sign ELSE 0 END),
           sum(CASE WHEN verdict <> judged_verdict THEN sign ELSE 0 END),
           sum(CASE WHEN active_ms IS NOT NULL THEN sign ELSE 0 END), sum(coalesce(active_ms, 0)::bigint * sign)
    FROM counted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (run_id, reviewer_id, family) DO UPDATE SET
        reviews = sums.reviews + excluded.reviews,
        compared = sums.compared + excluded.compared,
        changed = sums.changed + excluded.changed,
        verdicts = sums.verdicts + excluded.verdicts,
        verdict_changed = sums.verdict_changed + excluded.verdict_changed,
        timed = sums.timed + excluded.timed,
        active_ms = sums.active_ms + excluded.active_ms
$$;

CREATE FUNCTION list_causes(previous bigint, current bigint) RETURNS void LANGUAGE sql AS $$
    DELETE FROM cause_mention WHERE review_id = previous;
    INSERT INTO cause_mention (review_id, run_id, stratum_id, criterion, cause)
    SELECT id, run_id, stratum_id, key, value FROM review CROSS JOIN LATERAL jsonb_each_text(causes)
    WHERE id = current;
$$;

CREATE FUNCTION count_current_decision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_judged(OLD.review_id, NEW.review_id);
    PERFORM count_reasons(OLD.review_id, NEW.review_id);
    PERFORM list_causes(OLD.review_id, NEW.review_id);
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_decided AFTER UPDATE OF review_id ON evaluation
    FOR EACH ROW WHEN (OLD.review_id IS DISTINCT FROM NEW.review_id) EXECUTE FUNCTION count_current_decision();

-- Keeps criterion_day: scores judged and overridden, per run, reviewer, day (UTC) and criterion.
-- Fired by every INSERT into review and withdrawal. Read by the dashboard.
CREATE FUNCTION count_overrides(counted review, sign int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO criterion_day (run_id, reviewer_id, day, criterion, judged, overridden)
    SELECT counted.run_id, counted.reviewer_id, (counted.submitted_at AT TIME ZONE 'UTC')::date, name,
           sign * count(*),
           sign * count(*) FILTER (WHERE counted.corrected_scores -> key -> 'score' IS DISTINCT FROM score)
    FROM (SELECT left(key, 200) AS name, key, value AS score FROM jsonb_each(counted.judged)) judged
    GROUP BY name ORDER BY name
    ON CONFLICT (run_id, reviewer_id, day, criterion) DO UPDATE SET
        judged = criterion_day.judged + excluded.judged,
        overridden = criterion_day.overridden + excluded.overridden
$$;

CREATE FUNCTION count_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_overrides(NEW, 1);
    RETURN NULL;
END $$;
CREATE TRIGGER review_counted AFTER INSERT ON review
    FOR EACH ROW WHEN (NEW.judged IS NOT NULL) EXECUTE FUNCTION count_review();

CREATE FUNCTION count_withdrawal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_overrides(review, -1) FROM review WHERE id = NEW.review_id AND judged IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER withdrawal_counted AFTER INSERT ON withdrawal
    FOR EACH ROW EXECUTE FUNCTION count_withdrawal();

-- Keeps run_count, the number of records per run and status, and notes in queue_filled which transactions
-- added records to a queue. Fired by every INSERT, UPDATE and DELETE on evaluation.
-- Read by queue/progress.py and webhooks/deliveries.py.

-- A count is spread over several rows. Concurrent transactions each lock another row, and none waits.
CREATE FUNCTION count_evaluations(run bigint, counted text, change bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run_count SET evaluations = evaluations + change
    WHERE id = (
        SELECT id FROM run_count WHERE run_id = run AND status = counted LIMIT 1 FOR UPDATE SKIP LOCKED
    );
    IF NOT FOUND THEN
        INSERT INTO run_count (run_id, status, evaluations) VALUES (run, counted, change);
    END IF;
    IF change > 0 AND counted IN ('Needs Review', 'Pending') THEN
        INSERT INTO queue_filled (run_id, transaction) VALUES (run, pg_current_xact_id()::text::bigint)
        ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- The triggers fire once per statement. Once per row, each change within a transaction would leave a dead row
-- version for the next one to skip: an UPDATE of 150,000 records did not end within 25 minutes.
CREATE FUNCTION count_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, human_review_status, count(*))
    FROM inserted GROUP BY run_id, human_review_status;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_inserted AFTER INSERT ON evaluation
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION count_inserted();

CREATE FUNCTION count_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, human_review_status, -count(*))
    FROM deleted GROUP BY run_id, human_review_status;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_deleted AFTER DELETE ON evaluation
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION count_deleted();

CREATE FUNCTION count_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, human_review_status, sum(change)::bigint)
    FROM (
        SELECT run_id, human_review_status, -1 AS change FROM before
        UNION ALL SELECT run_id, human_review_status, 1 FROM after
    ) changed
    GROUP BY run_id, human_review_status HAVING sum(change) <> 0;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_updated AFTER UPDATE ON evaluation
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION count_updated();

-- Storage settings of tables.

-- Each claim and each decision leaves a dead row version at the front of the queue. With the defaults these are
-- removed only once a fifth of the table is dead, and every request for the next record would read them.
ALTER TABLE evaluation SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- Uncompressed: importing is faster, and frames and parts are compressed already.
ALTER TABLE evaluation
    ALTER COLUMN extra SET STORAGE EXTERNAL,
    ALTER COLUMN extracted_scores SET STORAGE EXTERNAL,
    ALTER COLUMN human_corrected_scores SET STORAGE EXTERNAL,
    ALTER COLUMN parsed_rubric_scores SET STORAGE EXTERNAL,
    ALTER COLUMN raw_judge_output SET STORAGE EXTERNAL,
    ALTER COLUMN review_reasons SET STORAGE EXTERNAL,
    ALTER COLUMN structured_ideal_response SET STORAGE EXTERNAL,
    ALTER COLUMN structured_model_response SET STORAGE EXTERNAL,
    ALTER COLUMN task_context SET STORAGE EXTERNAL;
ALTER TABLE source_chunk ALTER COLUMN frame SET STORAGE EXTERNAL;
ALTER TABLE upload_part ALTER COLUMN data SET STORAGE EXTERNAL;

-- The table of Django's database cache, as `createcachetable` makes it.
CREATE TABLE cache (
    cache_key varchar(255) PRIMARY KEY,
    value text NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX cache_expires ON cache (expires);

-- Keeps usernames as they are: they are the human_reviewer_id of exported records.
-- Fired by every UPDATE of a person that changes the username.
CREATE FUNCTION refuse_new_username() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a username cannot be changed: records and files name %', OLD.username
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER person_keeps_username BEFORE UPDATE ON person
    FOR EACH ROW WHEN (OLD.username IS DISTINCT FROM NEW.username) EXECUTE FUNCTION refuse_new_username();

-- Sets evaluation.was_shown once a record leaves the queue: everybody may then read the judge's output, so
-- the record is blind for nobody if it returns. Fired by UPDATEs of evaluation. Read by review/blind_scoring.py.
-- A random sample that returns to "Not Required" without a decision is an exception: it may be sampled again,
-- and must not differ from flagged records then.
CREATE FUNCTION mark_as_shown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.was_shown := true;
    RETURN NEW;
END $$;

CREATE TRIGGER evaluation_was_shown BEFORE UPDATE ON evaluation FOR EACH ROW
    WHEN (NOT OLD.was_shown AND (
        OLD.review_id IS NOT NULL
        OR OLD.human_review_status IN ('Completed', 'Reviewed')
        OR (OLD.human_review_status IN ('Needs Review', 'Pending')
            AND NEW.human_review_status NOT IN ('Needs Review', 'Pending')
            AND NOT (OLD.is_sampled AND NOT NEW.is_sampled AND NEW.review_id IS NULL))
    ))
    EXECUTE FUNCTION mark_as_shown();

-- Removes everything of a run whose deletion was requested. Called by runs/deletion.py.
-- The functions run as the owner of the tables, because the role of web servers and workers cannot delete decisions.
-- A test compares the tables with the foreign keys of the database.
CREATE FUNCTION check_deletion_requested(of_run bigint) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM run WHERE id = of_run AND deletion_requested_at IS NOT NULL) THEN
        RAISE EXCEPTION 'the deletion of run % was not requested', of_run USING ERRCODE = 'restrict_violation';
    END IF;
END $$;

-- Deletes at most `most` records of the run with all rows about them. Returns the number of records.
CREATE FUNCTION delete_run_records(of_run bigint, most int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    records bigint[];
    reviews bigint[];
BEGIN
    PERFORM check_deletion_requested(of_run);
    records := ARRAY(SELECT id FROM evaluation WHERE run_id = of_run LIMIT most);
    reviews := ARRAY(SELECT id FROM review WHERE evaluation_id = ANY(records));
    DELETE FROM withdrawal WHERE review_id = ANY(reviews);
    DELETE FROM overturn WHERE review_id = ANY(reviews);
    DELETE FROM spot_check WHERE review_id = ANY(reviews);
    DELETE FROM cause_mention WHERE review_id = ANY(reviews);
    DELETE FROM independent_review WHERE review_id = ANY(reviews);
    DELETE FROM blind_scores WHERE evaluation_id = ANY(records);
    DELETE FROM reveal WHERE run_id = of_run AND evaluation_id = ANY(records);
    DELETE FROM draft WHERE evaluation_id = ANY(records);
    DELETE FROM skip WHERE evaluation_id = ANY(records);
    DELETE FROM escalation WHERE evaluation_id = ANY(records);
    DELETE FROM bulk_change_item WHERE evaluation_id = ANY(records);
    DELETE FROM import_line WHERE evaluation_id = ANY(records);
    DELETE FROM evaluation_facets WHERE evaluation_id = ANY(records);
    DELETE FROM evaluation_words WHERE evaluation_id = ANY(records);
    -- One statement, because records and decisions refer to each other.
    WITH decisions AS (DELETE FROM review WHERE id = ANY(reviews)),
         conflicts AS (DELETE FROM file_conflict WHERE evaluation_id = ANY(records))
    DELETE FROM evaluation WHERE id = ANY(records);
    RETURN cardinality(records);
END $$;

-- Deletes a run without records.
CREATE FUNCTION delete_run(of_run bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM check_deletion_requested(of_run);
    DELETE FROM unindexed_import USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM upload_part USING upload, import
        WHERE upload_id = upload.id AND source_id = import.id AND run_id = of_run;
    DELETE FROM upload USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM export_part USING export WHERE export_id = export.id AND run_id = of_run;
    DELETE FROM export_progress USING export WHERE export_id = export.id AND run_id = of_run;
    DELETE FROM export WHERE run_id = of_run;
    DELETE FROM source_chunk USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import_line USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import_sums USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import_progress USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import WHERE run_id = of_run;
    DELETE FROM task_answer USING task_context WHERE context_id = task_context.id AND run_id = of_run;
    DELETE FROM task_context WHERE run_id = of_run;
    DELETE FROM context_import WHERE run_id = of_run;
    DELETE FROM webhook_attempt USING webhook_delivery, webhook
        WHERE delivery_id = webhook_delivery.id AND webhook_id = webhook.id
          AND of_run IN (webhook_delivery.run_id, webhook.run_id);
    DELETE FROM webhook_delivery USING webhook
        WHERE webhook_id = webhook.id AND of_run IN (webhook_delivery.run_id, webhook.run_id);
    DELETE FROM webhook WHERE run_id = of_run;
    DELETE FROM judged_count USING stratum WHERE stratum_id = stratum.id AND run_id = of_run;
    DELETE FROM stratum_count USING stratum WHERE stratum_id = stratum.id AND run_id = of_run;
    DELETE FROM stratum WHERE run_id = of_run;
    DELETE FROM reason_count WHERE run_id = of_run;
    DELETE FROM criterion_day WHERE run_id = of_run;
    DELETE FROM agreement_pattern WHERE run_id = of_run;
    DELETE FROM facet_count WHERE run_id = of_run;
    DELETE FROM run_facet WHERE run_id = of_run;
    DELETE FROM reveal WHERE run_id = of_run;
    DELETE FROM bulk_change WHERE run_id = of_run;
    DELETE FROM saved_view WHERE run_id = of_run;
    DELETE FROM guideline WHERE run_id = of_run;
    DELETE FROM run_member WHERE run_id = of_run;
    DELETE FROM queue_filled WHERE run_id = of_run;
    DELETE FROM run_count WHERE run_id = of_run;
    DELETE FROM run WHERE id = of_run;
END $$;

REVOKE ALL ON FUNCTION delete_run_records(bigint, int), delete_run(bigint) FROM PUBLIC;

-- Returns the judge's scores of a record, {criterion: score}: those that the pipeline parsed, or else those extracted
-- from the raw output. Long texts are cut, and a list or object as a score is empty, so that the result is small.
-- Called by lists of records (search/verdicts.py). Keep it equal to indexing.judged_criteria in Python.
CREATE FUNCTION judged_scores(parsed jsonb, extracted jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_object_agg(criterion, CASE jsonb_typeof(score)
        WHEN 'string' THEN to_jsonb(left(score #>> '{}', 1000))
        WHEN 'object' THEN '{}'
        WHEN 'array' THEN '[]'
        ELSE coalesce(score, 'null')
    END)
    FROM (
        SELECT key AS criterion, CASE jsonb_typeof(value) WHEN 'object' THEN value -> 'score' ELSE value END AS score
        FROM jsonb_each(parsed)
        UNION ALL
        SELECT proposal ->> 'criterion', proposal -> 'score'
        FROM jsonb_array_elements(extracted -> 'proposals') AS proposal
        WHERE parsed = '{}'
    ) AS judged
$$;
