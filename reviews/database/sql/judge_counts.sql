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
