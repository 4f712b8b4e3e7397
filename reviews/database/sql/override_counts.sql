-- Keeps criterion_day: scores judged and overridden, per run, reviewer, day (UTC) and criterion.
-- Fired by every INSERT into review and withdrawal. Read by the dashboard.
CREATE FUNCTION count_overrides(counted review, sign int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO criterion_day (run_id, reviewer_id, day, criterion, judged, overridden)
    SELECT counted.run_id, counted.reviewer_id, (counted.submitted_at AT TIME ZONE 'UTC')::date, name,
           sign * count(*),
           sign * count(*) FILTER (WHERE key = ANY(counted.overridden))
    FROM (SELECT left(key, 200) AS name, key FROM jsonb_object_keys(counted.judged) AS key) judged
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
