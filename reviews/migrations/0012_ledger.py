"""Each audit event is sealed into a chain of hashes when its transaction commits."""

import django.db.models.deletion
from django.db import migrations, models

# What stood beside the keys of events before they had names.
NAMES = """
ALTER TABLE audit_event DISABLE TRIGGER audit_event_is_append_only;
UPDATE audit_event SET
    run_name = coalesce((SELECT name FROM run WHERE run.id = run_id), ''),
    record = coalesce((SELECT evaluation.evaluation_id FROM evaluation WHERE evaluation.id = audit_event.evaluation_id), '')
WHERE run_id IS NOT NULL OR evaluation_id IS NOT NULL;
ALTER TABLE audit_event ENABLE TRIGGER audit_event_is_append_only;
"""

# The text is `ledger.EVENT_TEXT`, which a test compares. The seal is the owner's to write: whoever may add an
# event may add no seal. Temporary tables come last in the path, so that none can stand in the place of ours.
# The trigger is deferred: the head of the chain is locked from here to the end of the commit, however long
# the transaction was before.
SEAL = """
CREATE FUNCTION audit_event_text(event audit_event) RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT jsonb_build_object(
        'id', event.id, 'at', to_char(event.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        'actor', event.actor_id, 'actor_name', event.actor_name, 'action', event.action,
        'run', event.run_id, 'run_name', event.run_name, 'import', event.source_id,
        'evaluation', event.evaluation_id, 'record', event.record, 'detail', event.detail
    )::text
$$;

CREATE FUNCTION seal_audit_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    head audit_seal;
    before bytea;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'audit events are sealed in READ COMMITTED transactions only: others see an old head'
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

-- Nobody else hangs it on a table of their own.
REVOKE ALL ON FUNCTION seal_audit_event() FROM PUBLIC;

CREATE FUNCTION seal_earlier_audit_events() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    event audit_event;
    place bigint := 0;
    before bytea := decode(repeat('00', 32), 'hex');
    now bytea;
BEGIN
    FOR event IN SELECT * FROM audit_event ORDER BY id LOOP
        place := place + 1;
        now := sha256(before || sha256(convert_to(audit_event_text(event), 'UTF8')));
        INSERT INTO audit_seal (position, event_id, previous, hash) VALUES (place, event.id, before, now);
        before := now;
    END LOOP;
END $$;
SELECT seal_earlier_audit_events();
DROP FUNCTION seal_earlier_audit_events;

CREATE CONSTRAINT TRIGGER audit_event_is_sealed AFTER INSERT ON audit_event
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION seal_audit_event();
CREATE TRIGGER audit_seal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seal
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
UNSEAL = """
DROP TRIGGER audit_seal_is_append_only ON audit_seal;
DROP TRIGGER audit_event_is_sealed ON audit_event;
DROP FUNCTION seal_audit_event;
DROP FUNCTION audit_event_text;
"""


class Migration(migrations.Migration):
    dependencies = [("reviews", "0011_accounts")]

    operations = [
        migrations.AddField("auditevent", "run_name", models.TextField(blank=True, default="")),
        migrations.AddField(
            "auditevent",
            "record",
            models.TextField(blank=True, default="", help_text="The evaluation_id of the evaluation."),
        ),
        migrations.RunSQL(NAMES, migrations.RunSQL.noop),
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                (
                    "position",
                    models.BigIntegerField(
                        help_text="From 1, without gaps.", primary_key=True, serialize=False
                    ),
                ),
                ("previous", models.BinaryField()),
                ("hash", models.BinaryField()),
                (
                    "event",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="seal",
                        to="reviews.auditevent",
                    ),
                ),
            ],
            options={"db_table": "audit_seal"},
        ),
        migrations.RunSQL(SEAL, UNSEAL),
    ]
