"""The order of a run's files is a number that is given out as they commit, not the clock of a worker."""

from django.db import migrations, models

NUMBER = """
UPDATE import SET sequence = numbered.place
FROM (
    SELECT id, row_number() OVER (PARTITION BY run_id ORDER BY finished_at, id) AS place
    FROM import WHERE state = 'done'
) numbered
WHERE numbered.id = import.id;

CREATE FUNCTION number_import() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.sequence IS NOT NULL THEN
        NEW.sequence := OLD.sequence;
    ELSIF NEW.state <> 'done' THEN
        NEW.sequence := NULL;
    ELSIF NEW.sequence IS NULL THEN
        -- Imports take turns until they commit. Without a turn, the unique constraint lets only one of two pass.
        SELECT coalesce(max(sequence), 0) + 1 INTO NEW.sequence FROM import WHERE run_id = NEW.run_id;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER import_is_numbered BEFORE INSERT OR UPDATE ON import
    FOR EACH ROW EXECUTE FUNCTION number_import();
"""
UNNUMBER = """
DROP TRIGGER import_is_numbered ON import;
DROP FUNCTION number_import;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0020_frame_checksums"),
    ]

    operations = [
        migrations.AddField(
            model_name="import",
            name="sequence",
            field=models.BigIntegerField(
                help_text="The place among the run's finished imports, from 1. A trigger sets it.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="import",
            constraint=models.UniqueConstraint(fields=("run", "sequence"), name="import_sequence_is_unique"),
        ),
        migrations.RunSQL(NUMBER, UNNUMBER),
    ]
