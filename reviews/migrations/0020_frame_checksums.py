"""Add checksums to kept frames and export parts, and a table for the sums of each import.

A trigger fills the checksum of a new row, so that the version before can go on writing. The statements
run outside of one transaction: adding a column locks its table for an instant, and filling the old rows
keeps nobody waiting. Each statement can be repeated.
"""

import django.db.models.deletion
from django.db import migrations, models

FIGURES = "Columns of the import when it ended; empty while it has not. See `kept_sums`."
CHUNK_DIGEST = """sha256(int8send({0}source_id) || int4send({0}number) || int8send({0}first_line)
    || int4send({0}lines) || int4send({0}size) || {0}frame)"""
PART_DIGEST = (
    "sha256(int8send({0}export_id) || convert_to({0}kind, 'UTF8') || int4send({0}number) || {0}frame)"
)
TRIGGER = """
CREATE OR REPLACE FUNCTION digest_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.digest := {new};
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER {table}_has_digest BEFORE INSERT ON {table}
    FOR EACH ROW WHEN (NEW.digest IS NULL) EXECUTE FUNCTION digest_{table}();
"""
FILL = "UPDATE {table} SET digest = {digest} WHERE digest IS NULL"
SUMS = """
CREATE TABLE IF NOT EXISTS import_sums (
    source_id bigint PRIMARY KEY REFERENCES import DEFERRABLE INITIALLY DEFERRED,
    text_size bigint NOT NULL,
    text_lines bigint NOT NULL,
    text_sha256 varchar(64) NOT NULL,
    frames_sha256 varchar(64) NOT NULL,
    figures jsonb NOT NULL,
    noted jsonb NOT NULL
);
"""
FILL_SUMS = """
INSERT INTO import_sums (source_id, text_size, text_lines, text_sha256, frames_sha256, figures, noted)
SELECT import.id, chunks.size, import.lines,
       CASE WHEN import.size = chunks.size THEN import.sha256 ELSE '' END,
       encode(sha256(chunks.digests), 'hex'),
       jsonb_build_object(
           'run_id', run_id, 'file_name', file_name, 'state', state, 'size', import.size, 'sha256', sha256, 'has_bom', has_bom,
           'repeated_lines', repeated_lines, 'lines', import.lines, 'new', new, 'unchanged', unchanged,
           'updated', updated, 'conflicts', conflicts, 'rejected', rejected, 'blank', blank),
       noted.sums
FROM import,
LATERAL (
    SELECT coalesce(sum(size), 0) AS size, coalesce(string_agg(digest, '' ORDER BY number), '') AS digests
    FROM source_chunk WHERE source_id = import.id
) chunks,
LATERAL (
    SELECT coalesce(jsonb_object_agg(outcome, text), '{}') AS sums FROM (
        SELECT outcome, concat_ws(' ', sum(lines), sum(line), sum(line::numeric * line),
                                  sum(line::numeric * lines),
                                  sum(line::numeric * coalesce(evaluation_id, 0)),
                                  sum(line::numeric * coalesce(first_import_id, 0)),
                                  sum(line::numeric * coalesce(first_line, 0))) AS text
        FROM import_line WHERE source_id = import.id GROUP BY outcome
    ) of_outcome
) noted
WHERE state = 'done'
ON CONFLICT DO NOTHING
"""
REMOVE = "DROP TRIGGER {table}_has_digest ON {table}; DROP FUNCTION digest_{table};"


def checksum(model: str, table: str, digest: str) -> list[migrations.RunSQL]:
    field = models.BinaryField(
        null=True,
        help_text="SHA-256 of the row's place and frame; a trigger fills it. See `{}`.".format(
            {"source_chunk": "source", "export_part": "exports"}[table]
        ),
    )
    return [
        migrations.RunSQL(
            f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS digest bytea",
            f"ALTER TABLE {table} DROP COLUMN digest",
            state_operations=[migrations.AddField(model, "digest", field)],
        ),
        migrations.RunSQL(TRIGGER.format(table=table, new=digest.format("NEW.")), REMOVE.format(table=table)),
        migrations.RunSQL(FILL.format(table=table, digest=digest.format("")), migrations.RunSQL.noop),
    ]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("reviews", "0019_retention")]

    operations = [
        *checksum("sourcechunk", "source_chunk", CHUNK_DIGEST),
        *checksum("exportpart", "export_part", PART_DIGEST),
        migrations.RunSQL(
            SUMS,
            "DROP TABLE import_sums",
            state_operations=[
                migrations.CreateModel(
                    name="ImportSums",
                    fields=[
                        (
                            "source",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.PROTECT,
                                primary_key=True,
                                related_name="sums",
                                serialize=False,
                                to="reviews.import",
                            ),
                        ),
                        (
                            "text_size",
                            models.BigIntegerField(help_text="Bytes of the kept text, after unpacking."),
                        ),
                        ("text_lines", models.BigIntegerField()),
                        (
                            "text_sha256",
                            models.CharField(
                                blank=True,
                                help_text="Empty where the file came packed or as an array.",
                                max_length=64,
                            ),
                        ),
                        (
                            "frames_sha256",
                            models.CharField(
                                help_text="SHA-256 over the checksums of the frames.", max_length=64
                            ),
                        ),
                        (
                            "figures",
                            models.JSONField(
                                default=dict,
                                help_text=FIGURES,
                            ),
                        ),
                        (
                            "noted",
                            models.JSONField(
                                default=dict, help_text="Sums over its `import_line` rows, by outcome."
                            ),
                        ),
                    ],
                    options={"db_table": "import_sums"},
                ),
            ],
        ),
        migrations.RunSQL(FILL_SUMS, migrations.RunSQL.noop),
    ]
