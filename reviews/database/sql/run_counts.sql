-- Keeps run_count, the number of records per run and counted_status, and notes in queue_filled which transactions
-- added records to a queue. Fired by every INSERT, UPDATE and DELETE on evaluation.
-- Read by queue/progress.py and webhooks/deliveries.py.

-- The human_review_status, but "Confirmed" for a random sample that a decision left "Not Required": it is done.
CREATE FUNCTION counted_status(status text, is_sampled boolean, review bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN status = 'Not Required' AND is_sampled AND review IS NOT NULL THEN 'Confirmed' ELSE status END
$$;

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
    PERFORM count_evaluations(run_id, status, count(*))
    FROM (SELECT run_id, counted_status(human_review_status, is_sampled, review_id) AS status FROM inserted) counted
    GROUP BY run_id, status;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_inserted AFTER INSERT ON evaluation
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION count_inserted();

CREATE FUNCTION count_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, status, -count(*))
    FROM (SELECT run_id, counted_status(human_review_status, is_sampled, review_id) AS status FROM deleted) counted
    GROUP BY run_id, status;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_deleted AFTER DELETE ON evaluation
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION count_deleted();

CREATE FUNCTION count_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, status, sum(change)::bigint)
    FROM (
        SELECT run_id, counted_status(human_review_status, is_sampled, review_id) AS status, -1 AS change FROM before
        UNION ALL SELECT run_id, counted_status(human_review_status, is_sampled, review_id), 1 FROM after
    ) changed
    GROUP BY run_id, status HAVING sum(change) <> 0;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_updated AFTER UPDATE ON evaluation
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION count_updated();
