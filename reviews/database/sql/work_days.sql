-- Keeps reviewer_day (decisions per run, reviewer and UTC day) and record_day (records by the reviewer and day of their
-- current decision).
-- Fired by every INSERT into review and withdrawal, and when evaluation.review_id changes. Read by the dashboard.
CREATE FUNCTION count_work_day(counted review, sign int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO reviewer_day (run_id, reviewer_id, day, decisions, changed)
    VALUES (
        counted.run_id, counted.reviewer_id, (counted.submitted_at AT TIME ZONE 'UTC')::date, sign,
        CASE WHEN counted.changes > 0 THEN sign ELSE 0 END
    )
    ON CONFLICT (day, run_id, reviewer_id) DO UPDATE SET
        decisions = reviewer_day.decisions + excluded.decisions,
        changed = reviewer_day.changed + excluded.changed
$$;

CREATE FUNCTION count_decision_of_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_work_day(NEW, 1);
    RETURN NULL;
END $$;
CREATE TRIGGER review_counted_by_day AFTER INSERT ON review
    FOR EACH ROW WHEN (NEW.origin = 'reviewer') EXECUTE FUNCTION count_decision_of_day();

CREATE FUNCTION count_withdrawal_of_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_work_day(review, -1) FROM review WHERE id = NEW.review_id AND origin = 'reviewer';
    RETURN NULL;
END $$;
CREATE TRIGGER withdrawal_counted_by_day AFTER INSERT ON withdrawal
    FOR EACH ROW EXECUTE FUNCTION count_withdrawal_of_day();

-- One statement locks both rows in the order of their keys. A table of its own: a transaction that revises somebody
-- else's decision has already locked its own row of reviewer_day.
CREATE FUNCTION count_records_of_day(previous bigint, current bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO record_day (run_id, reviewer_id, day, records)
    SELECT run_id, reviewer_id, (submitted_at AT TIME ZONE 'UTC')::date,
           sum(CASE WHEN id = current THEN 1 ELSE -1 END)
    FROM review WHERE id IN (previous, current) AND origin = 'reviewer'
    GROUP BY 1, 2, 3 HAVING sum(CASE WHEN id = current THEN 1 ELSE -1 END) <> 0 ORDER BY 3, 1, 2
    ON CONFLICT (day, run_id, reviewer_id) DO UPDATE SET records = record_day.records + excluded.records
$$;

CREATE FUNCTION count_current_decision_of_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_records_of_day(OLD.review_id, NEW.review_id);
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_decided_on_day AFTER UPDATE OF review_id ON evaluation
    FOR EACH ROW WHEN (OLD.review_id IS DISTINCT FROM NEW.review_id)
    EXECUTE FUNCTION count_current_decision_of_day();
