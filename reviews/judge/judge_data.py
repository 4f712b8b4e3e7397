"""Export the data behind the judge's figures: one table of ratings, and one of the records they represent.

The two tables are all that is needed to compute the figures again: see docs/recipes/judge_accuracy.py.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
from django.db import connection, transaction
from django.db.models.functions import Length

from reviews.audit import events, reveals
from reviews.database.held_transaction import HeldTransaction
from reviews.database.replica import yield_from_replica
from reviews.exports import formats, typed_tables
from reviews.exports.typed_tables import Column
from reviews.judge.cells import unpack_clusters
from reviews.models import BlindScores, Run, StratumCount, User
from reviews.search import strata

_RECORD = (
    Column("judge_llm_model", "text"),
    Column("judge_prompt_template_path", "text"),
    Column("model_id", "text"),
    Column("is_flagged", "boolean"),
)
RATINGS = (
    Column("evaluation_id", "text"),
    Column("task_id", "text"),
    *_RECORD,
    Column("is_sampled", "boolean"),
    Column("flag_families", "texts"),
    Column("cell", "text"),
    Column("cell_records", "integer"),
    Column("cluster", "integer"),
    Column("basis", "text"),
    Column("is_counted", "boolean"),
    Column("probability", "number"),
    Column("raters", "integer"),
    Column("reviewer", "text"),
    Column("guideline_version", "integer"),
    Column("rated_at", "time"),
    Column("submitted_at", "time"),
    Column("active_ms", "integer"),
    Column("decision_active_ms", "integer"),
    Column("judge_verdict", "text"),
    Column("verdict", "text"),
    Column("final_verdict", "text"),
    Column("scores", "scores"),
    Column("record_status", "text"),
    Column("is_escalated", "boolean"),
    Column("withheld", "boolean"),
)
POPULATION = (
    Column("cell", "text"),
    *_RECORD,
    Column("judge_verdict", "text"),
    Column("cluster", "integer"),
    Column("records", "integer"),
)
#: The tables by name.
TABLES = {"ratings": RATINGS, "population": POPULATION}


class InvalidJudgeData(Exception):
    """The data cannot be exported like this. The message says why."""


class JudgeDataOptions(NamedTuple):
    """A table of a run's judge data, in a format."""

    run: Run
    #: A key of `TABLES`.
    table: str = "ratings"
    #: One of `typed_tables.FORMATS`.
    format: str = "jsonl"

    @property
    def file_name(self) -> str:
        """The name of the file. It starts with the run's name, which may contain any printable character."""
        return f"{self.run.name}-judge-{self.table}{formats.ENDINGS[self.format]}"

    def check(self) -> None:
        """Raise `InvalidJudgeData` if the format cannot be written or the records are not counted yet."""
        try:
            formats.check_installed(self.format)
        except formats.PackageMissing as missing:
            raise InvalidJudgeData(str(missing)) from missing
        why = strata.why_not_counted(self.run) if self.table == "population" else ""
        if why:
            raise InvalidJudgeData(why)


def export_judge_data(*, options: JudgeDataOptions, reader: User | None) -> Iterator[bytes]:
    """Return the blocks of a table's file, and record its export. Raises `InvalidJudgeData` at once.

    Without a reader nothing is withheld (a command on the server). With one, the judge's scores of the whole
    run count as shown to them, and other people's scores on records that the reader may still review are
    withheld.
    """
    options.check()
    with transaction.atomic():
        if reader:
            reveals.record_download(run=options.run, reader=reader)
        events.record(
            "export judge data", actor=reader, run=options.run, table=options.table, format=options.format
        )
    return _blocks(options, reader)


@yield_from_replica
def _blocks(options: JudgeDataOptions, reader: User | None) -> Iterator[bytes]:
    with HeldTransaction():
        rows = _ratings(options.run, reader) if options.table == "ratings" else _population(options.run)
        yield from typed_tables.write_table(rows, TABLES[options.table], options.format)


# One row for each blind rating, and for each decision of a decided record without blind scores. The scores
# after the reveal are those of the same person's newest version on the same evidence.
_RATINGS = """
    SELECT evaluation.evaluation_id, evaluation.task_id, stratum.judge_llm_model,
           stratum.judge_prompt_template_path, nullif(stratum.model_id, ''), stratum.is_flagged,
           given.is_sampled, given.families, stratum.id, coalesce(rating.judge, given.judged_verdict, ''),
           rating.cluster,
           given.blind, rating.id IS NOT NULL,
           CASE WHEN given.blind IS NOT NULL THEN coalesce(rating.probability, given.probability) END,
           rating.raters, person.username,
           given.guideline_version, given.at, final.submitted_at, given.active_ms,
           CASE WHEN final.id = counted_decision(evaluation.review_id, evaluation.human_review_status)
                THEN final.active_ms END,
           CASE WHEN rating.id IS NULL THEN given.judged_verdict ELSE rating.judge END,
           CASE WHEN rating.id IS NULL THEN given.verdict ELSE rating.human END,
           CASE WHEN rating.id IS NULL THEN final.verdict WHEN given.blind IS NULL THEN rating.human
                ELSE nullif(rating.final, '') END, given.judged::text, given.scores::text,
           final.corrected_scores::text, evaluation.human_review_status, evaluation.is_escalated
    FROM (
        SELECT id AS blind, NULL::bigint AS decision, evaluation_id, reviewer_id, stratum_id, is_sampled,
               families, probability, guideline_version, at, active_ms, judged, judged_verdict, scores,
               verdict, source_import_id, source_line
        FROM blind_scores WHERE stratum_id IN (SELECT id FROM stratum WHERE run_id = %(run)s)
        UNION ALL
        SELECT NULL, review.id, review.evaluation_id, review.reviewer_id, review.stratum_id,
               review.is_sampled, review.families, NULL, review.guideline_version, review.submitted_at,
               review.active_ms, review.judged, review.judged_verdict,
               (SELECT jsonb_object_agg(key, value -> 'score') FROM jsonb_each(review.corrected_scores)),
               review.verdict, review.source_import_id, review.source_line
        FROM evaluation
        JOIN review ON review.id = counted_decision(evaluation.review_id, evaluation.human_review_status)
        WHERE evaluation.run_id = %(run)s AND review.judged IS NOT NULL AND review.stratum_id IS NOT NULL
          AND review.blind_scores IS NULL
    ) AS given
    JOIN evaluation ON evaluation.id = given.evaluation_id
    JOIN import ON import.id = evaluation.first_import_id
    JOIN stratum ON stratum.id = given.stratum_id
    JOIN person ON person.id = given.reviewer_id
    LEFT JOIN LATERAL (
        SELECT rating.*, rating_cell.judge, rating_cell.human
        FROM rating JOIN rating_cell ON rating_cell.id = rating.cell_id
        WHERE rating.evaluation_id = given.evaluation_id AND rating_cell.criterion IS NULL
          AND (rating.blind_scores_id = given.blind OR rating.review_id = given.decision)
    ) AS rating ON true
    LEFT JOIN LATERAL (
        SELECT id, submitted_at, verdict, corrected_scores, active_ms FROM review
        WHERE review.evaluation_id = given.evaluation_id AND review.reviewer_id = given.reviewer_id
          AND (review.id = given.decision OR (
              review.blind_scores IS NOT NULL AND review.source_import_id = given.source_import_id
              AND review.source_line = given.source_line
          ))
        ORDER BY version DESC LIMIT 1
    ) AS final ON true
    ORDER BY import.sequence, evaluation.first_line, given.at
"""
# The columns of `_RATINGS`. Scores are JSON text; `blind` is the key of blind scores, or None for a decision.
_FETCHED = (
    *("evaluation_id", "task_id", *(name for name, _ in _RECORD), "is_sampled", "flag_families", "stratum"),
    *("cell_verdict", "cluster", "blind", "is_counted", "probability", "raters", "reviewer"),
    *("guideline_version", "rated_at", "submitted_at", "active_ms", "decision_active_ms", "judge_verdict"),
    *("verdict", "final_verdict", "judged", "given", "final", "record_status", "is_escalated"),
)
_HUMAN = ("verdict", "final_verdict", "scores")


def _ratings(run: Run, reader: User | None) -> Iterator[dict[str, Any]]:
    withheld, sizes = _withheld(run, reader), _cell_sizes(run)
    with connection.chunked_cursor() as cursor:
        cursor.execute(_RATINGS, {"run": run.pk})
        for row in cursor:
            yield _rating(dict(zip(_FETCHED, row, strict=True)), withheld, sizes)


def _rating(
    fetched: dict[str, Any], withheld: frozenset[int], sizes: Mapping[tuple[int, str], int] | None
) -> dict[str, Any]:
    cell = (fetched["stratum"], fetched["cell_verdict"])
    judged, given, final = (_parsed(fetched[name]) for name in ("judged", "given", "final"))
    corrected = {name: entry.get("score") for name, entry in final.items()} if fetched["final"] else None
    found = fetched | {
        "cell": _cell_name(*cell),
        "cell_records": sizes.get(cell, 0) if sizes is not None else None,
        "basis": "assisted" if fetched["blind"] is None else "blind",
        "scores": [*_scores(judged, given, corrected)],
        "withheld": fetched["blind"] in withheld,
    }
    if found["withheld"]:
        found |= dict.fromkeys(_HUMAN)
    return {name: found[name] for name, _ in RATINGS}


def _scores(
    judged: Mapping[str, Any], given: Mapping[str, Any], final: Mapping[str, Any] | None
) -> Iterator[dict[str, Any]]:
    """Yield the scores of each criterion: the judge's, the rating, and that after the reveal."""
    for name in dict.fromkeys([*judged, *given, *(final or ())]):
        scores = (judged.get(name), given.get(name), None if final is None else final.get(name))
        yield dict(zip(typed_tables.SCORE_PARTS, (name, *scores), strict=True))


def _parsed(scores: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if scores is None else orjson.loads(scores)
    return found


def _withheld(run: Run, reader: User | None) -> frozenset[int]:
    """Return the keys of other people's blind scores on records that the reader may still review."""
    if reader is None:
        return frozenset()
    open_to_reader = run.evaluations.filter(reveals.independent_reviews_hidden_from(reader))
    scores = BlindScores.objects.filter(evaluation__in=open_to_reader).exclude(reviewer=reader)
    return frozenset(scores.values_list("pk", flat=True))


def _cell_sizes(run: Run) -> dict[tuple[int, str], int] | None:
    """Return the number of records by stratum and judge's verdict; None while they are being counted."""
    if strata.why_not_counted(run):
        return None
    counts = StratumCount.objects.filter(stratum__run=run)
    rows = counts.values_list(*_CELL, Length("clusters") / 2)
    return {(key, verdict): records for key, verdict, records in rows}


_CELL = ("stratum", "verdict")


def _cell_name(stratum: int, verdict: str) -> str:
    """Return the name of a cell, the same in both tables."""
    return f"{stratum}:{verdict}"


def _population(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the number of records of each cell and cluster."""
    for count in StratumCount.objects.filter(stratum__run=run).select_related("stratum").order_by(*_CELL):
        stratum = count.stratum
        for cluster, records in sorted(Counter(unpack_clusters(bytes(count.clusters)).tolist()).items()):
            yield {
                "cell": _cell_name(stratum.pk, count.verdict),
                "judge_llm_model": stratum.judge_llm_model,
                "judge_prompt_template_path": stratum.judge_prompt_template_path,
                "model_id": stratum.model_id or None,
                "is_flagged": stratum.is_flagged,
                "judge_verdict": count.verdict or None,
                "cluster": cluster,
                "records": records,
            }
