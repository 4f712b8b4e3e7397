"""Review a simulated world through the functions of the product, as pages and the API do."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cognireview.types.runs import SamplingSettings
from reviews.judge import sampling_settings
from reviews.models import BlindScores, Escalation, Evaluation, Review, Run, User
from reviews.queue import claims
from reviews.records.status import QUEUE_STATUSES
from reviews.review import blind_scoring, decisions, escalations
from reviews.review.entries import CriterionEntry, Decision
from reviews.review.sheet import ReviewSheet, load_sheet
from reviews.rubric.run_settings import current_settings, fingerprint
from reviews.search import indexing
from tests.judge.world import CRITERIA, Scores, World
from tests.support.lines import import_data

#: The settings at the start and after a third of the work: shares change while people review.
FIRST = SamplingSettings(0.6, 0.1, 0.5, 2, accuracy_target=None, spot_check_share=0.0)
THEN = replace(FIRST, blind_share=0.85, sample_share=0.2)
_ESCALATES, _UNDOES, _CLOSES = 0.03, 0.02, 0.4
_CAUSES = {"Yes": "too lenient", "No": "too strict", "Partial": "missed a step"}


def import_world(world: World, lead: User, *, run: str = "world") -> Run:
    """Import the file of a world and configure how its judges are measured."""
    imported = import_data(world.lines(), run=run).target_run
    while indexing.index_next_chunk():  # the job of a large import
        pass
    return _configure(imported, lead, FIRST)


def _configure(run: Run, lead: User, settings: SamplingSettings) -> Run:
    seen = fingerprint(current_settings(SamplingSettings, run))
    return sampling_settings.configure(run_id=run.pk, actor=lead, settings=settings, seen=seen)


def review_world(world: World, run: Run, reviewers: Sequence[User], lead: User) -> None:
    """Let people review until nothing is left. The lead decides or closes escalated records.

    A few records are escalated after the lock-in, a few decisions are undone and made again, and the shares
    change once a third of the first queue is done.
    """
    work = _Work(world, run)
    first = run.evaluations.in_queue().count() // 3
    work.go_on(reviewers, most=first)
    work.run = _configure(run, lead, THEN)
    work.go_on(reviewers)
    work.resolve(lead)


class _Work:
    """The work of all people on one run."""

    def __init__(self, world: World, run: Run) -> None:
        self.world, self.run = world, run

    def go_on(self, reviewers: Sequence[User], *, most: int | None = None) -> None:
        """Let the reviewers take turns until `most` records are reviewed, or nothing is left."""
        done, waiting = 0, [*reviewers]
        while waiting and (most is None or done < most):
            waiting = [person for person in waiting if self._review_next(person)]
            done += len(waiting)

    def _review_next(self, person: User) -> bool:
        evaluation = claims.claim_next(run=self.run, reviewer=person)
        if evaluation is None:
            return False
        self._lock_in(evaluation, person)
        rng = self.world.rng("events", person.username, evaluation.evaluation_id)
        if rng.random() < _ESCALATES:
            kind = Escalation.Kind.CANNOT_JUDGE
            escalations.escalate(
                evaluation_id=evaluation.pk, reviewer=person, kind=kind, reason="out of my field", note=""
            )
            return True
        review = self._submit(evaluation, person)
        if rng.random() < _UNDOES and Evaluation.objects.filter(pk=evaluation.pk, review=review).exists():
            self._submit(decisions.undo(review=review), person)
        return True

    def resolve(self, lead: User) -> None:
        """Let the lead decide or close each escalated record."""
        open_ones = self.run.escalations.filter(
            outcome=Escalation.Outcome.OPEN, evaluation__human_review_status__in=QUEUE_STATUSES
        )
        for escalation in open_ones.select_related("evaluation").order_by("pk"):
            evaluation = escalation.evaluation
            rng = self.world.rng("lead", evaluation.evaluation_id)
            if rng.random() < _CLOSES:
                outcome = Escalation.Outcome.CLOSED
                escalations.resolve(escalation_id=escalation.pk, actor=lead, outcome=outcome, answer="")
            else:
                claimed = claims.claim(evaluation_id=evaluation.pk, reviewer=lead)
                self._lock_in(claimed, lead)
                self._submit(claimed, lead)

    def _lock_in(self, evaluation: Evaluation, person: User) -> BlindScores | None:
        if not blind_scoring.is_hidden(evaluation, person):
            return None
        return blind_scoring.lock_in(
            evaluation_id=evaluation.pk,
            reviewer=person,
            version=evaluation.version,
            scores=self.world.unaided(person.username, evaluation.evaluation_id),
            fields=[],
            active_ms=self._active_ms(evaluation, person),
        )

    def _submit(self, evaluation: Evaluation, person: User) -> Review:
        scores = self.world.assisted(person.username, evaluation.evaluation_id)
        return decisions.submit(
            evaluation_id=evaluation.pk,
            reviewer=person,
            version=Evaluation.objects.values_list("version", flat=True).get(pk=evaluation.pk),
            submission=uuid.uuid4(),
            **self._decision(load_sheet(evaluation), evaluation, person, scores),
        )

    def _decision(self, sheet: ReviewSheet, evaluation: Evaluation, person: User, scores: Scores) -> Decision:
        judged = {one.criterion: one.score for one in sheet.proposals}
        # The form has all criteria of the rubric.
        entries = [
            _entry(name, scores[name], judged)
            if name in scores
            else CriterionEntry(name, None, is_excluded=True)
            for name in CRITERIA
        ]
        decision = sheet.build_decision(entries, comments="")
        decision["active_ms"] = self._active_ms(evaluation, person)
        return decision

    def _active_ms(self, evaluation: Evaluation, person: User) -> int:
        return self.world.rng("time", person.username, evaluation.evaluation_id).randint(20_000, 240_000)


def _entry(name: str, score: str, judged: Mapping[str, str]) -> CriterionEntry:
    if judged.get(name) == score:
        return CriterionEntry(name, score)
    return CriterionEntry(name, score, "I checked it.", _CAUSES.get(judged.get(name, ""), "other"))
