"""Exports that are built by a job, and their files."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reviews", "0003_uploads")]

    operations = [
        migrations.CreateModel(
            name="Export",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("only", models.CharField(max_length=10)),
                ("with_rejected", models.BooleanField()),
                ("format", models.CharField(max_length=10)),
                ("compression", models.CharField(blank=True, max_length=10)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("unfinished", "Unfinished"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="unfinished",
                        max_length=10,
                    ),
                ),
                ("error", models.TextField(blank=True, default="")),
                ("finished_at", models.DateTimeField(null=True)),
                ("size", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("lines", models.BigIntegerField(default=0)),
                ("lines_changed", models.BigIntegerField(default=0)),
                ("lines_left_out", models.BigIntegerField(default=0)),
                (
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "only_import",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.import",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="exports", to="reviews.run"
                    ),
                ),
            ],
            options={"db_table": "export"},
        ),
        migrations.CreateModel(
            name="ExportProgress",
            fields=[
                (
                    "export",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="progress",
                        serialize=False,
                        to="reviews.export",
                    ),
                ),
                ("bytes_read", models.BigIntegerField(default=0)),
                ("bytes_to_read", models.BigIntegerField(help_text="Of the kept files.")),
            ],
            options={"db_table": "export_progress"},
        ),
        migrations.CreateModel(
            name="ExportPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(choices=[("file", "File"), ("receipt", "Receipt")], max_length=10)),
                ("number", models.IntegerField(help_text="From 0; all but the last are of one size.")),
                ("frame", models.BinaryField()),
                (
                    "export",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="reviews.export",
                    ),
                ),
            ],
            options={
                "db_table": "export_part",
                "constraints": [
                    models.UniqueConstraint(fields=("export", "kind", "number"), name="export_part_place")
                ],
            },
        ),
    ]
