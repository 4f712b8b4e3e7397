"""How far import jobs are, imports that were cancelled, and uploads that arrive in parts."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

# Parts live for minutes, and many of them are packed already: no time for compressing them.
STORE_AS_IT_IS = "ALTER TABLE upload_part ALTER COLUMN data SET STORAGE EXTERNAL"


class Migration(migrations.Migration):
    dependencies = [("reviews", "0002_append_only")]

    operations = [
        migrations.AlterField(
            model_name="import",
            name="state",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                default="queued",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="ImportProgress",
            fields=[
                (
                    "source",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="progress",
                        serialize=False,
                        to="reviews.import",
                    ),
                ),
                ("size", models.BigIntegerField(help_text="Bytes of the file, unpacked.")),
                ("bytes_done", models.BigIntegerField(default=0)),
                ("counts", models.JSONField(default=dict, help_text="As `Import.counts`, so far.")),
                ("started_at", models.DateTimeField(help_text="When the first piece was done.", null=True)),
                ("reported_at", models.DateTimeField(null=True)),
                (
                    "cancelled_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "import_progress"},
        ),
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "changed_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("file_name", models.CharField(max_length=255)),
                ("run_name", models.CharField(max_length=200)),
                ("strict", models.BooleanField(default=False)),
                ("size", models.BigIntegerField(help_text="Bytes of the whole file.")),
                ("offset", models.BigIntegerField(default=0, help_text="Bytes that have arrived.")),
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
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="reviews.import",
                    ),
                ),
            ],
            options={"db_table": "upload"},
        ),
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("offset", models.BigIntegerField(help_text="Bytes of the file before it.")),
                ("data", models.BinaryField()),
                (
                    "upload",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="reviews.upload",
                    ),
                ),
            ],
            options={
                "db_table": "upload_part",
                "constraints": [
                    models.UniqueConstraint(fields=("upload", "offset"), name="upload_part_place")
                ],
            },
        ),
        migrations.RunSQL(STORE_AS_IT_IS, migrations.RunSQL.noop),
    ]
