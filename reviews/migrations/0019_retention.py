"""Store the unchanged lines of imports as ranges."""

import django.db.models.deletion
from django.db import migrations, models

# Rows from before are ranges of one line, and refer to their record as they did. Back again, all rows do.
TO_LINES = """
INSERT INTO import_line (source_id, line, lines, outcome, field, reason, first_import_id, first_line)
SELECT source_id, line + place, 1, outcome, field, reason, first_import_id, first_line + place
FROM import_line, generate_series(1, lines - 1) place WHERE lines > 1;
UPDATE import_line SET lines = 1 WHERE lines > 1;
UPDATE import_line SET evaluation_id = e.id
FROM evaluation e WHERE e.first_import_id = import_line.first_import_id AND e.first_line = import_line.first_line;
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0018_reveal")]

    operations = [
        migrations.AddField(
            model_name="importline",
            name="lines",
            field=models.BigIntegerField(
                db_default=1,
                default=1,
                help_text="The length of the range: more than 1 only for unchanged lines.",
            ),
        ),
        migrations.AddField(
            model_name="importline",
            name="first_import",
            field=models.ForeignKey(
                db_index=False,
                help_text="Of unchanged lines: the import that brought their records.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="reviews.import",
            ),
        ),
        migrations.AddField(
            model_name="importline",
            name="first_line",
            field=models.BigIntegerField(
                help_text="Of unchanged lines: the line of that import that brought the first record.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="importline",
            name="line",
            field=models.BigIntegerField(help_text="From 1, split on LF. The first one of a range."),
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
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("lines", 1), models.Q(("lines__gt", 1), ("outcome", "unchanged")), _connector="OR"
                ),
                name="import_line_range_is_unchanged",
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, TO_LINES),
    ]
