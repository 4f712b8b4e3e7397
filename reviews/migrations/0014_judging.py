"""What the judge is measured by: strata, sums over the decisions in force, blind scores, opinions."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

import reviews.models.runs

# A decision counts while it is in force: with `evaluation.review_id` the one that was is taken away and the new
# one added, by one statement, whose rows are locked in their order.
COUNT = """
CREATE FUNCTION count_judged(was bigint, is_now bigint) RETURNS void LANGUAGE sql AS $$
    WITH counted AS (
        SELECT review.*, CASE WHEN id = is_now THEN 1 ELSE -1 END AS sign
        FROM review WHERE id IN (was, is_now) AND judged IS NOT NULL AND stratum_id IS NOT NULL
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

CREATE FUNCTION count_reasons(was bigint, is_now bigint) RETURNS void LANGUAGE sql AS $$
    WITH counted AS (
        SELECT review.*, family, CASE WHEN id = is_now THEN 1 ELSE -1 END AS sign
        FROM review CROSS JOIN LATERAL unnest(families) AS found (family) WHERE id IN (was, is_now)
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

CREATE FUNCTION mention_causes(was bigint, is_now bigint) RETURNS void LANGUAGE sql AS $$
    DELETE FROM cause_mention WHERE review_id = was;
    INSERT INTO cause_mention (review_id, run_id, stratum_id, criterion, cause)
    SELECT id, run_id, stratum_id, key, value FROM review CROSS JOIN LATERAL jsonb_each_text(causes)
    WHERE id = is_now;
$$;

CREATE FUNCTION count_in_force() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM count_judged(OLD.review_id, NEW.review_id);
    PERFORM count_reasons(OLD.review_id, NEW.review_id);
    PERFORM mention_causes(OLD.review_id, NEW.review_id);
    RETURN NULL;
END $$;

CREATE TRIGGER evaluation_decided AFTER UPDATE OF review_id ON evaluation FOR EACH ROW
    WHEN (OLD.review_id IS DISTINCT FROM NEW.review_id) EXECUTE FUNCTION count_in_force();
"""
UNCOUNT = """
DROP TRIGGER evaluation_decided ON evaluation;
DROP FUNCTION count_in_force, mention_causes, count_reasons, count_judged;
"""
PROTECT = """
CREATE TRIGGER blind_scores_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON blind_scores
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
UNPROTECT = "DROP TRIGGER blind_scores_are_append_only ON blind_scores;"
# Decisions from before are of the stratum that their record is of now, and count from now on. The families of
# their reasons were not kept. The job covers all records again, and then counts their facets.
FILL = """
INSERT INTO stratum (run_id, judge_llm_model, judge_prompt_template_path, model_id, is_flagged)
SELECT DISTINCT run_id, judge_llm_model, judge_prompt_template_path, coalesce(model_id, ''), needs_human_review
FROM evaluation;
INSERT INTO stratum_count (stratum_id, verdict, evaluations, answered)
SELECT stratum.id, coalesce(aggregated_score, ''), count(*), count(structured_model_response)
FROM evaluation JOIN stratum ON (
    stratum.run_id, stratum.judge_llm_model, stratum.judge_prompt_template_path, stratum.model_id, is_flagged
) = (
    evaluation.run_id, evaluation.judge_llm_model, evaluation.judge_prompt_template_path,
    coalesce(evaluation.model_id, ''), needs_human_review
) GROUP BY 1, 2;
ALTER TABLE review DISABLE TRIGGER review_is_append_only;
UPDATE review SET stratum_id = stratum.id FROM evaluation JOIN stratum ON (
    stratum.run_id, stratum.judge_llm_model, stratum.judge_prompt_template_path, stratum.model_id, is_flagged
) = (
    evaluation.run_id, evaluation.judge_llm_model, evaluation.judge_prompt_template_path,
    coalesce(evaluation.model_id, ''), needs_human_review
) WHERE evaluation.id = review.evaluation_id;
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE review ENABLE TRIGGER review_is_append_only;
SELECT count_judged(NULL, review_id), mention_causes(NULL, review_id)
FROM evaluation WHERE review_id IS NOT NULL;
INSERT INTO uncovered (source_id, line, evaluations)
SELECT id, 0, new + updated + conflicts FROM import WHERE state = 'done' AND new + updated + conflicts > 0
ON CONFLICT (source_id) DO UPDATE SET line = 0, evaluations = excluded.evaluations;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0013_analytics"),
    ]

    operations = [
        migrations.AddField(
            model_name="evaluation",
            name="is_sampled",
            field=models.BooleanField(
                db_default=False,
                help_text="Whether it was drawn from those that need no review, to be reviewed.",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"), condition=models.Q(("is_sampled", True)), name="evaluation_sampled"
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="is_blind",
            field=models.BooleanField(
                db_default=False, help_text="Whether it was entered while the judge's scores were hidden."
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="blind_scores",
            field=models.JSONField(
                help_text="Criterion -> score, as given before the judge's were shown; None if not blind.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="blind_verdict",
            field=models.CharField(help_text="What those came to by the rule.", max_length=10, null=True),
        ),
        migrations.AddField(
            model_name="review",
            name="families",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(),
                help_text="Of the record's reasons then: keys of `reasons.Family`.",
                null=True,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="is_sampled",
            field=models.BooleanField(db_default=False, help_text="As the evaluation's, then."),
        ),
        migrations.AddField(
            model_name="run",
            name="blind_share",
            field=models.FloatField(
                default=reviews.models.runs.usual_blind_share,
                help_text="From 0 to 1: of the records, shown without the judge's scores.",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="overlap",
            field=models.SmallIntegerField(default=2, help_text="By how many people those are."),
        ),
        migrations.AddField(
            model_name="run",
            name="overlap_share",
            field=models.FloatField(
                default=0, help_text="From 0 to 1: of the records, reviewed by several people."
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="sample_share",
            field=models.FloatField(
                default=0, help_text="From 0 to 1: of the records that need no review, reviewed all the same."
            ),
        ),
        migrations.AlterField(
            model_name="escalation",
            name="kind",
            field=models.CharField(
                choices=[
                    ("cannot judge", "Cannot Judge"),
                    ("question", "flagged for a lead"),
                    ("disagreement", "reviewers disagree"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="escalation",
            name="outcome",
            field=models.CharField(
                choices=[
                    ("open", "Open"),
                    ("withdrawn", "taken back by the reviewer"),
                    ("returned", "back to the queue"),
                    ("decided", "a lead reviewed it"),
                    ("closed", "nobody can judge it"),
                    ("upheld", "the decision stands"),
                ],
                db_default="open",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="Stratum",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("judge_llm_model", models.TextField()),
                ("judge_prompt_template_path", models.TextField()),
                ("model_id", models.TextField(help_text="Empty where the record names no model.")),
                ("is_flagged", models.BooleanField(help_text="`needs_human_review` of the record.")),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="strata",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "stratum",
            },
        ),
        migrations.CreateModel(
            name="JudgedCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "criterion",
                    models.TextField(help_text="None stands for the verdict of the record.", null=True),
                ),
                (
                    "is_blind",
                    models.BooleanField(
                        help_text="Whether the human scored before seeing the judge's scores."
                    ),
                ),
                (
                    "is_sampled",
                    models.BooleanField(
                        help_text="Whether the record was drawn from those that need no review."
                    ),
                ),
                ("judge", models.TextField(null=True)),
                (
                    "human",
                    models.TextField(
                        help_text="The human's, of a blind review before the judge's showed.", null=True
                    ),
                ),
                ("final", models.TextField(help_text="The human's in force.", null=True)),
                ("reviews", models.BigIntegerField()),
                (
                    "reviewer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "stratum",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.stratum",
                    ),
                ),
            ],
            options={
                "db_table": "judged_count",
            },
        ),
        migrations.CreateModel(
            name="CauseMention",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("criterion", models.TextField()),
                ("cause", models.TextField(help_text="A word of `Run.causes`.")),
                (
                    "review",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.review",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
                (
                    "stratum",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.stratum",
                    ),
                ),
            ],
            options={
                "db_table": "cause_mention",
            },
        ),
        migrations.AddField(
            model_name="review",
            name="stratum",
            field=models.ForeignKey(
                db_index=False,
                help_text="The record's, then.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.stratum",
            ),
        ),
        migrations.CreateModel(
            name="StratumCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "verdict",
                    models.TextField(
                        help_text="`aggregated_score`, or what the scores in raw output come to; empty where "
                        "there is none."
                    ),
                ),
                ("evaluations", models.BigIntegerField()),
                (
                    "answered",
                    models.BigIntegerField(
                        db_default=0, help_text="Of those, which hold the model's answer themselves."
                    ),
                ),
                (
                    "stratum",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="counts",
                        to="reviews.stratum",
                    ),
                ),
            ],
            options={
                "db_table": "stratum_count",
            },
        ),
        migrations.CreateModel(
            name="BlindScores",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "source_line",
                    models.BigIntegerField(help_text="With the import: the evidence they were given on."),
                ),
                ("scores", models.JSONField(help_text="Criterion -> score.")),
                ("active_ms", models.IntegerField(help_text="Until then, as `Review.active_ms`.", null=True)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="blind_scores",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source_import",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.import",
                    ),
                ),
            ],
            options={
                "db_table": "blind_scores",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("evaluation", "reviewer", "source_import", "source_line"),
                        name="blind_scores_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="FacetCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.TextField(
                        help_text="Of `facets.Facet`; a reason's value is the key of its family."
                    ),
                ),
                ("value", models.TextField()),
                ("evaluations", models.BigIntegerField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "facet_count",
                "constraints": [
                    models.UniqueConstraint(fields=("run", "name", "value"), name="facet_count_is_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="Opinion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "is_open",
                    models.BooleanField(
                        default=True, help_text="Whether the record still waits for a decision."
                    ),
                ),
                (
                    "is_counted",
                    models.BooleanField(default=False, help_text="Whether `OpinionPattern` has it."),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="opinions",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="opinion",
                        to="reviews.review",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "opinion",
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_open", True)), fields=["reviewer"], name="opinion_given"
                    ),
                    models.Index(fields=["evaluation"], name="opinion_evaluation"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_open", True)),
                        fields=("evaluation", "reviewer"),
                        name="opinion_one_open",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="OpinionPattern",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "criterion",
                    models.TextField(help_text="None stands for the verdict of the record.", null=True),
                ),
                ("pattern", models.TextField(help_text="A JSON array of the scores, sorted.")),
                ("evaluations", models.BigIntegerField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "opinion_pattern",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "criterion", "pattern"),
                        name="opinion_pattern_is_unique",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReasonCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("family", models.TextField(help_text="The key of `reasons.Family`.")),
                ("reviews", models.BigIntegerField()),
                (
                    "compared",
                    models.BigIntegerField(help_text="Of which it is known what the judge had said."),
                ),
                ("changed", models.BigIntegerField(help_text="Which changed a criterion.")),
                (
                    "verdicts",
                    models.BigIntegerField(help_text="With a verdict by the judge and by the human."),
                ),
                ("verdict_changed", models.BigIntegerField()),
                ("timed", models.BigIntegerField()),
                ("active_ms", models.BigIntegerField(help_text="Of those that were timed, together.")),
                (
                    "reviewer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "reason_count",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "reviewer", "family"), name="reason_count_is_unique"
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="stratum",
            constraint=models.UniqueConstraint(
                fields=("run", "judge_llm_model", "judge_prompt_template_path", "model_id", "is_flagged"),
                name="stratum_is_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="judgedcount",
            constraint=models.UniqueConstraint(
                fields=(
                    "stratum",
                    "reviewer",
                    "criterion",
                    "is_blind",
                    "is_sampled",
                    "judge",
                    "human",
                    "final",
                ),
                name="judged_count_is_unique",
                nulls_distinct=False,
            ),
        ),
        migrations.AddIndex(
            model_name="causemention",
            index=models.Index(
                fields=["run", "stratum", "cause", "criterion", "review"], name="cause_mention_examples"
            ),
        ),
        migrations.AddConstraint(
            model_name="causemention",
            constraint=models.UniqueConstraint(
                fields=("review", "criterion"), name="cause_mention_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="stratumcount",
            constraint=models.UniqueConstraint(fields=("stratum", "verdict"), name="stratum_count_is_unique"),
        ),
        migrations.RunSQL(COUNT, UNCOUNT),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(PROTECT, UNPROTECT),
    ]
