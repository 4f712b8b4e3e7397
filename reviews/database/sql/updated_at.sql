-- Sets evaluation.updated_at to the start of the transaction whenever the version of a record grows.
-- Fired by UPDATEs of evaluation that set the version. Read by the filter updated-since (search/filters.py).
CREATE FUNCTION note_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := now();
    RETURN NEW;
END $$;

CREATE TRIGGER evaluation_updated_at BEFORE UPDATE OF version ON evaluation FOR EACH ROW
    WHEN (NEW.version <> OLD.version) EXECUTE FUNCTION note_update();
