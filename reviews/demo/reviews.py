"""Import a demo run with decisions, so that the dashboard and the judge's pages have figures.

The decisions are made by the same functions as in production, starting from the right scores: reviewers make
occasional mistakes, and lean towards the judge's scores if they see them.
"""

import uuid
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from reviews.demo.run import demo_context, demo_lines, right_scores
from reviews.evidence.reading_time import MS_PER_WORD, count_words_to_read
from reviews.imports import importer
from reviews.imports.task_context import import_context
from reviews.judge import measurement_settings
from reviews.judge.measurement_settings import MeasurementSettings
from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.queue.members import configure_members
from reviews.records.scores import is_score
from reviews.review import blind_scoring, decisions
from reviews.review.decision import CriterionEntry
from reviews.review.sheet import load_sheet
from reviews.rubric.proposals import Proposal

REVIEWED_RUN = "Demo, reviewed"
_COUNT, _SEED = 150, 8
_MEASURES = MeasurementSettings(blind_share=0.4, sample_share=0.3, overlap_share=0.15, overlap=2)
_SLIPS = 0.06
_LEANS = 0.35  # how often a reviewer who sees the judge's score adopts it
_SENTENCES = {"Yes": "Checked against the reference: it holds.", "No": "The final answer does not follow."}
_CAUSES = {"Yes": "too lenient", "No": "too strict"}


def import_reviewed_run(*, reviewers: Sequence[User], lead: User) -> None:
    """Import the run and decide all its records. The lead resolves disagreements."""
    context = demo_context(_COUNT, _SEED)
    lines = demo_lines(_COUNT, _SEED)
    run = importer.import_stream(
        lines, run_name=REVIEWED_RUN, file_name="reviewed.jsonl", actor=None
    ).target_run
    configure_members(run_id=run.pk, actor=None, members=None)
    import_context(context, run_name=REVIEWED_RUN, file_name="reviewed-tasks.jsonl", actor=None)
    seen = measurement_settings.current_settings(run).fingerprint
    run = measurement_settings.configure(run_id=run.pk, actor=lead, measures=_MEASURES, seen=seen)
    work = _Work()
    while sum(work.decide_next(run, reviewer) for reviewer in reviewers):
        pass
    for evaluation in run.evaluations.filter(is_escalated=True).order_by("pk"):
        work.decide(claims.claim(evaluation_id=evaluation.pk, reviewer=lead), lead)


class _Work:
    """Simulate the reviewers' work from a seed."""

    def __init__(self) -> None:
        self._rng = Random(_SEED)  # noqa: S311 (no secret)
        self._right = dict(right_scores(_COUNT, _SEED))

    def decide_next(self, run: Run, reviewer: User) -> bool:
        """Decide the next record of the reviewer's queue. Returns whether there was one."""
        evaluation = claims.claim_next(run=run, reviewer=reviewer)
        if evaluation:
            self.decide(evaluation, reviewer)
        return evaluation is not None

    def decide(self, evaluation: Evaluation, reviewer: User) -> None:
        sheet = load_sheet(evaluation)
        words = count_words_to_read(evaluation, sheet.proposals)
        active_ms = int(words * MS_PER_WORD * self._rng.uniform(0.8, 2.5))
        own = self._own_scores(evaluation, sheet.proposals)
        if blind_scoring.is_hidden(evaluation, reviewer):
            blind_scoring.lock_in(
                evaluation_id=evaluation.pk,
                reviewer=reviewer,
                version=evaluation.version,
                scores=own,
                fields=[],
                active_ms=active_ms,
            )
        final = self._leaning(own, sheet.proposals)
        decision = sheet.build_decision(
            [_entry(proposal, final[proposal.criterion]) for proposal in sheet.proposals], comments=""
        )
        decision["active_ms"], decision["keys"] = active_ms, len(sheet.proposals) + 1
        decisions.submit(
            evaluation_id=evaluation.pk,
            reviewer=reviewer,
            version=evaluation.version,
            submission=uuid.UUID(int=self._rng.getrandbits(128), version=4),
            **decision,
        )

    def _own_scores(self, evaluation: Evaluation, proposals: Sequence[Proposal]) -> dict[str, str]:
        """Return the scores of an unaided reviewer."""
        right = self._right[evaluation.evaluation_id]
        return {
            proposal.criterion: "Partial" if self._rng.random() < _SLIPS else right[proposal.criterion]
            for proposal in proposals
        }

    def _leaning(self, own: Mapping[str, str], proposals: Sequence[Proposal]) -> dict[str, Any]:
        """Return the scores after seeing those of the judge."""
        return {
            proposal.criterion: proposal.score
            if is_score(proposal.score) and self._rng.random() < _LEANS
            else own[proposal.criterion]
            for proposal in proposals
        }


def _entry(proposal: Proposal, score: Any) -> CriterionEntry:
    if score == proposal.score:
        return CriterionEntry(proposal.criterion, score)
    cause = _CAUSES.get(proposal.score, "other") if is_score(proposal.score) else ""
    return CriterionEntry(proposal.criterion, score, _SENTENCES.get(score, "A step is missing."), cause)
