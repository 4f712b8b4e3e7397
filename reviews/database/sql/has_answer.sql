-- Says whether a model's response contains an answer.
-- Called by has_any_answer() and answered_by_context().
-- One expression without a query: PostgreSQL inlines it into the INSERTs of an import.
-- Keep it equal to responses.has_answer in Python.
CREATE FUNCTION has_answer(response jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
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

-- Says whether a record has an answer of a model: its structured response, or a response in its own task context.
-- Called for the generated column evaluation.has_answer.
-- A parsed body, because a restore finds no function by an unqualified name.
CREATE FUNCTION has_any_answer(structured jsonb, task_context jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN has_answer(structured)
    OR has_answer(task_context #> '{responses,0,response}')
    OR has_answer(task_context #> '{responses,1,response}');
