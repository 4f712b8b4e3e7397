-- Seals each audit event into a chain of hashes when its transaction commits.
-- Fired by every INSERT into audit_event; writes audit_seal. Read by audit/log.py and verify_audit.

-- The text whose hash is sealed. audit/log.py has the same expression, and a test compares the two.
-- Temporary tables come last in the search path, so that none of them can replace ours.
CREATE FUNCTION audit_event_text(event audit_event) RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT jsonb_build_object(
        'id', event.id, 'at', to_char(event.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'actor', event.actor_id, 'actor_name', event.actor_name, 'address', host(event.address),
        'action', event.action,
        'run', event.run_id, 'run_name', event.run_name, 'import', event.source_id,
        'evaluation', event.evaluation_id, 'record', event.record, 'detail', event.detail
    )::text
$$;

-- SECURITY DEFINER: only the owner of the tables may write seals, while the web role may add events.
CREATE FUNCTION seal_audit_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    head audit_seal;
    before bytea;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'audit events need a READ COMMITTED transaction: other levels may see an old chain head'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock(7201735);
    SELECT * INTO head FROM audit_seal ORDER BY position DESC LIMIT 1;
    before := coalesce(head.hash, decode(repeat('00', 32), 'hex'));
    INSERT INTO audit_seal (position, event_id, previous, hash) VALUES (
        coalesce(head.position, 0) + 1, NEW.id, before,
        sha256(before || sha256(convert_to(audit_event_text(NEW), 'UTF8')))
    );
    RETURN NULL;
END $$;

-- Nobody else can attach this function to a table of their own.
REVOKE ALL ON FUNCTION seal_audit_event() FROM PUBLIC;

-- Deferred, so that the chain head is locked only from the end of the transaction to its commit.
CREATE CONSTRAINT TRIGGER audit_event_is_sealed AFTER INSERT ON audit_event
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION seal_audit_event();
