"""A column and functions that find records of which the judge's output is hidden from a reader."""

from django.db import migrations, models

# One expression without a query, so that PostgreSQL puts it in place of the call: it is computed for every
# record that an import brings. `responses.holds_answer` says the same in Python.
HOLDS_ANSWER = """
CREATE FUNCTION holds_answer(response jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN response IS NULL OR response IN ('null', '""', '[]', '{}', 'false', '0') THEN false
        WHEN jsonb_typeof(response) <> 'object' THEN true
        WHEN jsonb_typeof(response -> 'response') IS DISTINCT FROM 'object' AND response ? 'response'
            THEN response -> 'response' NOT IN ('null', '""', '[]')
        ELSE jsonb_path_exists(
            coalesce(response -> 'response', response),
            'strict $.* ? (@.type() == "number" || @.type() == "boolean"
                           || @.type() == "string" && @ != ""
                           || @.type() == "array" && @.size() > 0
                           || @.type() == "object" && exists(@.*))'
        )
    END
$$;
"""
# The context and the answer that `contexts.of` takes.
ANSWER_IN_CONTEXT = """
CREATE FUNCTION answer_in_context(of_run bigint, of_task text, of_model text, of_response text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((
        SELECT holds_answer(task_answer.response)
        FROM (
            SELECT id FROM task_context WHERE task_id = of_task AND (run_id = of_run OR run_id IS NULL)
            ORDER BY run_id NULLS LAST LIMIT 1
        ) context JOIN task_answer ON context_id = context.id
        WHERE model_id = of_model
          AND (of_response IS NULL OR response_id IS NULL OR response_id = of_response)
        ORDER BY response_id IS NULL, response_id COLLATE "C" LIMIT 1
    ), false)
$$;
"""
DROP = "DROP FUNCTION {};"


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0023_accounts"),
    ]

    operations = [
        migrations.RunSQL(HOLDS_ANSWER, DROP.format("holds_answer(jsonb)")),
        migrations.AddField(
            "evaluation",
            "has_answer",
            models.GeneratedField(
                expression=models.Func(models.F("structured_model_response"), function="holds_answer"),
                output_field=models.BooleanField(),
                db_persist=True,
                help_text="Whether it holds an answer of the model: see `responses.holds_answer`.",
            ),
        ),
        migrations.RunSQL(ANSWER_IN_CONTEXT, DROP.format("answer_in_context(bigint, text, text, text)")),
    ]
