"""Store the scores that are read out of raw judge output, so that no page has to read them again.

Records that are here already get theirs now: those whose scores the pipeline could not parse.
"""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from reviews.records.extracted_scores import extract

_UNPARSED = Q(parsed_rubric_scores={})


def extract_all(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001 (Django passes it)
    Evaluation = apps.get_model("reviews", "Evaluation")
    columns = ("pk", "parsed_rubric_scores", "raw_judge_output")
    for record in Evaluation.objects.filter(_UNPARSED).only(*columns).iterator(chunk_size=20):
        scores = extract(record.parsed_rubric_scores, record.raw_judge_output)
        Evaluation.objects.filter(pk=record.pk).update(extracted_scores=scores)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0021_file_order")]

    operations = [
        migrations.AddField(
            model_name="evaluation",
            name="extracted_scores",
            field=models.JSONField(
                help_text="Scores read out of raw output at import: see `extraction`. Null where parsed.",
                null=True,
            ),
        ),
        migrations.RunSQL(
            "ALTER TABLE evaluation ALTER COLUMN extracted_scores SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
        migrations.RunPython(extract_all, migrations.RunPython.noop, elidable=True),
    ]
