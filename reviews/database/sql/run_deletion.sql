-- Removes everything of a run whose deletion was requested. Called by runs/deletion.py.
-- The functions run as the owner of the tables, because the role of web servers and workers cannot delete decisions.
-- A test compares the tables with the foreign keys of the database.
CREATE FUNCTION check_deletion_requested(of_run bigint) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM run WHERE id = of_run AND deletion_requested_at IS NOT NULL) THEN
        RAISE EXCEPTION 'the deletion of run % was not requested', of_run USING ERRCODE = 'restrict_violation';
    END IF;
END $$;

-- Deletes at most `most` records of the run with all rows about them. Returns the number of records.
CREATE FUNCTION delete_run_records(of_run bigint, most int) RETURNS int LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    records bigint[];
    reviews bigint[];
BEGIN
    PERFORM check_deletion_requested(of_run);
    records := ARRAY(SELECT id FROM evaluation WHERE run_id = of_run LIMIT most);
    reviews := ARRAY(SELECT id FROM review WHERE evaluation_id = ANY(records));
    DELETE FROM withdrawal WHERE review_id = ANY(reviews);
    DELETE FROM overturn WHERE review_id = ANY(reviews);
    DELETE FROM spot_check WHERE review_id = ANY(reviews);
    DELETE FROM cause_mention WHERE review_id = ANY(reviews);
    DELETE FROM independent_review WHERE review_id = ANY(reviews);
    DELETE FROM known_answer WHERE evaluation_id = ANY(records);
    DELETE FROM rating WHERE evaluation_id = ANY(records);
    DELETE FROM blind_scores WHERE evaluation_id = ANY(records);
    DELETE FROM reveal WHERE run_id = of_run AND evaluation_id = ANY(records);
    DELETE FROM draft WHERE evaluation_id = ANY(records);
    DELETE FROM skip WHERE evaluation_id = ANY(records);
    DELETE FROM escalation WHERE evaluation_id = ANY(records);
    DELETE FROM bulk_change_item WHERE evaluation_id = ANY(records);
    DELETE FROM import_line WHERE evaluation_id = ANY(records);
    DELETE FROM evaluation_facets WHERE evaluation_id = ANY(records);
    DELETE FROM evaluation_words WHERE evaluation_id = ANY(records);
    -- One statement, because records and decisions refer to each other.
    WITH decisions AS (DELETE FROM review WHERE id = ANY(reviews)),
         conflicts AS (DELETE FROM file_conflict WHERE evaluation_id = ANY(records))
    DELETE FROM evaluation WHERE id = ANY(records);
    RETURN cardinality(records);
END $$;

-- Deletes a run without records.
CREATE FUNCTION delete_run(of_run bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM check_deletion_requested(of_run);
    DELETE FROM unindexed_import USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM upload_part USING upload, import
        WHERE upload_id = upload.id AND source_id = import.id AND run_id = of_run;
    DELETE FROM upload USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM export_part USING export WHERE export_id = export.id AND run_id = of_run;
    DELETE FROM export_progress USING export WHERE export_id = export.id AND run_id = of_run;
    DELETE FROM export WHERE run_id = of_run;
    DELETE FROM source_chunk USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import_line USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import_sums USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import_progress USING import WHERE source_id = import.id AND run_id = of_run;
    DELETE FROM import WHERE run_id = of_run;
    DELETE FROM task_answer USING task_context WHERE context_id = task_context.id AND run_id = of_run;
    DELETE FROM task_context WHERE run_id = of_run;
    DELETE FROM context_import WHERE run_id = of_run;
    DELETE FROM webhook_attempt USING webhook_delivery, webhook
        WHERE delivery_id = webhook_delivery.id AND webhook_id = webhook.id
          AND of_run IN (webhook_delivery.run_id, webhook.run_id);
    DELETE FROM webhook_delivery USING webhook
        WHERE webhook_id = webhook.id AND of_run IN (webhook_delivery.run_id, webhook.run_id);
    DELETE FROM webhook_secret USING webhook WHERE webhook_id = webhook.id AND run_id = of_run;
    DELETE FROM webhook WHERE run_id = of_run;
    DELETE FROM notification WHERE run_id = of_run;
    DELETE FROM rating_cell USING stratum WHERE stratum_id = stratum.id AND run_id = of_run;
    DELETE FROM stratum_count USING stratum WHERE stratum_id = stratum.id AND run_id = of_run;
    DELETE FROM stratum WHERE run_id = of_run;
    -- Gold sets stay. Those of a restricted run stay restricted.
    UPDATE gold_set SET run_id = NULL, is_restricted = run.is_restricted FROM run
    WHERE run.id = of_run AND gold_set.run_id = run.id;
    DELETE FROM reason_count WHERE run_id = of_run;
    DELETE FROM criterion_day WHERE run_id = of_run;
    DELETE FROM reviewer_day WHERE run_id = of_run;
    DELETE FROM record_day WHERE run_id = of_run;
    DELETE FROM facet_count WHERE run_id = of_run;
    DELETE FROM run_facet WHERE run_id = of_run;
    DELETE FROM reveal WHERE run_id = of_run;
    DELETE FROM known_answer_check WHERE run_id = of_run;
    DELETE FROM bulk_change WHERE run_id = of_run;
    DELETE FROM saved_view WHERE run_id = of_run;
    DELETE FROM guideline WHERE run_id = of_run;
    DELETE FROM run_member WHERE run_id = of_run;
    DELETE FROM queue_filled WHERE run_id = of_run;
    DELETE FROM run_count WHERE run_id = of_run;
    DELETE FROM run WHERE id = of_run;
END $$;

REVOKE ALL ON FUNCTION delete_run_records(bigint, int), delete_run(bigint) FROM PUBLIC;
