"""What reviewers work with: drafts, escalations, task context, saved views, and how a run is judged."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0006_bulk_storage"),
    ]

    operations = [
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
                        choices=[("assign", "Assign"), ("prioritise", "Prioritise"), ("release", "Release")],
                        max_length=10,
                    ),
                ),
                ("query", models.TextField(help_text="Which list, as the query string of the page.")),
                ("priority", models.SmallIntegerField(null=True)),
                ("evaluations", models.BigIntegerField(default=0, help_text="How many records it changed.")),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "bulk_change",
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
            ],
            options={
                "db_table": "bulk_change_item",
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
                ("size", models.BigIntegerField(help_text="Bytes of the file as it came.")),
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
            ],
            options={
                "db_table": "context_import",
            },
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
                ("fields", models.JSONField(help_text="[[name, value], ...] as the review form posts them.")),
                (
                    "revision",
                    models.IntegerField(
                        db_default=1, help_text="Grows with every save; an older one is refused."
                    ),
                ),
                ("saved_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "db_table": "draft",
            },
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
                        choices=[("cannot judge", "Cannot Judge"), ("question", "flagged for a lead")],
                        max_length=20,
                    ),
                ),
                (
                    "reason",
                    models.CharField(blank=True, help_text="A word of `escalation.REASONS`.", max_length=40),
                ),
                ("note", models.TextField(blank=True)),
                ("raised_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("withdrawn", "taken back by the reviewer"),
                            ("returned", "back to the queue"),
                            ("decided", "a lead reviewed it"),
                            ("closed", "nobody can judge it"),
                        ],
                        db_default="open",
                        max_length=10,
                    ),
                ),
                ("answer", models.TextField(blank=True, db_default="")),
                ("settled_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "escalation",
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
            ],
            options={
                "db_table": "run_count",
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
            ],
            options={
                "db_table": "saved_view",
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
            ],
            options={
                "db_table": "task_answer",
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
                ("task_id", models.TextField(help_text="As an evaluation has it: a number as spelled.")),
                ("prompt", models.TextField()),
                ("ideal_response", models.JSONField(help_text="A string or an object.", null=True)),
                ("final_answer", models.JSONField(null=True)),
                ("metadata", models.JSONField(default=dict)),
            ],
            options={
                "db_table": "task_context",
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
            ],
            options={
                "db_table": "withdrawal",
            },
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
                ]
            },
        ),
        migrations.RemoveIndex(
            model_name="evaluation",
            name="evaluation_queue_order",
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
            name="is_escalated",
            field=models.BooleanField(db_default=False, help_text="Whether an escalation is open."),
        ),
        migrations.AddField(
            model_name="evaluation",
            name="priority",
            field=models.SmallIntegerField(db_default=0, help_text="Higher comes first."),
        ),
        migrations.AddField(
            model_name="review",
            name="active_ms",
            field=models.IntegerField(
                help_text="Milliseconds the page was visible and in use, idle time capped.", null=True
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="before",
            field=models.JSONField(
                help_text="What stood before it, for undo: the five human_* values, the review in force, is_stale.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="causes",
            field=models.JSONField(
                default=dict, help_text="Criterion -> why the judge was wrong there, a word of `Run.causes`."
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="extractor",
            field=models.IntegerField(
                help_text="`salvage.VERSION`, where scores were read out of raw output.", null=True
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="keys",
            field=models.IntegerField(help_text="Key presses outside of text fields.", null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="causes",
            field=models.JSONField(default=list, help_text="Why a judge may be wrong: [[word, title], ...]."),
        ),
        migrations.AddField(
            model_name="run",
            name="rubric",
            field=models.JSONField(
                default=dict,
                help_text='{"criteria": [name, ...], "scores": [JSON scalar, ...]}, in their order.',
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="verdict_rule",
            field=models.JSONField(
                default=dict, help_text="What the scores of a record come to: `verdict.Rule`."
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="has_shortcuts",
            field=models.BooleanField(db_default=True, help_text="Whether single keys are commands."),
        ),
        migrations.AddField(
            model_name="user",
            name="shortcuts",
            field=models.JSONField(
                blank=True, default=dict, help_text="Command -> key, where it is not the usual one."
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="theme",
            field=models.CharField(
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
                    ("human_review_status__in", ("Needs Review", "Pending")), ("is_escalated", False)
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
        migrations.AddField(
            model_name="bulkchange",
            name="actor",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="bulkchange",
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
            model_name="bulkchange",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="bulk_changes", to="reviews.run"
            ),
        ),
        migrations.AddField(
            model_name="bulkchangeitem",
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
            model_name="bulkchangeitem",
            name="change",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="items",
                to="reviews.bulkchange",
            ),
        ),
        migrations.AddField(
            model_name="bulkchangeitem",
            name="claimed_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="bulkchangeitem",
            name="evaluation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.evaluation",
            ),
        ),
        migrations.AddField(
            model_name="contextimport",
            name="created_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="contextimport",
            name="run",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="context_imports",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="evaluation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="drafts",
                to="reviews.evaluation",
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="reviewer",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="drafts",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="escalation",
            name="evaluation",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="escalations",
                to="reviews.evaluation",
            ),
        ),
        migrations.AddField(
            model_name="escalation",
            name="raised_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="escalation",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="escalations",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="escalation",
            name="settled_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="runcount",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="saved_views",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="taskcontext",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="task_contexts",
                to="reviews.run",
            ),
        ),
        migrations.AddField(
            model_name="taskcontext",
            name="source",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="contexts",
                to="reviews.contextimport",
            ),
        ),
        migrations.AddField(
            model_name="taskanswer",
            name="context",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="answers",
                to="reviews.taskcontext",
            ),
        ),
        migrations.AddField(
            model_name="withdrawal",
            name="actor",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="withdrawal",
            name="review",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="withdrawal", to="reviews.review"
            ),
        ),
        migrations.AddConstraint(
            model_name="bulkchangeitem",
            constraint=models.UniqueConstraint(fields=("change", "evaluation"), name="bulk_change_item_once"),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.UniqueConstraint(fields=("evaluation", "reviewer"), name="draft_one_each"),
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
        migrations.AddIndex(
            model_name="runcount",
            index=models.Index(fields=["run", "status"], name="run_count_of_run"),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(
                fields=("run", "owner", "name"), name="saved_view_name_is_unique"
            ),
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
    ]
