"""The tables."""

import datetime as dt
import uuid
from pathlib import Path

import django.contrib.auth.models
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import reviews.database
import reviews.models.people
import reviews.models.runs
import reviews.models.search
import reviews.models.webhooks
from cognireview.postgres.created_tables import CreateTables

_SQL = Path(reviews.database.__path__[0], "sql")


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        # The generated columns of evaluation call them.
        migrations.RunSQL((_SQL / "has_answer.sql").read_text(), "DROP FUNCTION has_any_answer, has_answer"),
        migrations.RunSQL((_SQL / "share_position.sql").read_text(), "DROP FUNCTION share_position"),
        migrations.CreateModel(
            name="Evaluation",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("first_line", models.BigIntegerField()),
                ("source_line", models.BigIntegerField()),
                (
                    "content_hash",
                    models.BinaryField(help_text="BLAKE2b (16 bytes) of the line without its line end."),
                ),
                ("evaluation_id", models.TextField()),
                ("task_id", models.TextField(null=True)),
                ("model_id", models.TextField(null=True)),
                ("response_id", models.TextField(null=True)),
                ("ideal_response_id", models.TextField(null=True)),
                ("judge_llm_model", models.TextField()),
                ("judge_prompt_template_path", models.TextField()),
                ("raw_judge_output", models.JSONField()),
                ("parsed_rubric_scores", models.JSONField()),
                (
                    "extracted_scores",
                    models.JSONField(
                        help_text="Scores extracted from raw output at import (`extracted_scores`). Null if parsed.",
                        null=True,
                    ),
                ),
                (
                    "criteria_order",
                    models.TextField(
                        help_text="Order of the parsed scores in the file (`criteria_order`). Null if it is that of jsonb.",
                        null=True,
                    ),
                ),
                ("aggregated_score", models.TextField(null=True)),
                ("final_answer_verified", models.BooleanField(null=True)),
                ("verification_message", models.TextField(null=True)),
                ("needs_human_review", models.BooleanField()),
                ("review_reasons", models.JSONField()),
                ("structured_model_response", models.JSONField(null=True)),
                ("structured_ideal_response", models.JSONField(null=True)),
                ("parsing_error", models.TextField(null=True)),
                ("human_review_status", models.TextField()),
                ("human_reviewer_id", models.TextField(null=True)),
                ("human_review_timestamp", models.DateTimeField(null=True)),
                ("human_corrected_scores", models.JSONField(null=True)),
                ("human_review_comments", models.TextField(null=True)),
                ("created_at", models.DateTimeField()),
                ("extra", models.JSONField(default=dict)),
                (
                    "task_context",
                    models.JSONField(
                        help_text="Question and responses that a mapping takes from the line: see `records.task_context`.",
                        null=True,
                    ),
                ),
                (
                    "has_answer",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            models.F("structured_model_response"),
                            models.F("task_context"),
                            function="has_any_answer",
                        ),
                        help_text="Whether the record has an answer of a model: see `responses.has_answer`.",
                        output_field=models.BooleanField(),
                    ),
                ),
                (
                    "blind_position",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            models.Value("blind"), models.F("evaluation_id"), function="share_position"
                        ),
                        help_text="The record's position for blind review: see `allocation.position`.",
                        output_field=models.FloatField(),
                    ),
                ),
                ("claimed_until", models.DateTimeField(null=True)),
                (
                    "claim_is_prefetched",
                    models.BooleanField(
                        db_default=False,
                        help_text="Whether the record was claimed ahead of time and is not on a screen yet.",
                    ),
                ),
                (
                    "priority",
                    models.SmallIntegerField(db_default=0, help_text="Higher priorities come first."),
                ),
                (
                    "due_on",
                    models.DateField(help_text="The due date. Null for that of the run.", null=True),
                ),
                (
                    "is_escalated",
                    models.BooleanField(db_default=False, help_text="Whether an escalation is open."),
                ),
                (
                    "is_sampled",
                    models.BooleanField(
                        db_default=False,
                        help_text="Whether the record is in the random sample of unflagged records.",
                    ),
                ),
                (
                    "sample_probability",
                    models.FloatField(
                        help_text="The probability, in (0, 1], of being drawn into the sample: see `sampling.draws`.",
                        null=True,
                    ),
                ),
                (
                    "version",
                    models.IntegerField(db_default=1, help_text="Grows with every change of the record."),
                ),
                (
                    "updated_at",
                    models.DateTimeField(
                        help_text="When the version last grew. Null before the first change. Set by a trigger.",
                        null=True,
                    ),
                ),
                (
                    "is_outdated",
                    models.BooleanField(
                        db_default=False,
                        help_text="The current decision is outdated: a file has changed its evidence since.",
                    ),
                ),
                (
                    "was_shown",
                    models.BooleanField(
                        db_default=False,
                        help_text="The record has left the queue before, so its scores may be known. Set by a trigger.",
                    ),
                ),
            ],
            options={
                "db_table": "evaluation",
            },
        ),
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
                            ("cancelled", "Cancelled"),
                        ],
                        default="unfinished",
                        max_length=10,
                    ),
                ),
                ("error", models.TextField(blank=True, default="")),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "dismissed_at",
                    models.DateTimeField(
                        help_text="When its failure was dismissed from the inbox.", null=True
                    ),
                ),
                ("size", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("lines", models.BigIntegerField(default=0)),
                ("lines_changed", models.BigIntegerField(default=0)),
                ("lines_left_out", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "export",
            },
        ),
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run_name",
                    models.CharField(
                        help_text="The requested name. The run may have another name by now.", max_length=200
                    ),
                ),
                (
                    "mapping",
                    models.JSONField(
                        help_text="The mapping of the run to create; None for a run that existed before.",
                        null=True,
                    ),
                ),
                ("file_name", models.CharField(max_length=255)),
                (
                    "state",
                    models.CharField(
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
                ("strict", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "dismissed_at",
                    models.DateTimeField(
                        help_text="When its failure was dismissed from the inbox.", null=True
                    ),
                ),
                (
                    "sequence",
                    models.BigIntegerField(
                        help_text="Position among the run's finished imports, from 1. Set by a trigger.",
                        null=True,
                    ),
                ),
                ("size", models.BigIntegerField(default=0, help_text="Bytes of the file as received.")),
                ("sha256", models.CharField(blank=True, default="", max_length=64)),
                ("has_bom", models.BooleanField(default=False)),
                (
                    "records_path",
                    models.TextField(
                        help_text="Path of the records in a JSON document, empty if the document is their list. Null: lines.",
                        null=True,
                    ),
                ),
                (
                    "is_archive",
                    models.BooleanField(
                        default=False,
                        help_text="Whether the records are files of an archive, named like records_path.",
                    ),
                ),
                (
                    "repeated_lines",
                    models.BigIntegerField(
                        default=0,
                        help_text="Lines at its start that repeat an earlier import of the run: same bytes or same record.",
                    ),
                ),
                (
                    "of_other_judge",
                    models.BigIntegerField(
                        default=0,
                        help_text="Rejected lines with another judge's evaluation of a record of the run.",
                    ),
                ),
                ("lines", models.BigIntegerField(default=0)),
                ("new", models.BigIntegerField(default=0)),
                ("unchanged", models.BigIntegerField(default=0)),
                ("updated", models.BigIntegerField(default=0)),
                ("conflicts", models.BigIntegerField(default=0)),
                ("rejected", models.BigIntegerField(default=0)),
                ("blank", models.BigIntegerField(default=0)),
            ],
            options={
                "db_table": "import",
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                (
                    "date_joined",
                    models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined"),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "This username is taken."},
                        max_length=150,
                        unique=True,
                        validators=[reviews.models.people.check_username],
                    ),
                ),
                (
                    "theme",
                    models.CharField(
                        choices=[
                            ("system", "System"),
                            ("light", "Light"),
                            ("dark", "Dark"),
                            ("contrast", "high contrast"),
                        ],
                        db_default="system",
                        max_length=10,
                    ),
                ),
                (
                    "has_shortcuts",
                    models.BooleanField(db_default=True, help_text="Whether single-key shortcuts are on."),
                ),
                (
                    "shortcuts",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Command -> key, where it differs from the default.",
                    ),
                ),
                (
                    "wants_key_hint",
                    models.BooleanField(
                        db_default=True, help_text="Whether the first records show a hint of three keys."
                    ),
                ),
                (
                    "notifications",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="Event -> when to be notified, where it differs from the default.",
                    ),
                ),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "db_table": "person",
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="Backup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        help_text="When it was complete.",
                    ),
                ),
                ("target", models.TextField(help_text="The path of the file, or - for standard output.")),
                ("size", models.BigIntegerField(help_text="In bytes.")),
            ],
            options={
                "db_table": "backup",
                "permissions": [("manage_site", "Can manage jobs and see the state of the site")],
            },
        ),
        migrations.CreateModel(
            name="JobError",
            fields=[
                (
                    "job_id",
                    models.BigIntegerField(
                        help_text="Key in `procrastinate_jobs`.", primary_key=True, serialize=False
                    ),
                ),
                ("at", models.DateTimeField()),
                ("error", models.TextField(help_text="Without contents of records.")),
            ],
            options={
                "db_table": "job_error",
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(blank=True, help_text="What it is for.", max_length=100)),
                (
                    "prefix",
                    models.CharField(
                        help_text="Its first characters, which identify it for people.", max_length=12
                    ),
                ),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), help_text="Keys of `api_tokens.SCOPES`.", size=None
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(help_text="Rounded to the minute.", null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "api_token",
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("actor_name", models.CharField(blank=True, default="", max_length=150)),
                ("action", models.CharField(max_length=40)),
                ("run_name", models.TextField(blank=True, default="")),
                (
                    "record",
                    models.TextField(
                        blank=True, default="", help_text="The evaluation_id of the evaluation."
                    ),
                ),
                ("detail", models.JSONField(default=dict)),
                (
                    "address",
                    models.GenericIPAddressField(
                        help_text="The client whose request caused the event. None for commands and jobs.",
                        null=True,
                    ),
                ),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "audit_event",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                (
                    "position",
                    models.BigIntegerField(
                        help_text="From 1, without gaps.", primary_key=True, serialize=False
                    ),
                ),
                ("previous", models.BinaryField()),
                ("hash", models.BinaryField()),
                (
                    "event",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="seal",
                        to="reviews.auditevent",
                    ),
                ),
            ],
            options={
                "db_table": "audit_seal",
            },
        ),
        migrations.CreateModel(
            name="ChainCheck",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("finished_at", models.DateTimeField(null=True)),
                ("events", models.BigIntegerField(default=0, help_text="Number of verified events.")),
                (
                    "head",
                    models.TextField(blank=True, default="", help_text="The verified head of the chain."),
                ),
                ("differences", models.BigIntegerField(default=0)),
                (
                    "problems",
                    models.JSONField(default=list, help_text="The first differences, as sentences."),
                ),
                (
                    "error",
                    models.TextField(
                        blank=True, default="", help_text="Why the verification did not finish."
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "chain_check",
            },
        ),
        migrations.CreateModel(
            name="BulkChange",
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
                            ("assign", "Assign"),
                            ("split", "Split"),
                            ("prioritise", "Prioritise"),
                            ("due", "Due"),
                            ("escalate", "Escalate"),
                            ("release", "Release"),
                        ],
                        max_length=10,
                    ),
                ),
                ("query", models.TextField(help_text="The list, as the query string of its page.")),
                (
                    "is_selection",
                    models.BooleanField(
                        db_default=False,
                        help_text="Whether it changed selected records only, not all of the list.",
                    ),
                ),
                ("priority", models.SmallIntegerField(null=True)),
                ("due_on", models.DateField(null=True)),
                ("evaluations", models.BigIntegerField(default=0, help_text="Number of records changed.")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "assigned_to",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "bulk_change",
            },
        ),
        migrations.CreateModel(
            name="EvaluationFacets",
            fields=[
                (
                    "evaluation",
                    models.OneToOneField(
                        db_constraint=False,
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
                (
                    "verdict_order",
                    models.SmallIntegerField(
                        db_default=3, help_text="The judge's verdict: 0 Fail, 1 Partial, 2 Pass, 3 none."
                    ),
                ),
                (
                    "is_flagged",
                    models.BooleanField(db_default=False, help_text="`Evaluation.needs_human_review`."),
                ),
                (
                    "response",
                    models.BigIntegerField(
                        null=True,
                        help_text="The same for all records of one response: see `response_key.sql`.",
                    ),
                ),
                (
                    "pair",
                    models.BigIntegerField(
                        help_text="The same for both orders of two responses, but for the last bit: see "
                        "`pair_key`.",
                        null=True,
                    ),
                ),
                (
                    "cluster",
                    models.IntegerField(
                        db_default=0, help_text="The cluster of the record: see `records.clusters`."
                    ),
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
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="reviews.evaluation",
                    ),
                ),
                ("words", reviews.models.search.WordsField()),
            ],
            options={
                "db_table": "evaluation_words",
            },
        ),
        migrations.AddField(
            model_name="evaluation",
            name="assigned_to",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="claimed_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="claims",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "fields",
                    models.JSONField(help_text="[[name, value], ...], as the review form posts them."),
                ),
                (
                    "revision",
                    models.IntegerField(
                        db_default=1,
                        help_text="Grows with every save. A save with an older revision is refused.",
                    ),
                ),
                ("saved_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to="reviews.evaluation",
                    ),
                ),
            ],
            options={
                "db_table": "draft",
            },
        ),
        migrations.CreateModel(
            name="BulkChangeItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("priority", models.SmallIntegerField()),
                ("due_on", models.DateField(null=True)),
                (
                    "given_to",
                    models.ForeignKey(
                        db_index=False,
                        help_text="The person to whom a split assigned the record.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "assigned_to",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "change",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="reviews.bulkchange",
                    ),
                ),
                (
                    "claimed_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.evaluation",
                    ),
                ),
            ],
            options={
                "db_table": "bulk_change_item",
            },
        ),
        migrations.AddField(
            model_name="auditevent",
            name="evaluation",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="reviews.evaluation",
            ),
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
                ("bytes_to_read", models.BigIntegerField(help_text="Bytes of the source files.")),
            ],
            options={
                "db_table": "export_progress",
            },
        ),
        migrations.AddField(
            model_name="export",
            name="created_by",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
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
                ("number", models.IntegerField(help_text="From 0.")),
                (
                    "start",
                    models.BigIntegerField(
                        help_text="The byte of the file or receipt that it begins with, from 0."
                    ),
                ),
                ("size", models.IntegerField(help_text="Bytes before compression.")),
                ("frame", models.BinaryField()),
                (
                    "digest",
                    models.BinaryField(
                        help_text="SHA-256 over place and frame, set by a trigger (`frame_checksums.sql`).",
                        null=True,
                    ),
                ),
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
            },
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
                ("size", models.BigIntegerField(help_text="Bytes of the decompressed file.")),
                ("bytes_done", models.BigIntegerField(default=0)),
                ("counts", models.JSONField(default=dict, help_text="`Import.counts` so far.")),
                ("started_at", models.DateTimeField(help_text="When the first chunk was done.", null=True)),
                ("reported_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "import_progress",
            },
        ),
        migrations.CreateModel(
            name="ImportSums",
            fields=[
                (
                    "source",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="sums",
                        serialize=False,
                        to="reviews.import",
                    ),
                ),
                ("text_size", models.BigIntegerField(help_text="Bytes of the decompressed text.")),
                ("text_lines", models.BigIntegerField()),
                (
                    "text_sha256",
                    models.CharField(
                        blank=True,
                        help_text="Of a decompressed document, or of uncompressed lines.",
                        max_length=64,
                    ),
                ),
                (
                    "frames_sha256",
                    models.CharField(help_text="SHA-256 over the checksums of the frames.", max_length=64),
                ),
                (
                    "figures",
                    models.JSONField(
                        default=dict,
                        help_text="Columns of the finished import; empty before that. See `storage.checksums`.",
                    ),
                ),
                (
                    "noted",
                    models.JSONField(default=dict, help_text="Sums over the `import_line` rows, by outcome."),
                ),
            ],
            options={
                "db_table": "import_sums",
            },
        ),
        migrations.CreateModel(
            name="UnindexedImport",
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
                ("line", models.BigIntegerField(default=0, help_text="The last indexed line.")),
                ("evaluations", models.BigIntegerField(help_text="Number of records left to index.")),
            ],
            options={
                "db_table": "unindexed_import",
            },
        ),
        migrations.AddField(
            model_name="import",
            name="created_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
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
                ("line", models.BigIntegerField(help_text="Line of the file, from 1.")),
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
                            ("theirs", "the file's decision was taken"),
                            ("ours", "the decision made here was kept"),
                            ("replaced", "replaced by a newer file"),
                        ],
                        db_default="open",
                        max_length=10,
                    ),
                ),
                ("resolved_at", models.DateTimeField(null=True)),
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
                    "resolved_by",
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
        migrations.AddField(
            model_name="export",
            name="only_import",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.import",
            ),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="first_import",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.import",
            ),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="source_import",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.import",
            ),
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
                    models.BigIntegerField(
                        help_text="With the import: the evidence that the scores are based on."
                    ),
                ),
                ("scores", models.JSONField(help_text="Criterion -> score.")),
                (
                    "active_ms",
                    models.IntegerField(help_text="Until lock-in, as `Review.active_ms`.", null=True),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "verdict",
                    models.CharField(help_text="The verdict of these scores.", max_length=10, null=True),
                ),
                (
                    "judged",
                    models.JSONField(help_text="Criterion -> the judge's score, parsed or extracted."),
                ),
                ("judged_verdict", models.CharField(max_length=10, null=True)),
                ("is_sampled", models.BooleanField(help_text="`Evaluation.is_sampled`.")),
                (
                    "probability",
                    models.FloatField(
                        help_text="The probability with which the record was drawn for review and scored "
                        "blind, above 0."
                    ),
                ),
                (
                    "families",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), help_text="As `Review.families`.", size=None
                    ),
                ),
                (
                    "guideline_version",
                    models.IntegerField(help_text="The version of the guideline.", null=True),
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
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="blind_scores",
                        to="reviews.evaluation",
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
            },
        ),
        migrations.AddField(
            model_name="auditevent",
            name="source",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="reviews.import",
            ),
        ),
        migrations.CreateModel(
            name="ImportLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "line",
                    models.BigIntegerField(
                        help_text="Line of the file, from 1, split on LF; the first line of a range."
                    ),
                ),
                (
                    "lines",
                    models.BigIntegerField(
                        db_default=1,
                        default=1,
                        help_text="Length of the range; more than 1 only for unchanged lines.",
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("unchanged", "Unchanged"),
                            ("updated", "Updated"),
                            ("conflict", "Conflict"),
                            ("rejected", "Rejected"),
                        ],
                        max_length=10,
                    ),
                ),
                ("field", models.CharField(blank=True, default="", max_length=100)),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "first_line",
                    models.BigIntegerField(
                        help_text="For unchanged lines: the line of that import that added the first record.",
                        null=True,
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="import_lines",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "first_import",
                    models.ForeignKey(
                        db_index=False,
                        help_text="For unchanged lines: the import that added their records.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.import",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exceptions",
                        to="reviews.import",
                    ),
                ),
            ],
            options={
                "db_table": "import_line",
            },
        ),
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
                (
                    "role",
                    models.CharField(blank=True, help_text="Role of the person who joins.", max_length=10),
                ),
                (
                    "name",
                    models.CharField(
                        blank=True,
                        help_text="Name of the person who joins, if the admin gave one.",
                        max_length=150,
                    ),
                ),
                (
                    "email",
                    models.EmailField(
                        blank=True,
                        help_text="Email address of the person who joins, if the admin gave one.",
                        max_length=254,
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
                        help_text="The person whose password it sets.",
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
            options={
                "db_table": "one_time_link",
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.IntegerField(help_text="From 1, within the evaluation.")),
                ("submitted_at", models.DateTimeField()),
                (
                    "corrected_scores",
                    models.JSONField(
                        help_text="Criterion -> {score, justification}, for every criterion that is not excluded.",
                        null=True,
                    ),
                ),
                ("comments", models.TextField(null=True)),
                (
                    "origins",
                    models.JSONField(
                        default=dict,
                        help_text="Criterion -> origin of its score: judge, extracted, human or file.",
                    ),
                ),
                (
                    "submission",
                    models.UUIDField(
                        default=uuid.uuid4, help_text="Idempotency key from the form or the API."
                    ),
                ),
                ("source_line", models.BigIntegerField(null=True)),
                (
                    "guideline_version",
                    models.IntegerField(null=True, help_text="The version of the guideline at the time."),
                ),
                (
                    "causes",
                    models.JSONField(
                        default=dict, help_text="Criterion -> cause, a word of the rubric's causes."
                    ),
                ),
                (
                    "extractor",
                    models.IntegerField(
                        help_text="`score_extraction.VERSION`, if scores were extracted from raw output.",
                        null=True,
                    ),
                ),
                (
                    "active_ms",
                    models.IntegerField(
                        help_text="Milliseconds for which the page was visible and in use, with idle time capped.",
                        null=True,
                    ),
                ),
                ("keys", models.IntegerField(help_text="Key presses outside text fields.", null=True)),
                ("words", models.IntegerField(help_text="Words of evidence on the page.", null=True)),
                (
                    "judged",
                    models.JSONField(
                        help_text="Criterion -> the judge's score at the time, parsed or extracted.",
                        null=True,
                    ),
                ),
                (
                    "overridden",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="Criteria of `judged` that the decision excludes, or gives a score that is not alike: see `scores.is_alike`.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "changes",
                    models.IntegerField(
                        help_text="Criteria whose score differs from the judge's, or that have a cause.",
                        null=True,
                    ),
                ),
                (
                    "judged_verdict",
                    models.CharField(help_text="The judge's verdict at the time.", max_length=10, null=True),
                ),
                (
                    "verdict",
                    models.CharField(
                        help_text="The verdict of the scores by the rule of the run at the time.",
                        max_length=10,
                        null=True,
                    ),
                ),
                (
                    "families",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="The record's flag reasons at the time: keys of `reason_families.ReasonFamily`.",
                        null=True,
                        size=None,
                    ),
                ),
                (
                    "is_sampled",
                    models.BooleanField(db_default=False, help_text="`Evaluation.is_sampled` at the time."),
                ),
                (
                    "blind_scores",
                    models.JSONField(
                        help_text="Criterion -> score given before the judge's scores were shown; None without blind review.",
                        null=True,
                    ),
                ),
                (
                    "blind_verdict",
                    models.CharField(help_text="The verdict of the blind scores.", max_length=10, null=True),
                ),
                (
                    "origin",
                    models.CharField(
                        choices=[("reviewer", "submitted by a reviewer"), ("file", "taken from a file")],
                        db_default="reviewer",
                        max_length=10,
                    ),
                ),
                (
                    "before",
                    models.JSONField(
                        help_text="State before it, for undo: the five human_* values, the current decision, is_outdated.",
                        null=True,
                    ),
                ),
                (
                    "conflict",
                    models.OneToOneField(
                        help_text="The conflict that the reviewer resolved by taking this decision of a file.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="review",
                        to="reviews.fileconflict",
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source_import",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.import",
                    ),
                ),
            ],
            options={
                "db_table": "review",
            },
        ),
        migrations.CreateModel(
            name="Overturn",
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
                            ("revised", "revised"),
                            ("reopened", "reopened"),
                            ("file", "replaced by the decision of a file"),
                        ],
                        max_length=10,
                    ),
                ),
                ("reason", models.TextField(blank=True)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "by",
                    models.ForeignKey(
                        help_text="The decision that replaced it, if any. If that one is undone, nothing is overturned.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.review",
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="overturns",
                        to="reviews.review",
                    ),
                ),
            ],
            options={
                "db_table": "overturn",
            },
        ),
        migrations.CreateModel(
            name="IndependentReview",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "is_open",
                    models.BooleanField(default=True, help_text="Whether the record has no decision yet."),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="independent_reviews",
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
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="independent_review",
                        to="reviews.review",
                    ),
                ),
            ],
            options={
                "db_table": "independent_review",
            },
        ),
        migrations.AddField(
            model_name="evaluation",
            name="review",
            field=models.ForeignKey(
                help_text="The current decision.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.review",
            ),
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "archived_at",
                    models.DateTimeField(
                        help_text="When it became read-only and left the lists. Null for other runs.",
                        null=True,
                    ),
                ),
                (
                    "deletion_requested_at",
                    models.DateTimeField(
                        help_text="Since when a job deletes it and nobody sees it. Null for other runs.",
                        null=True,
                    ),
                ),
                (
                    "mapping",
                    models.JSONField(
                        help_text="How lines of another format are read: see `mapping`. None if the lines are records.",
                        null=True,
                    ),
                ),
                (
                    "rubric",
                    models.JSONField(default=dict, help_text="How records are scored: see `Rubric.as_json`."),
                ),
                (
                    "is_rubric_declared",
                    models.BooleanField(
                        db_default=False,
                        help_text="Whether somebody has declared the rubric. Imports extend an inferred one.",
                    ),
                ),
                (
                    "guideline_version",
                    models.IntegerField(null=True, help_text="The current version of the guideline."),
                ),
                (
                    "blind_share",
                    models.FloatField(
                        default=reviews.models.runs.usual_blind_share,
                        help_text="Share of records that are reviewed blind, from 0 to 1.",
                    ),
                ),
                (
                    "sample_share",
                    models.FloatField(
                        default=0,
                        help_text="Share of unflagged records that are sampled for review, from 0 to 1.",
                    ),
                ),
                (
                    "overlap_share",
                    models.FloatField(
                        default=0, help_text="Share of records that several people review, from 0 to 1."
                    ),
                ),
                (
                    "overlap",
                    models.SmallIntegerField(
                        default=2, help_text="Number of people who review each of them."
                    ),
                ),
                (
                    "accuracy_target",
                    models.FloatField(
                        help_text="The blind accuracy that the judge should reach, from 0 to 1. Null for no target.",
                        null=True,
                    ),
                ),
                (
                    "spot_check_share",
                    models.FloatField(
                        default=0,
                        help_text="Share of decisions that are drawn for a spot check, from 0 to 1.",
                    ),
                ),
                (
                    "review_plan",
                    models.JSONField(
                        help_text="The plan that the queue serves: see `planned_shares.ReviewPlan`. Null for none.",
                        null=True,
                    ),
                ),
                (
                    "claim_minutes",
                    models.PositiveSmallIntegerField(
                        null=True,
                        help_text="How long a claim lasts, in minutes. Null means the setting of the site.",
                    ),
                ),
                (
                    "due_on",
                    models.DateField(
                        help_text="The due date of records without one of their own.", null=True
                    ),
                ),
                (
                    "is_restricted",
                    models.BooleanField(
                        default=reviews.models.runs.are_new_runs_restricted,
                        help_text="Whether only its members and admins may see the run.",
                    ),
                ),
                (
                    "members",
                    models.ManyToManyField(
                        db_table="run_member", related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "run",
                "permissions": [
                    ("import_file", "Can import files"),
                    ("export_run", "Can export runs"),
                    ("review_evaluation", "Can review evaluations"),
                    ("read_audit", "Can read the audit log"),
                    ("lead_review", "Can release claims of others"),
                    ("resolve_conflict", "Can resolve conflicts"),
                    ("configure_run", "Can change how a run is judged"),
                    ("import_context", "Can import task context"),
                    ("manage_people", "Can manage accounts"),
                    ("manage_webhooks", "Can manage webhooks"),
                    ("see_every_run", "Can see restricted runs without being a member"),
                ],
                "constraints": [models.UniqueConstraint(fields=("name",), name="run_name_is_unique")],
            },
        ),
        migrations.AddField(
            model_name="review",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="reviews",
                to="reviews.run",
            ),
        ),
        migrations.CreateModel(
            name="Reveal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("locked in", "after blind scores were locked in"),
                            ("shown", "on a page or by the API"),
                            ("downloaded", "in a file"),
                            (
                                "reviews",
                                "with the open independent reviews of others, to decide between them",
                            ),
                        ],
                        max_length=10,
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        help_text="None for every record of the run.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reveals",
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
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "reveal",
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
                ("family", models.TextField(help_text="The key of `reason_families.ReasonFamily`.")),
                ("reviews", models.BigIntegerField()),
                ("timed", models.BigIntegerField()),
                ("active_ms", models.BigIntegerField(help_text="Total over the timed reviews.")),
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
            },
        ),
        migrations.CreateModel(
            name="QueueFilled",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("transaction", models.BigIntegerField(help_text="Transaction id of PostgreSQL.")),
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
                "db_table": "queue_filled",
            },
        ),
        migrations.AddField(
            model_name="import",
            name="run",
            field=models.ForeignKey(
                help_text="None for an import into a new run, until a line is accepted.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="imports",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="fileconflict",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="conflicts",
                to="reviews.run",
            ),
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
                        help_text="As in `facets.Facet`. The value of a flag reason is the key of its family."
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
            },
        ),
        migrations.AddField(
            model_name="export",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="exports", to="reviews.run"
            ),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="evaluations",
                to="reviews.run",
            ),
        ),
        migrations.CreateModel(
            name="Escalation",
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
                            ("cannot judge", "can't judge"),
                            ("question", "question"),
                            ("disagreement", "reviewers disagree"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "reason",
                    models.CharField(blank=True, help_text="A key of `escalations.REASONS`.", max_length=40),
                ),
                ("note", models.TextField(blank=True)),
                ("raised_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("withdrawn", "withdrawn by the reviewer"),
                            ("returned", "back to the queue"),
                            ("decided", "a lead reviewed it"),
                            ("closed", "nobody can judge it"),
                            ("upheld", "decision upheld"),
                        ],
                        db_default="open",
                        max_length=10,
                    ),
                ),
                ("answer", models.TextField(blank=True, db_default="")),
                ("resolved_at", models.DateTimeField(null=True)),
                (
                    "answer_read_at",
                    models.DateTimeField(
                        help_text="When the person who raised it read the answer.", null=True
                    ),
                ),
                (
                    "raised_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "resolved_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="escalations",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="escalations",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "escalation",
            },
        ),
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
                ("judged", models.BigIntegerField(help_text="Reviews in which the judge had given a score.")),
                (
                    "overridden",
                    models.BigIntegerField(
                        help_text="Reviews among them whose human score differs or is missing."
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
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
                "db_table": "criterion_day",
            },
        ),
        migrations.CreateModel(
            name="ReviewerDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField(help_text="In UTC.")),
                (
                    "decisions",
                    models.BigIntegerField(help_text="Revisions and independent reviews included."),
                ),
                (
                    "changed",
                    models.BigIntegerField(help_text="Decisions among them with `Review.changes` above 0."),
                ),
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
                "db_table": "reviewer_day",
            },
        ),
        migrations.CreateModel(
            name="RecordDay",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField(help_text="In UTC.")),
                ("records", models.BigIntegerField()),
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
                "db_table": "record_day",
            },
        ),
        migrations.CreateModel(
            name="ContextImport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("file_name", models.CharField(max_length=255)),
                ("size", models.BigIntegerField(help_text="Bytes of the file as received.")),
                ("sha256", models.CharField(max_length=64)),
                ("tasks", models.BigIntegerField(default=0)),
                ("answers", models.BigIntegerField(default=0)),
                (
                    "rejected",
                    models.JSONField(
                        default=list, help_text="[{place, field, reason}, ...]; the first thousand."
                    ),
                ),
                ("rejected_count", models.BigIntegerField(default=0)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="context_imports",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "context_import",
            },
        ),
        migrations.AddField(
            model_name="bulkchange",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="bulk_changes", to="reviews.run"
            ),
        ),
        migrations.AddField(
            model_name="auditevent",
            name="run",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="reviews.run",
            ),
        ),
        migrations.CreateModel(
            name="Guideline",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("version", models.IntegerField(help_text="From 1, within the run.")),
                (
                    "text",
                    models.TextField(
                        blank=True, help_text="Markdown with LaTeX. Empty: the guideline was removed."
                    ),
                ),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="guidelines",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "guideline",
                "constraints": [
                    models.UniqueConstraint(fields=["run", "version"], name="guideline_version_is_unique")
                ],
            },
        ),
        migrations.CreateModel(
            name="RunCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("status", models.TextField()),
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
                "db_table": "run_count",
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
                ("name", models.CharField(help_text="Name of the filter.", max_length=20)),
                ("value", models.TextField()),
                ("title", models.TextField(help_text="Label, if it differs from the value.")),
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
                "db_table": "run_facet",
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("query", models.TextField()),
                ("is_shared", models.BooleanField(default=False, help_text="Whether everybody sees it.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "owner",
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
                        related_name="saved_views",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "saved_view",
            },
        ),
        migrations.CreateModel(
            name="Skip",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("skipped_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="skips",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="skips",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "skip",
            },
        ),
        migrations.CreateModel(
            name="SourceChunk",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.IntegerField(help_text="From 0, in file order.")),
                ("first_line", models.BigIntegerField(help_text="From 1.")),
                ("lines", models.IntegerField()),
                ("size", models.IntegerField(help_text="Bytes before compression.")),
                ("frame", models.BinaryField()),
                (
                    "digest",
                    models.BinaryField(
                        help_text="SHA-256 over place and frame, set by a trigger (`frame_checksums.sql`).",
                        null=True,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="chunks",
                        to="reviews.import",
                    ),
                ),
            ],
            options={
                "db_table": "source_chunk",
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
                (
                    "is_selected",
                    models.BooleanField(
                        db_default=False,
                        help_text="Whether a lead selected it. No share of agreement counts it.",
                    ),
                ),
                ("drawn_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("agreed", "Agreed"),
                            ("corrected", "Corrected"),
                            ("reopened", "Reopened"),
                        ],
                        db_default="open",
                        max_length=10,
                    ),
                ),
                ("note", models.TextField(blank=True, db_default="")),
                ("resolved_at", models.DateTimeField(null=True)),
                (
                    "drawn_by",
                    models.ForeignKey(
                        db_index=False,
                        help_text="The lead who drew it, and checks it. None for the standing sample of the run.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "correction",
                    models.OneToOneField(
                        help_text="The version with the lead's scores, if the lead corrected the decision.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="corrects",
                        to="reviews.review",
                    ),
                ),
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="spot_check",
                        to="reviews.review",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        help_text="The reviewer who made the decision.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
                (
                    "resolved_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "spot_check",
            },
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
                ("model_id", models.TextField(help_text="Empty if the record has no model.")),
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
        migrations.AddField(
            model_name="review",
            name="stratum",
            field=models.ForeignKey(
                db_index=False,
                help_text="The record's stratum at the time.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.stratum",
            ),
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
                ("cause", models.TextField(help_text="A key of `Run.causes`.")),
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
                        help_text="`aggregated_score`, or the verdict of the extracted scores; empty without a verdict."
                    ),
                ),
                ("evaluations", models.BigIntegerField()),
                (
                    "answered",
                    models.BigIntegerField(
                        db_default=0, help_text="Records among them that include the model's answer."
                    ),
                ),
                (
                    "clusters",
                    models.BinaryField(
                        db_default=b"",
                        help_text="The cluster of each record (`records.clusters`) less 32,768, as big-endian "
                        "16-bit integers.",
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
            name="TaskContext",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "task_id",
                    models.TextField(help_text="As in an evaluation; a number as written in the file."),
                ),
                ("prompt", models.TextField()),
                ("ideal_response", models.JSONField(help_text="A string or an object.", null=True)),
                ("final_answer", models.JSONField(null=True)),
                ("metadata", models.JSONField(default=dict)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="task_contexts",
                        to="reviews.run",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="contexts",
                        to="reviews.contextimport",
                    ),
                ),
            ],
            options={
                "db_table": "task_context",
            },
        ),
        migrations.CreateModel(
            name="TaskAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("model_id", models.TextField()),
                ("response_id", models.TextField(null=True)),
                ("response", models.JSONField(help_text="A string or an object.")),
                (
                    "context",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="reviews.taskcontext",
                    ),
                ),
            ],
            options={
                "db_table": "task_answer",
            },
        ),
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("changed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("file_name", models.CharField(max_length=255)),
                ("run_name", models.CharField(max_length=200)),
                ("strict", models.BooleanField(default=False)),
                ("size", models.BigIntegerField(help_text="Bytes of the whole file.")),
                ("offset", models.BigIntegerField(default=0, help_text="Bytes that have arrived.")),
                (
                    "chunked",
                    models.BigIntegerField(
                        help_text="Bytes that are stored as chunks of lines. Null if the file may be none of lines.",
                        null=True,
                    ),
                ),
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
            options={
                "db_table": "upload",
            },
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
                ("offset", models.BigIntegerField(help_text="Offset in the file, in bytes.")),
                (
                    "lines",
                    models.IntegerField(
                        help_text="Lines that end in a chunk. Null for any other part.", null=True
                    ),
                ),
                ("data", models.BinaryField(help_text="A zstd frame.")),
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
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("url", models.CharField(max_length=2000)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        default=reviews.models.webhooks.every_run_reviewed,
                        help_text="Names of the events that it is called about: see `notifications.event_types`.",
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("removed_at", models.DateTimeField(null=True)),
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
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "webhook",
            },
        ),
        migrations.CreateModel(
            name="WebhookSecret",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("encrypted", models.TextField(help_text="See `accounts.encryption`.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
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
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="secrets",
                        to="reviews.webhook",
                    ),
                ),
            ],
            options={
                "db_table": "webhook_secret",
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("message_id", models.CharField(help_text="The `webhook-id`.", max_length=40, unique=True)),
                ("event", models.CharField(max_length=40)),
                ("body", models.TextField(help_text="The signed JSON.")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("given up", "Given Up"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("next_attempt_at", models.DateTimeField(null=True)),
                (
                    "dismissed_at",
                    models.DateTimeField(
                        help_text="When its failure was dismissed from the inbox.", null=True
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="reviews.webhook",
                    ),
                ),
            ],
            options={
                "db_table": "webhook_delivery",
                "indexes": [
                    models.Index(
                        condition=models.Q(("dismissed_at", None), ("state", "given up")),
                        fields=["webhook"],
                        name="webhook_delivery_failed",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.SmallIntegerField(help_text="From 1.")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "status",
                    models.SmallIntegerField(help_text="HTTP status, if there was a response.", null=True),
                ),
                ("reason", models.CharField(help_text="Result in a short sentence.", max_length=300)),
                (
                    "delivery",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attempts",
                        to="reviews.webhookdelivery",
                    ),
                ),
            ],
            options={
                "db_table": "webhook_attempt",
            },
        ),
        migrations.CreateModel(
            name="Withdrawal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="withdrawal",
                        to="reviews.review",
                    ),
                ),
            ],
            options={
                "db_table": "withdrawal",
            },
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("username"), name="person_username_in_any_case"
            ),
        ),
        migrations.AddField(
            model_name="evaluationfacets",
            name="run",
            field=models.ForeignKey(
                db_constraint=False,
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
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.UniqueConstraint(fields=("evaluation", "reviewer"), name="draft_one_each"),
        ),
        migrations.AddConstraint(
            model_name="bulkchangeitem",
            constraint=models.UniqueConstraint(fields=("change", "evaluation"), name="bulk_change_item_once"),
        ),
        migrations.AddIndex(
            model_name="bulkchangeitem",
            index=models.Index(fields=["evaluation"], name="bulk_change_item_evaluation"),
        ),
        migrations.AddConstraint(
            model_name="exportpart",
            constraint=models.UniqueConstraint(fields=("export", "kind", "number"), name="export_part_place"),
        ),
        migrations.AddField(
            model_name="exportprogress",
            name="cancelled_by",
            field=models.ForeignKey(
                db_index=False,
                help_text="Who has asked the running job to stop.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="importprogress",
            name="cancelled_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="blindscores",
            constraint=models.UniqueConstraint(
                fields=("evaluation", "reviewer", "source_import", "source_line"), name="blind_scores_once"
            ),
        ),
        migrations.AddIndex(
            model_name="blindscores",
            index=models.Index(fields=["stratum", "is_sampled"], name="blind_scores_of_stratum"),
        ),
        migrations.AddIndex(
            model_name="importline",
            index=models.Index(
                condition=models.Q(("evaluation__isnull", False)),
                fields=["evaluation", "source"],
                name="import_line_evaluation",
            ),
        ),
        migrations.AddIndex(
            model_name="importline",
            index=models.Index(
                condition=models.Q(("first_import__isnull", False)),
                fields=["source", "first_import", "first_line"],
                name="import_line_unchanged",
            ),
        ),
        migrations.AddConstraint(
            model_name="importline",
            constraint=models.UniqueConstraint(fields=("source", "line"), name="import_line_place"),
        ),
        migrations.AddConstraint(
            model_name="importline",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("lines", 1), models.Q(("lines__gt", 1), ("outcome", "unchanged")), _connector="OR"
                ),
                name="import_line_range_is_unchanged",
            ),
        ),
        migrations.AddIndex(
            model_name="independentreview",
            index=models.Index(
                condition=models.Q(("is_open", True)), fields=["reviewer"], name="independent_review_given"
            ),
        ),
        migrations.AddIndex(
            model_name="independentreview",
            index=models.Index(fields=["evaluation"], name="independent_review_evaluation"),
        ),
        migrations.AddConstraint(
            model_name="independentreview",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_open", True)),
                fields=("evaluation", "reviewer"),
                name="independent_review_one_open",
            ),
        ),
        migrations.AddIndex(
            model_name="reveal",
            index=models.Index(
                condition=models.Q(("how", "reviews")),
                fields=["reviewer", "evaluation"],
                name="reveal_of_reviews",
            ),
        ),
        migrations.AddIndex(
            model_name="reveal",
            index=models.Index(fields=["evaluation"], name="reveal_evaluation"),
        ),
        migrations.AddConstraint(
            model_name="reveal",
            constraint=models.UniqueConstraint(
                fields=("run", "reviewer", "evaluation", "how"), name="reveal_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="reasoncount",
            constraint=models.UniqueConstraint(
                fields=("run", "reviewer", "family"), name="reason_count_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="queuefilled",
            constraint=models.UniqueConstraint(fields=("run", "transaction"), name="queue_filled_once"),
        ),
        migrations.AddConstraint(
            model_name="import",
            constraint=models.UniqueConstraint(fields=("run", "sequence"), name="import_sequence_is_unique"),
        ),
        migrations.AddConstraint(
            model_name="import",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "done"), _negated=True) | models.Q(("run__isnull", False)),
                name="import_done_has_run",
            ),
        ),
        migrations.AddIndex(
            model_name="import",
            index=models.Index(
                condition=models.Q(("dismissed_at", None), ("state", "failed")),
                fields=["id"],
                name="import_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="export",
            index=models.Index(
                condition=models.Q(("dismissed_at", None), ("state", "failed")),
                fields=["id"],
                name="export_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("deletion_requested_at__isnull", False), ("is_restricted", True), _connector="OR"
                ),
                fields=["id"],
                name="run_hidden",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("archived_at", None), ("is_rubric_declared", False)),
                fields=["id"],
                name="run_rubric_undeclared",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("review_plan__isnull", False)), fields=["id"], name="run_planned"
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
        migrations.AddConstraint(
            model_name="facetcount",
            constraint=models.UniqueConstraint(fields=("run", "name", "value"), name="facet_count_is_unique"),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("assigned_to"),
                models.OrderBy(models.F("priority"), descending=True),
                django.db.models.functions.comparison.Coalesce(
                    "due_on", models.Value(dt.date(9999, 12, 31)), output_field=models.DateField()
                ),
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
                models.F("run"), models.F("task_id"), models.F("model_id"), name="evaluation_siblings"
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("claimed_by"),
                models.F("claimed_until"),
                condition=models.Q(("claimed_by__isnull", False)),
                name="evaluation_claims",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("claimed_until"),
                condition=models.Q(("claimed_by__isnull", False)),
                name="evaluation_claim_expiry",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(models.F("run"), models.F("human_review_status"), name="evaluation_progress"),
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
                models.F("assigned_to"),
                models.F("run"),
                models.F("due_on"),
                condition=models.Q(
                    ("assigned_to__isnull", False),
                    ("human_review_status__in", ("Needs Review", "Pending")),
                    ("is_escalated", False),
                ),
                name="evaluation_workload",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("due_on"),
                models.F("id"),
                condition=models.Q(("due_on__isnull", False)),
                name="evaluation_due",
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
                fields=["run", "has_answer", "blind_position"],
                include=[
                    "id",
                    "needs_human_review",
                    "judge_llm_model",
                    "judge_prompt_template_path",
                    "model_id",
                ],
                condition=models.Q(
                    human_review_status__in=("Needs Review", "Pending"), review=None, was_shown=False
                ),
                name="evaluation_unseen",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                models.F("updated_at"),
                models.F("id"),
                condition=models.Q(("updated_at__isnull", False)),
                name="evaluation_updated",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"), condition=models.Q(("is_outdated", True)), name="evaluation_outdated"
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"), condition=models.Q(("is_sampled", True)), name="evaluation_sampled"
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("first_import"),
                models.F("first_line"),
                condition=models.Q(
                    ("review__isnull", False),
                    models.Q(("source_import", models.F("first_import")), _negated=True),
                    _connector="OR",
                ),
                name="evaluation_decided_or_moved",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluation",
            index=models.Index(
                models.F("run"),
                condition=models.Q(
                    models.Q(("needs_human_review", True), ("is_sampled", True), _connector="OR"),
                    models.Q(
                        models.Q(
                            ("human_review_status__in", ("Needs Review", "Pending")), ("was_shown", True)
                        ),
                        models.Q(
                            models.Q(("human_review_status__in", ("Needs Review", "Pending")), _negated=True),
                            ("review", None),
                        ),
                        _connector="OR",
                    ),
                ),
                name="evaluation_closed",
            ),
        ),
        migrations.AddConstraint(
            model_name="evaluation",
            constraint=models.UniqueConstraint(
                fields=("evaluation_id", "run"), name="evaluation_id_is_unique_in_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="evaluation",
            constraint=models.UniqueConstraint(
                fields=("run", "first_import", "first_line"), name="evaluation_place_is_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="escalation",
            index=models.Index(fields=["evaluation"], name="escalation_evaluation"),
        ),
        migrations.AddIndex(
            model_name="escalation",
            index=models.Index(
                condition=models.Q(("outcome", "open")), fields=["run", "id"], name="escalation_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="escalation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("outcome", "open")), fields=("evaluation",), name="escalation_one_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewerday",
            constraint=models.UniqueConstraint(
                fields=("day", "run", "reviewer"), name="reviewer_day_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="recordday",
            constraint=models.UniqueConstraint(
                fields=("day", "run", "reviewer"), name="record_day_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="criterionday",
            constraint=models.UniqueConstraint(
                fields=("run", "reviewer", "day", "criterion"), name="criterion_day_is_unique"
            ),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["actor", "run", "id"], name="audit_event_of_person"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["at", "id"], name="audit_event_by_time"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["actor", "at", "id", "action"], name="audit_event_by_actor"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["action", "at", "id"], name="audit_event_by_action"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["run", "at", "id"], name="audit_event_by_run"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["actor", "action", "at", "id"], name="audit_event_by_actor_action"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["run", "action", "at", "id"], name="audit_event_by_run_action"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(fields=["run", "actor", "at", "id"], name="audit_event_by_run_actor"),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(
                condition=models.Q(("address__isnull", False)),
                fields=["address", "at", "id", "action", "actor", "run"],
                name="audit_event_by_address",
            ),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(
                django.db.models.fields.json.KT("detail__username"),
                models.F("at"),
                models.F("id"),
                condition=models.Q(("detail__has_key", "username")),
                name="audit_event_about_person",
            ),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(
                django.db.models.fields.json.KT("detail__username"),
                models.F("action"),
                models.F("at"),
                models.F("id"),
                condition=models.Q(("detail__has_key", "username")),
                name="audit_event_about_action",
            ),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=django.contrib.postgres.indexes.HashIndex(
                condition=models.Q(("record", ""), _negated=True),
                fields=["record"],
                name="audit_event_of_record",
            ),
        ),
        migrations.AddIndex(
            model_name="runcount",
            index=models.Index(fields=["run", "status"], name="run_count_of_run"),
        ),
        migrations.AddConstraint(
            model_name="runfacet",
            constraint=models.UniqueConstraint(fields=("run", "name", "value"), name="run_facet_is_unique"),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(
                fields=("run", "owner", "name"), name="saved_view_name_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="skip",
            constraint=models.UniqueConstraint(fields=("reviewer", "evaluation"), name="skip_once"),
        ),
        migrations.AddIndex(
            model_name="skip",
            index=models.Index(fields=["evaluation"], name="skip_evaluation"),
        ),
        migrations.AddIndex(
            model_name="sourcechunk",
            index=models.Index(fields=["source", "first_line"], name="source_chunk_line"),
        ),
        migrations.AddConstraint(
            model_name="sourcechunk",
            constraint=models.UniqueConstraint(fields=("source", "number"), name="source_chunk_place"),
        ),
        migrations.AddIndex(
            model_name="spotcheck",
            index=models.Index(
                condition=models.Q(("outcome", "open")), fields=["drawn_by", "id"], name="spot_check_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="stratum",
            constraint=models.UniqueConstraint(
                fields=("run", "judge_llm_model", "judge_prompt_template_path", "model_id", "is_flagged"),
                name="stratum_is_unique",
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["reviewer", "id"], name="review_by_reviewer"),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("origin", "reviewer")),
                fields=["reviewer", "id"],
                include=("run", "submitted_at", "active_ms", "words", "changes", "verdict", "judged_verdict"),
                name="review_figures",
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("blind_scores__isnull", False), ("origin", "reviewer")),
                fields=["reviewer", "id"],
                name="review_blind",
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("judged__isnull", True), ("stratum", None), _connector="OR"),
                fields=["run", "evaluation"],
                name="review_unrated",
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(
                fields=("evaluation", "version"), name="review_version_is_unique"
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(fields=("submission",), name="review_submission_is_unique"),
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
        migrations.AddConstraint(
            model_name="taskcontext",
            constraint=models.UniqueConstraint(
                fields=("task_id", "run"), name="task_context_is_unique", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="taskanswer",
            constraint=models.UniqueConstraint(
                fields=("context", "model_id", "response_id"),
                name="task_answer_is_unique",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="uploadpart",
            constraint=models.UniqueConstraint(fields=("upload", "offset"), name="upload_part_place"),
        ),
        migrations.AddConstraint(
            model_name="webhookattempt",
            constraint=models.UniqueConstraint(fields=("delivery", "number"), name="webhook_attempt_number"),
        ),
        migrations.AddIndex(
            model_name="evaluationfacets",
            index=django.contrib.postgres.indexes.GinIndex(fields=["keys"], name="evaluation_facets_keys"),
        ),
        migrations.AddIndex(
            model_name="evaluationfacets",
            index=models.Index(
                models.F("run"),
                models.F("verdict_order"),
                models.F("evaluation"),
                name="evaluation_facets_verdict",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationfacets",
            index=models.Index(
                fields=["run", "response"],
                include=["evaluation", "verdict_order", "is_flagged", "cluster"],
                name="evaluation_facets_response",
            ),
        ),
        migrations.AddIndex(
            model_name="evaluationfacets",
            index=models.Index(
                condition=models.Q(("pair__isnull", False)),
                fields=["run", "pair"],
                name="evaluation_facets_pair",
            ),
        ),
        migrations.AddField(
            model_name="blindscores",
            name="stratum",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.stratum",
            ),
        ),
        migrations.CreateModel(
            name="RatingCell",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("criterion", models.TextField(help_text="None for the verdict of the record.", null=True)),
                (
                    "verdict",
                    models.TextField(help_text="The judge's verdict on the record, or empty."),
                ),
                (
                    "is_blind",
                    models.BooleanField(
                        help_text="Whether the human scored before the judge's scores were shown."
                    ),
                ),
                (
                    "is_sampled",
                    models.BooleanField(
                        help_text="Whether the record is in the random sample of unflagged records."
                    ),
                ),
                ("judge", models.TextField(help_text="None or null without a score.", null=True)),
                (
                    "human",
                    models.TextField(
                        help_text="The same; in a blind rating, the score that was locked in.", null=True
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
            options={"db_table": "rating_cell"},
        ),
        migrations.CreateModel(
            name="Rating",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "cluster",
                    models.IntegerField(help_text="The cluster of the record: see `records.clusters`."),
                ),
                (
                    "probability",
                    models.FloatField(help_text="As `BlindScores.probability`; 1 for an assisted rating."),
                ),
                (
                    "raters",
                    models.SmallIntegerField(
                        db_default=1,
                        help_text="The number of blind ratings of the record. Each weighs 1 / raters.",
                    ),
                ),
                (
                    "final",
                    models.TextField(
                        help_text="What the reviewer of a blind rating submitted after the reveal. None until then; an empty verdict or the score null if that has none.",
                        null=True,
                    ),
                ),
                (
                    "families",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="As `Review.families`, for the verdict only.",
                        null=True,
                        size=None,
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "blind_scores",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        help_text="The source of a blind rating.",
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="reviews.blindscores",
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ratings",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        help_text="The source of an assisted rating.",
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="reviews.review",
                    ),
                ),
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
                    "cell",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ratings",
                        to="reviews.ratingcell",
                    ),
                ),
            ],
            options={"db_table": "rating"},
        ),
        migrations.AddConstraint(
            model_name="ratingcell",
            constraint=models.UniqueConstraint(
                fields=("stratum", "criterion", "verdict", "is_blind", "is_sampled", "judge", "human"),
                name="rating_cell_is_unique",
                nulls_distinct=False,
            ),
        ),
        migrations.AddIndex(
            model_name="rating",
            index=models.Index(
                fields=["cell"],
                include=("cluster", "probability", "raters", "reviewer", "at", "evaluation", "final"),
                name="rating_of_cell",
            ),
        ),
        migrations.AddIndex(
            model_name="rating",
            index=models.Index(
                condition=models.Q(("raters__gt", 1)),
                fields=["cell"],
                include=("evaluation", "reviewer", "cluster", "probability", "at"),
                name="rating_of_several",
            ),
        ),
        migrations.AddIndex(
            model_name="rating",
            index=models.Index(fields=["evaluation"], name="rating_of_record"),
        ),
        migrations.CreateModel(
            name="GoldSet",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("run_name", models.CharField(help_text="The name of the run at the time.", max_length=200)),
                (
                    "is_restricted",
                    models.BooleanField(
                        db_default=False, help_text="Whether the run was restricted when it was deleted."
                    ),
                ),
                (
                    "filters",
                    models.JSONField(
                        help_text="The filters that chose its decisions: see `JudgeScope.as_json`."
                    ),
                ),
                (
                    "rubric",
                    models.JSONField(help_text="The rubric of the run at the time: see `Rubric.as_json`."),
                ),
                ("frozen_by", models.TextField(help_text="The username; empty for a command on the server.")),
                ("frozen_at", models.DateTimeField()),
                (
                    "is_imported",
                    models.BooleanField(db_default=False, help_text="Whether it came with a file."),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        help_text="None if the run was deleted or the set was imported.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "gold_set",
            },
        ),
        migrations.CreateModel(
            name="GoldRating",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "basis",
                    models.CharField(
                        choices=[
                            ("blind", "scored before the judge's scores were shown"),
                            ("adjudicated", "decided by a lead between reviewers who disagreed"),
                        ],
                        max_length=11,
                    ),
                ),
                ("response", models.BigIntegerField(help_text="As `EvaluationFacets.response`.")),
                ("evaluation_id", models.TextField(help_text="The record that was rated.")),
                ("task_id", models.TextField(null=True)),
                ("model_id", models.TextField(null=True)),
                ("is_flagged", models.BooleanField(help_text="Whether the record was flagged.")),
                ("scores", models.JSONField(help_text="Criterion -> score.")),
                (
                    "verdict",
                    models.CharField(help_text="The verdict of these scores.", max_length=10, null=True),
                ),
                (
                    "probability",
                    models.FloatField(help_text="As `Rating.probability`; 1 for an adjudicated decision."),
                ),
                ("raters", models.SmallIntegerField(help_text="As `Rating.raters`.")),
                ("reviewer", models.TextField(help_text="The username.")),
                ("guideline_version", models.IntegerField(null=True)),
                ("at", models.DateTimeField()),
                (
                    "gold_set",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ratings",
                        to="reviews.goldset",
                    ),
                ),
            ],
            options={
                "db_table": "gold_rating",
            },
        ),
        migrations.AddConstraint(
            model_name="goldset",
            constraint=models.UniqueConstraint(fields=("name",), name="gold_set_name_is_unique"),
        ),
        migrations.AddIndex(
            model_name="goldrating",
            index=models.Index(fields=["gold_set", "response"], name="gold_rating_of_response"),
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "event",
                    models.CharField(help_text="A key of `notifications.event_types.EVENTS`.", max_length=40),
                ),
                ("text", models.TextField(help_text="The sentence.")),
                ("path", models.TextField(help_text="The path of the page it is about.")),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("sent", "Sent"), ("failed", "Failed")],
                        db_default="waiting",
                        max_length=10,
                    ),
                ),
                ("due_at", models.DateTimeField(help_text="When to send it, or to attempt it again.")),
                (
                    "attempts",
                    models.SmallIntegerField(db_default=0, help_text="Failed attempts to send it."),
                ),
                (
                    "error",
                    models.TextField(blank=True, db_default="", help_text="Why the last attempt failed."),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        help_text="Null for an import without a run.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
            ],
            options={
                "db_table": "notification",
            },
        ),
        migrations.CreateModel(
            name="NotifiedEvents",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "position",
                    models.BigIntegerField(db_default=0, help_text="`AuditSeal.position` of the last event."),
                ),
            ],
            options={
                "db_table": "notified_events",
            },
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["due_at"], name="notification_waiting"
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=models.Q(("state", "failed")), fields=["person", "id"], name="notification_failed"
            ),
        ),
        migrations.AddIndex(
            model_name="escalation",
            index=models.Index(
                condition=models.Q(
                    ("answer_read_at", None), ("outcome__in", ("returned", "decided", "closed", "upheld"))
                ),
                fields=["raised_by", "id"],
                name="escalation_unread",
            ),
        ),
        migrations.CreateModel(
            name="KnownAnswerCheck",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("started_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ended_at", models.DateTimeField(help_text="None while it is running.", null=True)),
                (
                    "ended_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.run",
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        db_index=False,
                        help_text="The lead whose reviews it uses.",
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "known_answer_check",
            },
        ),
        migrations.CreateModel(
            name="KnownAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "evaluation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="known_answers",
                        to="reviews.evaluation",
                    ),
                ),
                (
                    "known_answer_check",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="reviews.knownanswercheck",
                    ),
                ),
            ],
            options={
                "db_table": "known_answer",
            },
        ),
        migrations.AddIndex(
            model_name="knownanswercheck",
            index=models.Index(fields=["run", "id"], name="known_answer_check_of_run"),
        ),
        migrations.AddConstraint(
            model_name="knownanswercheck",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)), fields=("run",), name="known_answer_check_one_running"
            ),
        ),
        migrations.AddIndex(
            model_name="knownanswer",
            index=models.Index(fields=["evaluation"], name="known_answer_evaluation"),
        ),
        migrations.AddConstraint(
            model_name="knownanswer",
            constraint=models.UniqueConstraint(
                fields=("known_answer_check", "evaluation"), name="known_answer_is_unique"
            ),
        ),
        migrations.CreateModel(
            name="RepeatableRequest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key_hash", models.CharField(help_text="Of the Idempotency-Key.", max_length=64)),
                ("fingerprint", models.CharField(help_text="SHA-256 of the request.", max_length=64)),
                (
                    "response",
                    models.TextField(help_text="Encrypted, because responses contain records and secrets."),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "repeatable_request",
                "indexes": [models.Index(fields=["created_at"], name="repeatable_request_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("person", "key_hash"), name="repeatable_request_key")
                ],
            },
        ),
    ]


# Below the list, so that the list stays as `makemigrations` writes it.
Migration.operations = [CreateTables(Migration.operations)]
