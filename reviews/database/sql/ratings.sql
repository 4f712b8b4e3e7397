-- Keeps the ratings that the judge's figures are computed from (tables rating_cell and rating): what a person and the
-- judge said about one criterion, or about the verdict.
-- A blind rating is added when blind scores are locked in. It stays whatever becomes of the record, until a file changes
-- what was rated. An assisted rating is that of the counted decision (`counted_decision.sql`), without blind scores.
-- Fired when blind scores or reviews are inserted, and when a record's decision, status or content changes. Read by the judge
-- package.

-- The cluster of a record: a number from 0 to 65,535 computed from its task, or from the record if it has no task.
-- Intervals take records of one cluster as dependent. Keep it equal to records/clusters.py.
CREATE FUNCTION task_cluster(task text, record text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('x' || left(encode(sha256(convert_to(coalesce('task:' || task, 'record:' || record), 'UTF8')), 'hex'), 4))
        ::bit(16)::int
$$;

-- Returns the scores of the judge and of a person for each criterion that the judge named, and for the verdict, whose
-- criterion is null. Texts are cut, so that they fit into an index.
CREATE FUNCTION score_pairs(judged jsonb, judged_verdict text, human jsonb, human_verdict text)
RETURNS TABLE (criterion text, judge text, human text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT NULL, judged_verdict, human_verdict
    UNION ALL (
        SELECT DISTINCT ON (left(key, 200)) left(key, 200), left(value::text, 200), left((human -> key)::text, 200)
        FROM jsonb_each(judged) ORDER BY left(key, 200)
    )
$$;

-- Adds the ratings of one person on one record. Either `of_blind_scores` or `of_review` is the key of their source.
CREATE FUNCTION add_ratings(
    record bigint, rater bigint, stratum bigint, sampled boolean, judged jsonb, judged_verdict text, human jsonb,
    human_verdict text, chance double precision, flag_families text[], rated_at timestamptz, of_blind_scores bigint,
    of_review bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- In the order of the key, so that transactions that add the same cells wait for each other in one order.
    INSERT INTO rating_cell (stratum_id, criterion, verdict, is_blind, is_sampled, judge, human)
    SELECT stratum, pair.criterion, coalesce(judged_verdict, ''), of_blind_scores IS NOT NULL, sampled, pair.judge,
           pair.human
    FROM score_pairs(judged, judged_verdict, human, human_verdict) AS pair ORDER BY 2, 6, 7
    ON CONFLICT DO NOTHING;

    INSERT INTO rating (
        cell_id, evaluation_id, reviewer_id, blind_scores_id, review_id, cluster, probability, families, at
    )
    SELECT cell.id, record, rater, of_blind_scores, of_review,
           task_cluster(evaluation.task_id, evaluation.evaluation_id), chance,
           CASE WHEN pair.criterion IS NULL THEN flag_families END, rated_at
    FROM score_pairs(judged, judged_verdict, human, human_verdict) AS pair
    JOIN rating_cell AS cell ON cell.stratum_id = stratum AND cell.criterion IS NOT DISTINCT FROM pair.criterion
        AND cell.verdict = coalesce(judged_verdict, '') AND cell.is_blind = (of_blind_scores IS NOT NULL)
        AND cell.is_sampled = sampled AND cell.judge IS NOT DISTINCT FROM pair.judge
        AND cell.human IS NOT DISTINCT FROM pair.human
    JOIN evaluation ON evaluation.id = record;
END $$;

CREATE FUNCTION add_blind_ratings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM add_ratings(
        NEW.evaluation_id, NEW.reviewer_id, NEW.stratum_id, NEW.is_sampled, NEW.judged, NEW.judged_verdict, NEW.scores,
        NEW.verdict, NEW.probability, NEW.families, NEW.at, NEW.id, NULL
    );
    -- Nothing changes with the first rating of a record: an update would write all its rows and index entries again.
    UPDATE rating SET raters = counted.raters
    FROM (SELECT count(DISTINCT blind_scores_id) AS raters FROM rating WHERE evaluation_id = NEW.evaluation_id) counted
    WHERE evaluation_id = NEW.evaluation_id AND blind_scores_id IS NOT NULL AND rating.raters <> counted.raters;
    RETURN NULL;
END $$;
CREATE TRIGGER blind_scores_are_rated AFTER INSERT ON blind_scores FOR EACH ROW EXECUTE FUNCTION add_blind_ratings();

-- Notes on blind ratings what their reviewer submitted after the judge's scores were shown: an empty verdict or the score
-- null if the reviewer came to no verdict or removed the criterion.
CREATE FUNCTION note_final_scores() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE rating SET final = CASE
        WHEN cell.criterion IS NULL THEN coalesce(NEW.verdict, '')
        ELSE coalesce((
            SELECT left((value -> 'score')::text, 200) FROM jsonb_each(NEW.corrected_scores)
            WHERE left(key, 200) = cell.criterion LIMIT 1
        ), 'null')
    END
    FROM rating_cell AS cell
    WHERE cell.id = rating.cell_id AND rating.evaluation_id = NEW.evaluation_id
      AND rating.reviewer_id = NEW.reviewer_id AND rating.blind_scores_id IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER review_notes_final_scores AFTER INSERT ON review
    FOR EACH ROW WHEN (NEW.blind_scores IS NOT NULL) EXECUTE FUNCTION note_final_scores();

CREATE FUNCTION replace_assisted_ratings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM rating WHERE evaluation_id = NEW.id AND review_id = OLD.review_id;
    PERFORM add_ratings(
        evaluation_id, reviewer_id, stratum_id, is_sampled, judged, judged_verdict,
        (SELECT jsonb_object_agg(key, value -> 'score') FROM jsonb_each(corrected_scores)), verdict, 1, families,
        submitted_at, NULL, id
    )
    FROM review
    WHERE id = counted_decision(NEW.review_id, NEW.human_review_status)
        AND judged IS NOT NULL AND stratum_id IS NOT NULL AND blind_scores IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_replaces_ratings AFTER UPDATE OF review_id, human_review_status ON evaluation
    FOR EACH ROW WHEN (
        counted_decision(OLD.review_id, OLD.human_review_status)
        IS DISTINCT FROM counted_decision(NEW.review_id, NEW.human_review_status)
    ) EXECUTE FUNCTION replace_assisted_ratings();

-- A file changed what was rated: the judge's output, the answer, or the record's stratum or task.
CREATE FUNCTION drop_blind_ratings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM rating WHERE evaluation_id = NEW.id AND blind_scores_id IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER evaluation_drops_blind_ratings AFTER UPDATE OF content_hash ON evaluation FOR EACH ROW WHEN (
    (OLD.judge_llm_model, OLD.judge_prompt_template_path, OLD.task_id, OLD.model_id, OLD.needs_human_review,
     OLD.aggregated_score, OLD.parsed_rubric_scores, OLD.raw_judge_output, OLD.structured_model_response)
    IS DISTINCT FROM
    (NEW.judge_llm_model, NEW.judge_prompt_template_path, NEW.task_id, NEW.model_id, NEW.needs_human_review,
     NEW.aggregated_score, NEW.parsed_rubric_scores, NEW.raw_judge_output, NEW.structured_model_response)
) EXECUTE FUNCTION drop_blind_ratings();
