"""What a review was compared with, counts by criterion and day, overturned decisions, spot checks."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# Reviews and withdrawals only ever come, so these two triggers see all that changes the sums. The rows of a
# reviewer are written by their own decisions, one criterion after the other in the same order: two windows of
# theirs wait for each other and never both.
COUNT = """
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

CREATE FUNCTION count_withdrawal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_overrides(review, -1) FROM review WHERE id = NEW.review_id AND judged IS NOT NULL;
    RETURN NULL;
END $$;

CREATE TRIGGER review_counted AFTER INSERT ON review FOR EACH ROW
    WHEN (NEW.judged IS NOT NULL) EXECUTE FUNCTION count_review();
CREATE TRIGGER withdrawal_counted AFTER INSERT ON withdrawal FOR EACH ROW EXECUTE FUNCTION count_withdrawal();
"""
UNCOUNT = """
DROP TRIGGER review_counted ON review;
DROP TRIGGER withdrawal_counted ON withdrawal;
DROP FUNCTION count_review, count_withdrawal, count_overrides;
"""
PROTECT = """
CREATE TRIGGER overturning_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON overturning
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
UNPROTECT = "DROP TRIGGER overturning_is_append_only ON overturning;"
# What was there before: its run is that of the record, and nothing else of it changes.
FILL_RUN = """
ALTER TABLE review DISABLE TRIGGER review_is_append_only;
UPDATE review SET run_id = evaluation.run_id FROM evaluation WHERE evaluation.id = review.evaluation_id;
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE review ENABLE TRIGGER review_is_append_only;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0012_ledger"),
    ]

    operations = [
        migrations.CreateModel(
            name="CriterionDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField(help_text="In UTC.")),
                ("criterion", models.TextField()),
                (
                    "judged",
                    models.BigIntegerField(help_text="How many of the reviews had a score by the judge."),
                ),
                (
                    "overridden",
                    models.BigIntegerField(
                        help_text="In how many of those the human's differs or is missing."
                    ),
                ),
            ],
            options={
                "db_table": "criterion_day",
            },
        ),
        migrations.CreateModel(
            name="Overturning",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("revised", "decided otherwise"),
                            ("reopened", "put back into the queue"),
                            ("file", "settled for what a file says"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "overturning",
            },
        ),
        migrations.CreateModel(
            name="SpotCheck",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("drawn_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "outcome",
                    models.CharField(
                        choices=[("open", "Open"), ("agreed", "Agreed"), ("reopened", "Reopened")],
                        db_default="open",
                        max_length=10,
                    ),
                ),
                ("note", models.TextField(blank=True, db_default="")),
                ("settled_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "spot_check",
            },
        ),
        migrations.AddField(
            model_name="review",
            name="changes",
            field=models.IntegerField(
                help_text="Criteria that differ from what the judge said, or have a cause.", null=True
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="judged",
            field=models.JSONField(
                help_text="Criterion -> the judge's score then, parsed or read out of raw output.", null=True
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="judged_verdict",
            field=models.CharField(help_text="The judge's, then.", max_length=10, null=True),
        ),
        migrations.AddField(
            model_name="review",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to="reviews.run",
            ),
        ),
        migrations.RunSQL(FILL_RUN, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="review",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="verdict",
            field=models.CharField(
                help_text="What the scores came to by the rule of the run then.", max_length=10, null=True
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="words",
            field=models.IntegerField(help_text="How many words of evidence were there to read.", null=True),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(
                condition=models.Q(("action__in", ("skip", "release"))),
                fields=["at"],
                name="audit_event_put_off",
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("before__isnull", False)),
                fields=["reviewer", "id"],
                include=("run", "submitted_at", "active_ms", "words", "changes", "verdict", "judged_verdict"),
                name="review_figures",
            ),
        ),
        migrations.AddField(
            model_name="criterionday",
            name="reviewer",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="criterionday",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="overturning",
            name="actor",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="overturning",
            name="by",
            field=models.ForeignKey(
                help_text="The decision that took its place, if one did: taken back, it overturns nothing.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.review",
            ),
        ),
        migrations.AddField(
            model_name="overturning",
            name="review",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="overturnings", to="reviews.review"
            ),
        ),
        migrations.AddField(
            model_name="spotcheck",
            name="drawn_by",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="spotcheck",
            name="review",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="spot_check", to="reviews.review"
            ),
        ),
        migrations.AddField(
            model_name="spotcheck",
            name="reviewer",
            field=models.ForeignKey(
                help_text="Whose decision it is.",
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="spotcheck",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="spotcheck",
            name="settled_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="criterionday",
            constraint=models.UniqueConstraint(
                fields=("run", "reviewer", "day", "criterion"), name="criterion_day_is_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="spotcheck",
            index=models.Index(
                condition=models.Q(("outcome", "open")), fields=["drawn_by", "id"], name="spot_check_open"
            ),
        ),
        migrations.RunSQL(COUNT, UNCOUNT),
        migrations.RunSQL(PROTECT, UNPROTECT),
    ]
