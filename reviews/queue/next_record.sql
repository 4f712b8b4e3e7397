-- Claims the next record of a run for a reviewer: finds, locks and updates one row of evaluation.
--
-- Parameters: run, reviewer, until (when the claim expires), is_prefetched, sees_every_run (whether restricted runs
-- are open to the reviewer), and after: the records on the reviewer's page when the next one is prefetched (the one on
-- the screen, then those prefetched before), otherwise null. Each "filter" comment is replaced by a condition,
-- and "columns" by the names of all columns.
--
-- Records that others have locked are skipped, and PostgreSQL checks the claim columns again on the newest
-- version of the row that it locks: two reviewers never get the same record. (A claim in a table of its own was
-- tried, and handed out 381 of 1,600 records twice.)
--
-- Records come by priority, then by due date, then task by task (shorter ids first, so 9 comes before 10), then by
-- model. A record without a due date of its own is due with its run, after those with that date of their own. In the
-- index evaluation_queue_order, such records come last, with 9999-12-31 for none, because an index does not find nulls
-- by equality: own_first and open_first look for them by a second probe. The index contains only records that nobody
-- has claimed. PostgreSQL uses it only if ORDER BY names all its columns, also those that WHERE fixes to one value.
WITH excluded AS MATERIALIZED (
    SELECT evaluation_id FROM skip WHERE reviewer_id = %(reviewer)s
    UNION ALL SELECT evaluation_id FROM independent_review WHERE reviewer_id = %(reviewer)s AND is_open
    UNION ALL SELECT evaluation_id FROM reveal
        WHERE reviewer_id = %(reviewer)s AND how = 'reviews' AND evaluation_id IS NOT NULL
    UNION ALL SELECT unnest(%(after)s::bigint[])
),

-- The task to continue: that of the last record on the page, or of the last review if that was in this run.
task AS MATERIALIZED (
    SELECT CASE WHEN %(after)s::bigint[] IS NOT NULL
    THEN (SELECT task_id FROM evaluation WHERE id = (%(after)s::bigint[])[cardinality(%(after)s::bigint[])])
    ELSE (
        SELECT CASE last.run_id WHEN %(run)s THEN last.task_id END
        FROM review JOIN evaluation last ON last.id = review.evaluation_id
        WHERE review.reviewer_id = %(reviewer)s ORDER BY review.id DESC LIMIT 1
    ) END AS id
),

-- Tasks that other reviewers are working on.
busy AS MATERIALIZED (
    SELECT task_id FROM evaluation
    WHERE run_id = %(run)s AND claimed_by_id <> %(reviewer)s AND claimed_until > now() AND task_id IS NOT NULL
    ORDER BY claimed_until DESC LIMIT 500
),

-- The record that the reviewer has claimed already, in the order in which records were prefetched; to prefetch, one
-- that is prefetched already but not on the page.
claimed AS MATERIALIZED (
    SELECT id FROM evaluation
    WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending')
      AND claimed_by_id = %(reviewer)s AND claimed_until > now()
      AND (%(after)s::bigint[] IS NULL OR (claim_is_prefetched AND id <> ALL(%(after)s::bigint[]))) /* filter */
    ORDER BY claim_is_prefetched, CASE WHEN claim_is_prefetched THEN claimed_until END, claimed_until DESC
    LIMIT 1 FOR NO KEY UPDATE
),

-- A record whose claim has expired was first before, and is first again.
expired AS MATERIALIZED (
    SELECT id FROM evaluation
    WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
      AND claimed_by_id IS NOT NULL AND claimed_until <= now()
      AND (assigned_to_id IS NULL OR assigned_to_id = %(reviewer)s) AND id NOT IN (TABLE excluded) /* filter */
    ORDER BY assigned_to_id, priority DESC,
             coalesce(due_on, (SELECT due_on FROM run WHERE id = %(run)s), '9999-12-31'),
             length(task_id), task_id, model_id, id
    LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
),

-- The highest priority, and its earliest due date, among the records of an assignment. 9999-12-31 stands for those due
-- with the run, or never. These rows are not locked: otherwise others would find the last record but one locked, too.
/* both */
own_dated AS MATERIALIZED (
    SELECT priority, coalesce(due_on, '9999-12-31') AS due FROM evaluation
    WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
      AND claimed_by_id IS NULL AND assigned_to_id = %(reviewer)s AND id NOT IN (TABLE excluded) /* filter */
    ORDER BY assigned_to_id, priority DESC, coalesce(due_on, '9999-12-31'),
             length(task_id), task_id, model_id, id
    LIMIT 1
),
own_first AS MATERIALIZED (
    SELECT priority, coalesce(
        CASE WHEN due > (SELECT due_on FROM run WHERE id = %(run)s) THEN (
            SELECT date '9999-12-31' FROM evaluation
            WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
              AND claimed_by_id IS NULL AND assigned_to_id = %(reviewer)s AND priority = own_dated.priority
              AND coalesce(due_on, '9999-12-31') = '9999-12-31' AND id NOT IN (TABLE excluded) /* filter */
            ORDER BY assigned_to_id, priority DESC, coalesce(due_on, '9999-12-31'),
                     length(task_id), task_id, model_id, id
            LIMIT 1
        ) END, due
    ) AS due
    FROM own_dated
)
/* end */,

-- Each part is evaluated, and locks a row, only if the parts before it found nothing.
next AS MATERIALIZED (
    SELECT coalesce(
        (SELECT id FROM claimed),
        (SELECT id FROM expired),

        -- First by priority and due date: a record of the task to continue.
        /* both */
        (
            SELECT id FROM evaluation
            WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
              AND claimed_by_id IS NULL AND assigned_to_id = %(reviewer)s
              AND priority = (SELECT priority FROM own_first)
              AND coalesce(due_on, '9999-12-31') = (SELECT due FROM own_first)
              AND length(task_id) = (SELECT length(id) FROM task) AND task_id = (TABLE task)
              AND id NOT IN (TABLE excluded) /* filter */
            ORDER BY assigned_to_id, priority DESC, coalesce(due_on, '9999-12-31'),
                     length(task_id), task_id, model_id, id
            LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        ),
        -- Otherwise one of the next 500 records whose task nobody else is working on.
        (
            SELECT id FROM evaluation
            WHERE id = ANY(ARRAY(
                SELECT id FROM evaluation
                WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
                  AND claimed_by_id IS NULL AND assigned_to_id = %(reviewer)s
                  AND priority = (SELECT priority FROM own_first)
                  AND coalesce(due_on, '9999-12-31') = (SELECT due FROM own_first)
                  AND id NOT IN (TABLE excluded) /* filter */
                ORDER BY assigned_to_id, priority DESC, coalesce(due_on, '9999-12-31'),
                         length(task_id), task_id, model_id, id
                LIMIT 500
            ))
              AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
              AND claimed_by_id IS NULL AND assigned_to_id = %(reviewer)s
              AND task_id NOT IN (TABLE busy)
            ORDER BY assigned_to_id, priority DESC, coalesce(due_on, '9999-12-31'),
                     length(task_id), task_id, model_id, id
            LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        ),
        -- Otherwise the first of them.
        (
            SELECT id FROM evaluation
            WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
              AND claimed_by_id IS NULL AND assigned_to_id = %(reviewer)s
              AND priority = (SELECT priority FROM own_first)
              AND coalesce(due_on, '9999-12-31') = (SELECT due FROM own_first)
              AND id NOT IN (TABLE excluded) /* filter */
            ORDER BY assigned_to_id, priority DESC, coalesce(due_on, '9999-12-31'),
                     length(task_id), task_id, model_id, id
            LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        ),
        -- If others have locked all of them, the first one of any date.
        (
            SELECT id FROM evaluation
            WHERE run_id = %(run)s AND human_review_status IN ('Needs Review', 'Pending') AND NOT is_escalated
              AND claimed_by_id IS NULL AND assigned_to_id = %(reviewer)s
              AND id NOT IN (TABLE excluded) /* filter */
            ORDER BY assigned_to_id, priority DESC, coalesce(due_on, '9999-12-31'),
                     length(task_id), task_id, model_id, id
            LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        )
        /* end */
    ) AS id
)

UPDATE evaluation SET
    claimed_by_id = %(reviewer)s, claimed_until = %(until)s, claim_is_prefetched = %(is_prefetched)s
FROM next WHERE evaluation.id = next.id
  -- The reviewer may have lost access to the run since it was loaded.
  AND (%(sees_every_run)s
       OR NOT (SELECT is_restricted FROM run WHERE id = %(run)s)
       OR EXISTS (SELECT FROM run_member WHERE run_id = %(run)s AND user_id = %(reviewer)s))
RETURNING
    /* columns */,
    EXISTS (SELECT FROM claimed) AS was_claimed,
    -- The revision of a draft that the reviewer left on the record.
    (SELECT revision FROM draft WHERE evaluation_id = evaluation.id AND reviewer_id = %(reviewer)s) AS draft
