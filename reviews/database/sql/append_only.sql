-- Keeps decisions, reveals and the audit log append-only: no row is ever changed or removed.
-- Fired by every UPDATE, DELETE and TRUNCATE on these tables.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER audit_event_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_seal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER review_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON review
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER withdrawal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON withdrawal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER overturn_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON overturn
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER blind_scores_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON blind_scores
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reveal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reveal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
