"""Conflicts that a lead settles, and reviews that new evidence made stale."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0004_exports"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="run",
            options={
                "permissions": [
                    ("import_file", "Can import files"),
                    ("export_run", "Can export runs"),
                    ("review_evaluation", "Can review evaluations"),
                    ("read_audit", "Can read the audit events"),
                    ("lead_review", "Can free what others hold"),
                    ("settle_conflict", "Can settle conflicts"),
                ]
            },
        ),
        migrations.AddField(
            model_name="evaluation",
            name="is_stale",
            field=models.BooleanField(
                db_default=False,
                help_text="The review in force was made on evidence that a file has changed since.",
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="source_import",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.import",
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="source_line",
            field=models.BigIntegerField(null=True),
        ),
        migrations.CreateModel(
            name="FileConflict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("line", models.BigIntegerField(help_text="The line of the file, from 1.")),
                ("content_hash", models.BinaryField(help_text="Of that line, as in the evaluation.")),
                (
                    "human",
                    models.JSONField(
                        help_text="The five human_* values of that line; the timestamp in ISO 8601."
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("theirs", "the file's decision holds"),
                            ("ours", "the decision made here holds"),
                            ("replaced", "a newer file says something else"),
                        ],
                        db_default="open",
                        max_length=10,
                    ),
                ),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conflicts",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conflicts",
                        to="reviews.run",
                    ),
                ),
                (
                    "settled_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.import",
                    ),
                ),
            ],
            options={
                "db_table": "file_conflict",
            },
        ),
        migrations.AlterField(
            model_name="review",
            name="origins",
            field=models.JSONField(
                default=dict,
                help_text="Criterion -> where its score came from: judge, extracted, human or file.",
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="conflict",
            field=models.OneToOneField(
                help_text="Of a decision taken from a file: what was settled so, by the reviewer.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="review",
                to="reviews.fileconflict",
            ),
        ),
        migrations.AddIndex(
            model_name="fileconflict",
            index=models.Index(fields=["evaluation"], name="file_conflict_evaluation"),
        ),
        migrations.AddIndex(
            model_name="fileconflict",
            index=models.Index(
                condition=models.Q(("outcome", "open")), fields=["run", "id"], name="file_conflict_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="fileconflict",
            constraint=models.UniqueConstraint(
                condition=models.Q(("outcome", "open")), fields=("evaluation",), name="file_conflict_one_open"
            ),
        ),
    ]
