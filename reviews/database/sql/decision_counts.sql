-- Keeps sums over the decisions of decided records: reason_count (the time that reviews of records with a flag reason took) and
-- cause_mention (causes named).
-- Fired when the counted decision of a record changes (`counted_decision.sql`): the previous one is subtracted and the
-- current one added, in one statement that locks the sums in the order of their keys. Read by the judge package.
CREATE FUNCTION count_reasons(previous bigint, current bigint) RETURNS void LANGUAGE sql AS $$
    WITH counted AS (
        SELECT review.*, family, CASE WHEN id = current THEN 1 ELSE -1 END AS sign
        FROM review CROSS JOIN LATERAL unnest(families) AS found (family) WHERE id IN (previous, current)
    )
    INSERT INTO reason_count AS sums (run_id, reviewer_id, family, reviews, timed, active_ms)
    SELECT run_id, reviewer_id, family, sum(sign),
           sum(CASE WHEN active_ms IS NOT NULL THEN sign ELSE 0 END), sum(coalesce(active_ms, 0)::bigint * sign)
    FROM counted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (run_id, reviewer_id, family) DO UPDATE SET
        reviews = sums.reviews + excluded.reviews,
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
DECLARE
    previous bigint := counted_decision(OLD.review_id, OLD.human_review_status);
    current bigint := counted_decision(NEW.review_id, NEW.human_review_status);
BEGIN
    PERFORM count_reasons(previous, current);
    PERFORM list_causes(previous, current);
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_decided AFTER UPDATE OF review_id, human_review_status ON evaluation
    FOR EACH ROW WHEN (
        counted_decision(OLD.review_id, OLD.human_review_status)
        IS DISTINCT FROM counted_decision(NEW.review_id, NEW.human_review_status)
    ) EXECUTE FUNCTION count_current_decision();
