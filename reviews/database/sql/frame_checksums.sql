-- Adds a SHA-256 over place and content to each stored frame of a source file or an export.
-- Fired by every INSERT into source_chunk and export_part. Read by storage and exports, which compare it.
CREATE FUNCTION digest_source_chunk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.digest := sha256(int8send(NEW.source_id) || int4send(NEW.number) || int8send(NEW.first_line)
                         || int4send(NEW.lines) || int4send(NEW.size) || NEW.frame);
    RETURN NEW;
END $$;
CREATE TRIGGER source_chunk_has_digest BEFORE INSERT ON source_chunk
    FOR EACH ROW WHEN (NEW.digest IS NULL) EXECUTE FUNCTION digest_source_chunk();

CREATE FUNCTION digest_export_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.digest := sha256(int8send(NEW.export_id) || convert_to(NEW.kind, 'UTF8') || int4send(NEW.number)
                         || int8send(NEW.start) || int4send(NEW.size) || NEW.frame);
    RETURN NEW;
END $$;
CREATE TRIGGER export_part_has_digest BEFORE INSERT ON export_part
    FOR EACH ROW WHEN (NEW.digest IS NULL) EXECUTE FUNCTION digest_export_part();
