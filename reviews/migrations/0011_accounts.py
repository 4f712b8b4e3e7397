"""Accounts: one-time links, names that are one in any case and stay, and the cache all web processes share."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

# The username stands in exported files as human_reviewer_id.
KEEP_NAMES = """
CREATE FUNCTION refuse_new_username() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a username stays as it is: % stands in records and files', OLD.username
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER person_keeps_username BEFORE UPDATE ON person
    FOR EACH ROW WHEN (OLD.username IS DISTINCT FROM NEW.username) EXECUTE FUNCTION refuse_new_username();
"""
LET_NAMES_GO = "DROP TRIGGER person_keeps_username ON person; DROP FUNCTION refuse_new_username;"

# As Django's cache in the database wants it (`createcachetable`).
CACHE = """
CREATE TABLE cache (
    cache_key varchar(255) PRIMARY KEY,
    value text NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX cache_expires ON cache (expires);
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0010_claims")]

    operations = [
        migrations.RunSQL(CACHE, "DROP TABLE cache"),
        migrations.CreateModel(
            name="OneTimeLink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "purpose",
                    models.CharField(choices=[("join", "Join"), ("password", "new password")], max_length=10),
                ),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("role", models.CharField(blank=True, help_text="Of whoever joins.", max_length=10)),
                (
                    "email",
                    models.EmailField(
                        blank=True, help_text="Of whoever joins, if the admin gave one.", max_length=254
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
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
                    "person",
                    models.ForeignKey(
                        help_text="Whose password it is.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="one_time_links",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "used_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"db_table": "one_time_link"},
        ),
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
                    ("configure_run", "Can change how a run is judged"),
                    ("import_context", "Can import task context"),
                    ("manage_people", "Can manage accounts"),
                ]
            },
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("username"), name="person_username_in_any_case"
            ),
        ),
        migrations.RunSQL(KEEP_NAMES, LET_NAMES_GO),
    ]
