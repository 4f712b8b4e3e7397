-- Numbers the finished imports of a run, in the order in which they commit. Never depends on a clock.
-- Fired by every INSERT and UPDATE of import. Read by exports, which write the files in this order.
CREATE FUNCTION number_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.sequence IS NOT NULL THEN
        NEW.sequence := OLD.sequence;
    ELSIF NEW.state <> 'done' THEN
        NEW.sequence := NULL;
    ELSIF NEW.sequence IS NULL THEN
        -- Lock.IMPORT lets one import at a time get here. Without it, the unique constraint refuses the second.
        SELECT coalesce(max(sequence), 0) + 1 INTO NEW.sequence FROM import WHERE run_id = NEW.run_id;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER import_is_numbered BEFORE INSERT OR UPDATE ON import
    FOR EACH ROW EXECUTE FUNCTION number_import();
