-- Keeps decisions, reveals and the audit log append-only: no row is ever changed or removed, with one exception.
-- The decisions and reveals of a run are removed with the run (`run_deletion.sql`). The audit log is never removed.
-- The ratings of a gold set are never changed, but go with their set.
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
CREATE TRIGGER gold_rating_is_unchangeable BEFORE UPDATE ON gold_rating
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
