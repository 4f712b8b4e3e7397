"""The next record is found at once, however many before it are held, and a reviewer's last review too."""

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

# Each claim and each decision leaves a dead row version at the front of the queue. The default waits until a
# fifth of the table is dead, and whoever asks for the next record walks over them until then.
VACUUM = (
    "ALTER TABLE evaluation SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)"
)
NO_VACUUM = "ALTER TABLE evaluation RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold)"

# For each statement, not for each row: within one transaction every change of a count leaves a dead version that
# the next one walks over, and an UPDATE that moved 150,000 records was not done after 25 minutes.
COUNT_STATEMENTS = """
DROP TRIGGER evaluation_moved ON evaluation;
CREATE OR REPLACE FUNCTION count_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(run_id, human_review_status, sum(change)::bigint)
    FROM (
        SELECT run_id, human_review_status, -1 AS change FROM before
        UNION ALL SELECT run_id, human_review_status, 1 FROM after
    ) moved
    GROUP BY run_id, human_review_status HAVING sum(change) <> 0;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_moved AFTER UPDATE ON evaluation
    REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION count_moved();
"""
COUNT_ROWS = """
DROP TRIGGER evaluation_moved ON evaluation;
CREATE OR REPLACE FUNCTION count_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_evaluations(OLD.run_id, OLD.human_review_status, -1);
    PERFORM count_evaluations(NEW.run_id, NEW.human_review_status, 1);
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_moved AFTER UPDATE OF human_review_status, run_id ON evaluation FOR EACH ROW
    WHEN (OLD.human_review_status <> NEW.human_review_status OR OLD.run_id <> NEW.run_id)
    EXECUTE FUNCTION count_moved();
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0009_lists")]

    operations = [
        migrations.RemoveIndex(model_name="evaluation", name="evaluation_queue_order"),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("assigned_to"),
                models.OrderBy(models.F("priority"), descending=True),
                django.db.models.functions.text.Length("task_id"),
                models.F("task_id"),
                models.F("model_id"),
                models.F("id"),
                condition=models.Q(
                    ("claimed_by__isnull", True),
                    ("human_review_status__in", ("Needs Review", "Pending")),
                    ("is_escalated", False),
                ),
                name="evaluation_queue_order",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("claimed_until"),
                condition=models.Q(("claimed_by__isnull", False)),
                name="evaluation_held",
            ),
        ),
        migrations.AlterField(
            model_name="review",
            name="reviewer",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["reviewer", "id"], name="review_by_reviewer"),
        ),
        migrations.RunSQL(VACUUM, NO_VACUUM),
        migrations.RunSQL(COUNT_STATEMENTS, COUNT_ROWS),
    ]
