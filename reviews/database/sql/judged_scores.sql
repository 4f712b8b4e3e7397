-- Returns the judge's scores of a record, {criterion: score}: those that the pipeline parsed, or else those extracted
-- from the raw output. Long texts are cut, and a list or object as a score is empty, so that the result is small.
-- Called by lists of records (search/verdicts.py). Keep it equal to facets.judged_criteria in Python.
CREATE FUNCTION judged_scores(parsed jsonb, extracted jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT jsonb_object_agg(criterion, CASE jsonb_typeof(score)
        WHEN 'string' THEN to_jsonb(left(score #>> '{}', 1000))
        WHEN 'object' THEN '{}'
        WHEN 'array' THEN '[]'
        ELSE coalesce(score, 'null')
    END)
    FROM (
        SELECT key AS criterion, CASE jsonb_typeof(value) WHEN 'object' THEN value -> 'score' ELSE value END AS score
        FROM jsonb_each(parsed)
        UNION ALL
        SELECT proposal ->> 'criterion', proposal -> 'score'
        FROM jsonb_array_elements(extracted -> 'proposals') AS proposal
        WHERE parsed = '{}'
    ) AS judged
$$;
