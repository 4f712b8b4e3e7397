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
