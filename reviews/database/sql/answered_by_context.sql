-- Returns the answer that a model gave to a task, from the task context of a run; null without one.
-- Read by answered_by_context() and judge/comparison. Takes the same context and answer as evidence/task_context.py.
CREATE FUNCTION context_answer(of_run bigint, of_task text, of_model text, of_response text) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT task_answer.response
    FROM (
        SELECT id FROM task_context WHERE task_id = of_task AND (run_id = of_run OR run_id IS NULL)
        ORDER BY run_id NULLS LAST LIMIT 1
    ) context JOIN task_answer ON context_id = context.id
    WHERE model_id = of_model
      AND (of_response IS NULL OR response_id IS NULL OR response_id = of_response)
    ORDER BY response_id IS NULL, response_id COLLATE "C" LIMIT 1
$$;

-- Says whether the task context of a run has the answer that a model gave to a task.
-- Read by search/hidden_records.py.
CREATE FUNCTION answered_by_context(of_run bigint, of_task text, of_model text, of_response text) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(has_answer(context_answer(of_run, of_task, of_model, of_response)), false)
$$;
