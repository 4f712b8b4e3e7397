"""Audit events and reviews take INSERT and nothing else: the database itself refuses the rest."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
"""
PROTECT = """
CREATE TRIGGER {table}_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table}
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
UNPROTECT = "DROP TRIGGER {table}_is_append_only ON {table};"
TABLES = ("audit_event", "review")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_initial")]

    operations = [
        migrations.RunSQL(REFUSE, "DROP FUNCTION refuse_change;"),
        *(migrations.RunSQL(PROTECT.format(table=table), UNPROTECT.format(table=table)) for table in TABLES),
    ]
