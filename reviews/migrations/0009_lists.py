"""Lists: what they are filtered, searched and ordered by."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
from django.db import migrations, models

import reviews.models.facets

# What was imported before is taken up by the job as well.
COVER = """
INSERT INTO uncovered (source_id, line, evaluations)
SELECT id, 0, new + updated + conflicts FROM import WHERE state = 'done' AND new + updated + conflicts > 0
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0008_run_counts"),
    ]

    operations = [
        migrations.CreateModel(
            name="EvaluationFacets",
            fields=[
                (
                    "evaluation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="facets",
                        serialize=False,
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "keys",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
            ],
            options={
                "db_table": "evaluation_facets",
            },
        ),
        migrations.CreateModel(
            name="EvaluationWords",
            fields=[
                (
                    "evaluation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="reviews.evaluation",
                    ),
                ),
                ("words", reviews.models.facets.WordsField()),
            ],
            options={
                "db_table": "evaluation_words",
            },
        ),
        migrations.CreateModel(
            name="RunFacet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(help_text="Of the filter.", max_length=20)),
                ("value", models.TextField()),
                ("title", models.TextField(help_text="What people read, where it is not the value.")),
            ],
            options={
                "db_table": "run_facet",
            },
        ),
        migrations.CreateModel(
            name="Uncovered",
            fields=[
                (
                    "source",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="reviews.import",
                    ),
                ),
                ("line", models.BigIntegerField(default=0, help_text="The last line that is done.")),
                ("evaluations", models.BigIntegerField(help_text="How many records are left.")),
            ],
            options={
                "db_table": "uncovered",
            },
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                django.db.models.functions.comparison.Coalesce(
                    django.db.models.functions.text.Length("task_id"), models.Value(2147483647)
                ),
                django.db.models.functions.comparison.Collate(
                    django.db.models.functions.comparison.Coalesce(
                        "task_id", models.Value(""), output_field=models.TextField()
                    ),
                    "C",
                ),
                django.db.models.functions.comparison.Collate(
                    django.db.models.functions.comparison.Coalesce(
                        "model_id", models.Value(""), output_field=models.TextField()
                    ),
                    "C",
                ),
                models.F("id"),
                name="evaluation_task_order",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.Case(
                    models.When(aggregated_score="Fail", then=models.Value(0)),
                    models.When(aggregated_score="Partial", then=models.Value(1)),
                    models.When(aggregated_score="Pass", then=models.Value(2)),
                    default=models.Value(3),
                    output_field=models.SmallIntegerField(),
                ),
                models.F("id"),
                name="evaluation_verdict_order",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"), models.F("created_at"), models.F("id"), name="evaluation_newest"
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("human_review_timestamp"),
                models.F("id"),
                condition=models.Q(("human_review_timestamp__isnull", False)),
                name="evaluation_reviewed",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("human_reviewer_id"),
                models.F("id"),
                condition=models.Q(("human_reviewer_id__isnull", False)),
                name="evaluation_decided_by",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("assigned_to"),
                condition=models.Q(("assigned_to__isnull", False)),
                name="evaluation_assigned",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"), condition=models.Q(("is_escalated", True)), name="evaluation_escalated"
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"), condition=models.Q(("is_stale", True)), name="evaluation_stale"
            ),
        ),
        migrations.AddField(
            model_name="evaluationfacets",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="reviews.run",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationwords",
            index=django.contrib.postgres.indexes.GinIndex(fields=["words"], name="evaluation_words_words"),
        ),
        migrations.AddField(
            model_name="runfacet",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="reviews.run",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationfacets",
            index=django.contrib.postgres.indexes.GinIndex(fields=["keys"], name="evaluation_facets_keys"),
        ),
        migrations.AddConstraint(
            model_name="runfacet",
            constraint=models.UniqueConstraint(fields=("run", "name", "value"), name="run_facet_is_unique"),
        ),
        migrations.RunSQL(COVER, migrations.RunSQL.noop),
    ]
