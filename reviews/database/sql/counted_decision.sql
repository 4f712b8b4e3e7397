-- Keeps nothing: which decision of a record the judge's figures count. It is the current one, unless the record was reopened
-- or a file changed it: such a record waits for another decision.
-- Called by triggers of ratings.sql and decision_counts.sql, and for the exported ratings.
CREATE FUNCTION counted_decision(current bigint, status text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN status NOT IN ('Needs Review', 'Pending') THEN current END
$$;
