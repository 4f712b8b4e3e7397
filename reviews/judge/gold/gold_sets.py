"""Freeze the human decisions of a run as a gold set, rename and delete gold sets."""

from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.utils import timezone

from cognireview.types.encoding import members
from cognireview.types.estimates import Scope
from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.database.statements import fetch_all
from reviews.judge.scope import JudgeScope
from reviews.models import GoldSet, User
from reviews.records.status import QUEUE_STATUSES
from reviews.records.wording import counted
from reviews.rubric.run_rubric import run_rubric
from reviews.rubric.run_settings import InvalidSettings
from reviews.search import indexing

NAME_LENGTH = 100
_NOT_INDEXED = "The records of this run are still being indexed. Try again in a few minutes."

# The ratings of a scope that a gold set may keep, each with the reason why it is left out (empty for none).
# Adjudicated is a decision of the lead who resolved a disagreement, or that a lead upheld.
_CANDIDATES = """
    SELECT CASE WHEN cell.is_blind THEN 'blind' ELSE 'adjudicated' END AS basis, answered.response,
           evaluation.evaluation_id, evaluation.task_id, evaluation.model_id, stratum.is_flagged,
           CASE WHEN cell.is_blind THEN given.scores ELSE (
               SELECT coalesce(jsonb_object_agg(key, value -> 'score'), '{{}}')
               FROM jsonb_each(review.corrected_scores)
           ) END AS scores,
           nullif(cell.human, '') AS verdict, rating.probability, rating.raters, person.username,
           coalesce(given.guideline_version, review.guideline_version) AS guideline_version, rating.at,
           CASE WHEN cell.is_blind AND NOT (stratum.is_flagged OR cell.is_sampled) THEN 'unsampled'
                WHEN evaluation.human_review_status = ANY(%(queue)s) THEN 'waiting'
                WHEN answered.response IS NULL THEN 'unanswered'
                ELSE '' END AS left_out
    FROM rating_cell AS cell
    JOIN stratum ON stratum.id = cell.stratum_id
    JOIN rating ON rating.cell_id = cell.id
    JOIN evaluation ON evaluation.id = rating.evaluation_id
    JOIN person ON person.id = rating.reviewer_id
    LEFT JOIN evaluation_facets AS facets ON facets.evaluation_id = evaluation.id
    LEFT JOIN blind_scores AS given ON given.id = rating.blind_scores_id
    LEFT JOIN review ON review.id = rating.review_id
    LEFT JOIN LATERAL (
        SELECT context_answer(
            evaluation.run_id, evaluation.task_id, evaluation.model_id, evaluation.response_id
        ) AS response
        WHERE facets.response IS NULL
    ) AS context ON has_answer(context.response)
    CROSS JOIN LATERAL (
        SELECT coalesce(
            facets.response,
            response_key(
                evaluation.task_id, evaluation.evaluation_id, evaluation.model_id, context.response
            )
        ) AS response
    ) AS answered
    WHERE cell.stratum_id = ANY(%(strata)s) AND cell.criterion IS NULL AND {conditions}
      AND (cell.is_blind OR EXISTS (
          SELECT FROM escalation
          WHERE escalation.evaluation_id = evaluation.id AND kind = 'disagreement' AND (
              outcome = 'decided' AND resolved_by_id = review.reviewer_id
              OR outcome = 'upheld' AND resolved_at >= review.submitted_at
          )
      ))
"""
_FREEZE = """
    WITH candidate AS MATERIALIZED ({candidates}), frozen AS (
        INSERT INTO gold_rating (
            gold_set_id, basis, response, evaluation_id, task_id, model_id, is_flagged, scores, verdict,
            probability, raters, reviewer, guideline_version, at
        )
        SELECT %(gold_set)s, basis, response, evaluation_id, task_id, model_id, is_flagged, scores, verdict,
               probability, raters, username, guideline_version, at
        FROM candidate WHERE left_out = ''
    )
    SELECT basis, left_out, count(*) FROM candidate GROUP BY 1, 2
"""
_WHY_LEFT_OUT = {
    "waiting": "records in the queue",
    "unsampled": "records that were neither flagged nor sampled",
    "unanswered": "records without an answer",
}


class Frozen(NamedTuple):
    """A new gold set with its numbers of ratings."""

    gold_set: GoldSet
    blind: int
    adjudicated: int
    #: The numbers of ratings left out, by a key of `_WHY_LEFT_OUT`.
    left_out: dict[str, int]

    @property
    def sentences(self) -> list[str]:
        """The numbers of ratings that were kept and left out."""
        kept = (
            f"{counted(self.blind, 'blind rating')} and {counted(self.adjudicated, 'adjudicated decision')}"
        )
        return [
            f"Froze {kept}.",
            *(
                f"Left out: {counted(self.left_out[why], 'rating')} of {words}."
                for why, words in _WHY_LEFT_OUT.items()
                if self.left_out.get(why)
            ),
        ]


@transaction.atomic
def freeze(*, scope: JudgeScope, name: str, actor: User | None) -> Frozen:
    """Freeze the blind ratings and adjudicated decisions of a scope. A command has no `actor`.

    Records in the queue are left out: somebody may still score them without knowing the scores of others.
    Raises `InvalidSettings` for `name`, and for `run` if it has nothing to freeze.
    """
    if actor:
        check(actor, "configure_run")
    if not indexing.is_indexed(scope.run):
        raise InvalidSettings({"run": [_NOT_INDEXED]})
    filters = members(Scope, scope)
    gold_set = create(
        name=name,
        run=scope.run,
        run_name=scope.run.name,
        filters={name: value for name, value in filters.items() if name != "run" and value is not None},
        rubric=run_rubric(scope.run).as_json(),
        frozen_by=actor.username if actor else "",
        frozen_at=timezone.now(),
        created_by=actor,
    )
    found = _insert(scope, gold_set)
    kept = {basis: found.pop((basis, ""), 0) for basis in ("blind", "adjudicated")}
    left_out: dict[str, int] = {}
    for (_, why), ratings in found.items():
        left_out[why] = left_out.get(why, 0) + ratings
    frozen = Frozen(gold_set, kept["blind"], kept["adjudicated"], left_out)
    if not any(kept.values()):
        why = " ".join(frozen.sentences[1:])
        nothing = f"There are no blind ratings or adjudicated decisions to freeze. {why}".strip()
        raise InvalidSettings({"run": [nothing]})
    events.record(
        "freeze gold set", actor=actor, run=scope.run, ratings=kept, left_out=left_out, **detail(gold_set)
    )
    return frozen


def _insert(scope: JudgeScope, gold_set: GoldSet) -> dict[tuple[str, str], int]:
    """Insert the ratings. Return the numbers of candidates by basis and reason to leave them out."""
    conditions, values = scope.rating_conditions
    strata = [stratum.pk for stratum in scope.strata()]
    values |= {"strata": strata, "queue": [*QUEUE_STATUSES], "gold_set": gold_set.pk}
    statement = _FREEZE.format(candidates=_CANDIDATES.format(conditions=conditions))
    return {(basis, why): ratings for basis, why, ratings in fetch_all(statement, values)}


@transaction.atomic
def rename(*, gold_set_id: int, name: str, actor: User | None) -> GoldSet:
    """Give a gold set another name. Raises `InvalidSettings` for `name`."""
    gold_set = _locked(gold_set_id, actor)
    name, before = _clean(name), gold_set.name
    if name != before:
        gold_set.name = name
        _save(gold_set)
        events.record("rename gold set", actor=actor, run=gold_set.run, before=before, **detail(gold_set))
    return gold_set


@transaction.atomic
def delete(*, gold_set_id: int, actor: User | None) -> None:
    """Delete a gold set with its ratings. The ratings of its run stay."""
    gold_set = _locked(gold_set_id, actor)
    events.record(
        "delete gold set", actor=actor, run=gold_set.run, ratings=gold_set.ratings.count(), **detail(gold_set)
    )
    gold_set.delete()


def _locked(key: int, actor: User | None) -> GoldSet:
    if actor:
        check(actor, "configure_run")
    return GoldSet.objects.select_for_update(of=("self",)).select_related("run").get(pk=key)


def create(*, name: str, **columns: Any) -> GoldSet:
    """Create a gold set without ratings. Callers record the event. Raises `InvalidSettings` for `name`."""
    gold_set = GoldSet(name=_clean(name), **columns)
    _save(gold_set)
    return gold_set


def _save(gold_set: GoldSet) -> None:
    try:
        with transaction.atomic():
            gold_set.save()
    except IntegrityError as taken:
        raise InvalidSettings({"name": [f"There is another gold set named {gold_set.name!r}."]}) from taken


def _clean(name: str) -> str:
    name = name.strip()
    if not name:
        raise InvalidSettings({"name": ["Enter a name for the gold set."]})
    if len(name) > NAME_LENGTH or not name.isprintable() or "/" in name or name in {".", ".."}:
        reason = f"The name of a gold set has at most {NAME_LENGTH} printable characters, and no slash (/)."
        raise InvalidSettings({"name": [reason]})
    return name


def detail(gold_set: GoldSet) -> dict[str, Any]:
    """Return the members of audit events that name a gold set."""
    return {"gold_set": gold_set.pk, "name": gold_set.name}
