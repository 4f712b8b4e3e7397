-- Keeps usernames as they are: they are the human_reviewer_id of exported records.
-- Fired by every UPDATE of a person that changes the username.
CREATE FUNCTION refuse_new_username() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a username cannot be changed: records and files name %', OLD.username
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER person_keeps_username BEFORE UPDATE ON person
    FOR EACH ROW WHEN (OLD.username IS DISTINCT FROM NEW.username) EXECUTE FUNCTION refuse_new_username();
