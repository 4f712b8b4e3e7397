-- Storage settings of tables.

-- Each claim and each decision leaves a dead row version at the front of the queue. With the defaults these are
-- removed only once a fifth of the table is dead, and every request for the next record would read them.
ALTER TABLE evaluation SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

-- Uncompressed: importing is faster, and frames and parts are compressed already.
ALTER TABLE evaluation
    ALTER COLUMN extra SET STORAGE EXTERNAL,
    ALTER COLUMN extracted_scores SET STORAGE EXTERNAL,
    ALTER COLUMN human_corrected_scores SET STORAGE EXTERNAL,
    ALTER COLUMN parsed_rubric_scores SET STORAGE EXTERNAL,
    ALTER COLUMN raw_judge_output SET STORAGE EXTERNAL,
    ALTER COLUMN review_reasons SET STORAGE EXTERNAL,
    ALTER COLUMN structured_ideal_response SET STORAGE EXTERNAL,
    ALTER COLUMN structured_model_response SET STORAGE EXTERNAL,
    ALTER COLUMN task_context SET STORAGE EXTERNAL;
ALTER TABLE source_chunk ALTER COLUMN frame SET STORAGE EXTERNAL;
ALTER TABLE export_part ALTER COLUMN frame SET STORAGE EXTERNAL;
ALTER TABLE upload_part ALTER COLUMN data SET STORAGE EXTERNAL;

-- The table of Django's database cache, as `createcachetable` makes it.
CREATE TABLE cache (
    cache_key varchar(255) PRIMARY KEY,
    value text NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX cache_expires ON cache (expires);
