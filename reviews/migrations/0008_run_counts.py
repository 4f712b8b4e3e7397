"""The evaluations of each run are counted by status, in the transaction that changes them."""

from django.db import migrations

# Each change goes to the first row that nobody has locked, a new one if there is none: reviewers wait neither
# for each other nor for an import, and there are as many rows as there were people at once.
COUNT = """
CREATE FUNCTION count_evaluations(run bigint, counted text, change bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE run_count SET evaluations = evaluations + change
    WHERE id = (
        SELECT id FROM run_count WHERE run_id = run AND status = counted LIMIT 1 FOR UPDATE SKIP LOCKED
    );
    IF NOT FOUND THEN
        INSERT INTO run_count (run_id, status, evaluations) VALUES (run, counted, change);
    END IF;
END $$;

CREATE FUNCTION count_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, human_review_status, count(*))
    FROM inserted GROUP BY run_id, human_review_status;
    RETURN NULL;
END $$;

CREATE FUNCTION count_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, human_review_status, -count(*))
    FROM deleted GROUP BY run_id, human_review_status;
    RETURN NULL;
END $$;

CREATE FUNCTION count_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(OLD.run_id, OLD.human_review_status, -1);
    PERFORM count_evaluations(NEW.run_id, NEW.human_review_status, 1);
    RETURN NULL;
END $$;

CREATE TRIGGER evaluation_inserted AFTER INSERT ON evaluation
    REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION count_inserted();
CREATE TRIGGER evaluation_deleted AFTER DELETE ON evaluation
    REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION count_deleted();
CREATE TRIGGER evaluation_moved AFTER UPDATE OF human_review_status, run_id ON evaluation FOR EACH ROW
    WHEN (OLD.human_review_status <> NEW.human_review_status OR OLD.run_id <> NEW.run_id)
    EXECUTE FUNCTION count_moved();

INSERT INTO run_count (run_id, status, evaluations)
SELECT run_id, human_review_status, count(*) FROM evaluation GROUP BY run_id, human_review_status;
"""
UNCOUNT = """
DROP TRIGGER evaluation_inserted ON evaluation;
DROP TRIGGER evaluation_deleted ON evaluation;
DROP TRIGGER evaluation_moved ON evaluation;
DROP FUNCTION count_inserted, count_deleted, count_moved, count_evaluations;
TRUNCATE run_count;
"""
PROTECT = """
CREATE TRIGGER withdrawal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON withdrawal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
UNPROTECT = "DROP TRIGGER withdrawal_is_append_only ON withdrawal;"


class Migration(migrations.Migration):
    dependencies = [("reviews", "0007_review_workspace")]

    operations = [migrations.RunSQL(COUNT, UNCOUNT), migrations.RunSQL(PROTECT, UNPROTECT)]
