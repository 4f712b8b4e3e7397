-- Returns a number that records have in common if they have the same task, model and response; null without an answer.
-- Called for evaluation_facets.response (search/indexing.py) and for answers in task context (judge/comparison).
-- Records without a task never share a response with another record.
CREATE FUNCTION response_key(task text, record text, model text, response jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('x' || left(encode(sha256(convert_to(
        jsonb_build_array(task, CASE WHEN task IS NULL THEN record END, model, response)::text, 'UTF8'
    )), 'hex'), 16))::bit(64)::bigint
    WHERE response IS NOT NULL
$$;

-- Returns a number that records have in common if they compare the same two responses to a task, but for its last bit:
-- that differs between the two orders of the responses. Null without two different responses.
-- Called for evaluation_facets.pair (search/indexing.py).
CREATE FUNCTION pair_key(task text, record text, responses jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN one <> other THEN
        ('x' || left(encode(sha256(convert_to(jsonb_build_array(
            task, CASE WHEN task IS NULL THEN record END, least(one, other), greatest(one, other)
        )::text, 'UTF8')), 'hex'), 16))::bit(64)::bigint & ~1::bigint | (one > other)::int
    END
    FROM (
        SELECT responses #>> '{0,response}' COLLATE "C" AS one, responses #>> '{1,response}' COLLATE "C" AS other
    ) AS pair
$$;

-- Returns the answer that a record includes: its structured response, or else the responses of its own task context.
-- Called by search/indexing.py.
CREATE FUNCTION own_answer(structured jsonb, task_context jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN has_answer(structured) THEN structured
        WHEN has_any_answer(NULL, task_context) THEN task_context -> 'responses'
    END
$$;
