from django.db import migrations

JSON_COLUMNS = (
    "raw_judge_output",
    "parsed_rubric_scores",
    "review_reasons",
    "structured_model_response",
    "structured_ideal_response",
    "human_corrected_scores",
    "extra",
)


def storage(kind: str) -> str:
    """What is long is kept outside of the row in any case; EXTENDED tries to compress it before."""
    columns = [("evaluation", name) for name in JSON_COLUMNS] + [("source_chunk", "frame")]
    return ";".join(
        f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE {kind}" for table, column in columns
    )


class Migration(migrations.Migration):
    """PostgreSQL spends a third of an import on compressing JSON by a quarter, and frames not at all."""

    dependencies = [("reviews", "0005_reimport")]

    operations = [migrations.RunSQL(storage("EXTERNAL"), storage("EXTENDED"))]
