"""A decision as the row that keeps it: what was decided, on what, and how it compares with the judge's."""

from collections.abc import Mapping
from typing import Any, Required, TypedDict
from uuid import UUID

from django.utils import timezone

from reviews import reasons, rubric, strata
from reviews.meanwhile import Scores
from reviews.models import BlindScores, Evaluation, FileConflict, Review, User
from reviews.overrides import compare


class Decision(TypedDict, total=False):
    """What a reviewer decides.

    `scores` holds every criterion they stand by, criterion -> {score, justification}; `origins` says for
    each where its score came from (judge, extracted or human), `causes` for some why the judge was wrong
    there, a word of the run's rubric. `extractor` is `salvage.VERSION` where scores were extracted. `judged`
    is what the judge had said, criterion -> score, and `words` how many words of evidence there were to read.
    """

    scores: Required[Scores]
    comments: Required[str]
    origins: Required[Mapping[str, str]]
    causes: Mapping[str, str]
    active_ms: int | None
    keys: int | None
    extractor: int | None
    judged: Mapping[str, Any] | None
    words: int | None


def add(
    evaluation: Evaluation,
    reviewer: User,
    submission: UUID,
    decision: Decision,
    *,
    escalation: int | None = None,
) -> Review:
    """The next version of a record's decision. `escalation` is the key of one that it settles, for undo."""
    judged, scores, causes = decision.get("judged"), decision["scores"], decision.get("causes", {})
    rule = rubric.of(evaluation.run).rule
    compared = compare(judged, scores, causes, rule, evaluation.aggregated_score)
    blind = _blind_scores(evaluation, reviewer)
    stood = {"review": evaluation.review_id, "is_stale": evaluation.is_stale, "escalation": escalation}
    return Review.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        version=evaluation.reviews.count() + 1,
        reviewer=reviewer,
        submitted_at=timezone.now(),
        corrected_scores={name: dict(entry) for name, entry in scores.items()} or None,
        comments=decision["comments"] or None,
        origins=dict(decision["origins"]),
        causes=dict(causes),
        extractor=decision.get("extractor"),
        active_ms=decision.get("active_ms"),
        keys=decision.get("keys"),
        words=decision.get("words"),
        judged=dict(judged) if judged is not None else None,
        changes=compared.changes,
        judged_verdict=compared.judged_verdict,
        verdict=compared.verdict,
        stratum=strata.of(evaluation),
        families=sorted({reasons.family(str(reason)).key for reason in evaluation.review_reasons}),
        is_sampled=evaluation.is_sampled,
        blind_scores=blind,
        blind_verdict=None if blind is None else rule.aggregate(blind.values()),
        submission=submission,
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
        before=evaluation.human | stood,
    )


def _blind_scores(evaluation: Evaluation, reviewer: User) -> dict[str, Any] | None:
    """What the reviewer gave on this evidence before the judge's scores were shown."""
    given = BlindScores.objects.filter(
        evaluation=evaluation,
        reviewer=reviewer,
        source_import=evaluation.source_import_id,
        source_line=evaluation.source_line,
    )
    return given.values_list("scores", flat=True).first()


def from_file(
    evaluation: Evaluation, human: Mapping[str, Any], actor: User, conflict: FileConflict | None
) -> Review:
    """The next version of a record's decision, as a file has it."""
    scores = human["human_corrected_scores"]
    return Review.objects.create(
        evaluation=evaluation,
        run=evaluation.run,
        version=evaluation.reviews.count() + 1,
        reviewer=actor,
        submitted_at=timezone.now(),
        corrected_scores=scores,
        comments=human["human_review_comments"],
        origins=dict.fromkeys(scores or (), "file"),
        source_import_id=evaluation.source_import_id,
        source_line=evaluation.source_line,
        conflict=conflict,
    )
