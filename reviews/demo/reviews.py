"""Import demo runs with a week of decisions, so that the pages of leads have something to show.

The second run has the responses of the first, judged with a new prompt. Its review is under way: some records
wait for reviewers, others for a lead.

The decisions are made by the same functions as in production, starting from the right scores: reviewers make
occasional mistakes, and lean towards the judge's scores if they see them.
"""

import datetime as dt
import math
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple
from unittest import mock

import orjson
from django.db.models import DateTimeField, Model
from django.db.models.expressions import DatabaseDefault
from django.db.models.signals import pre_save
from django.utils import timezone

from cognireview.types.runs import SamplingSettings
from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.days import midnight
from reviews.demo.run import demo_context, demo_lines, rejudged_lines, right_scores
from reviews.evidence.reading_time import MS_PER_WORD, count_words_to_read
from reviews.exports import jsonl
from reviews.imports import importer
from reviews.imports.task_context import import_context
from reviews.judge import sampling_settings
from reviews.judge.gold import gold_sets
from reviews.judge.scope import JudgeScope
from reviews.models import Escalation, Evaluation, KnownAnswerCheck, Run, SpotCheck, User
from reviews.queue import claims
from reviews.queue.members import configure_members
from reviews.queue.progress import reviewer_progress
from reviews.records.scores import is_score, score_of
from reviews.review import blind_scoring, decisions, escalations, known_answers
from reviews.review.entries import CriterionEntry, Decision
from reviews.review.sheet import ReviewSheet, load_sheet
from reviews.rubric.proposals import Proposal
from reviews.rubric.run_settings import current_settings, fingerprint

_MORNING = dt.timedelta(hours=9, minutes=5)
_LAST_HOUR = dt.timedelta(minutes=50)


class WorkingDays:
    """A clock that runs in the mornings of working days and, on the last day, in the hour before `now`."""

    def __init__(self, *, days: int, now: dt.datetime) -> None:
        earlier = (now.date() - dt.timedelta(days=back) for back in range(1, 3 * days + 3))
        mornings = [midnight(day) + _MORNING for day in earlier if day.weekday() < 5][: days - 1]
        self._starts = [*reversed(mornings), now - _LAST_HOUR]
        self._end = now
        self._day = 0
        self.now = self._starts[0]

    def pass_time(self, time: dt.timedelta) -> None:
        """Move on, but not beyond the present."""
        self.now = min(self.now + time, self._end)

    def next_day(self) -> None:
        """Move on to the next day, if there is one."""
        if self._day < len(self._starts) - 1:
            self._day += 1
            self.now = max(self._starts[self._day], self.now)

    def read(self) -> dt.datetime:
        return self.now

    @contextmanager
    def keep(self) -> Iterator[None]:
        """Date rows with this clock that are saved one by one."""

        def fill_in(instance: Model, **_: Any) -> None:
            for field in instance._meta.concrete_fields:
                # Not `getattr`, which queries each column that was not loaded.
                is_unset = isinstance(instance.__dict__.get(field.attname), DatabaseDefault)
                if is_unset and isinstance(field, DateTimeField):
                    setattr(instance, field.attname, self.now)

        pre_save.connect(fill_in, weak=False)
        try:
            with mock.patch.object(timezone, "now", side_effect=self.read):
                yield
        finally:
            pre_save.disconnect(fill_in)


REVIEWED_RUN = "Demo, reviewed"
REJUDGED_RUN = "Demo, new prompt"
GOLD_SET = "Demo, gold set"
_COUNT, _SEED, _DRAWS = 150, 8, "demo"
_SAMPLING = SamplingSettings(
    blind_share=0.4,
    sample_share=0.3,
    overlap_share=0.25,
    overlap=2,
    spot_check_share=0.05,
    accuracy_target=0.8,
)
_DAYS = 7
_DECISIONS_A_DAY = 44
# Unfinished work of the second run: records for each reviewer, disagreements, and decisions of another file.
_LEFT, _DISAGREEMENTS, _FILE_CONFLICTS = 12, 2, 2
# Records of a check in each run, and known answers that the lead of the running one has not given.
_KNOWN_ANSWERS, _ANSWERS_LEFT = 6, 2


class _Habits(NamedTuple):
    """How often a reviewer is mistaken about a criterion."""

    slips: float
    #: How often a reviewer who sees the judge's score adopts it.
    leans: float


# The last reviewer needs help, which spot checks show. A known answer is right.
_CAREFUL, _HASTY, _EXPERT = _Habits(0.02, 0.15), _Habits(0.2, 0.5), _Habits(0, 0)
_SENTENCES = {"Yes": "Checked against the reference: it holds.", "No": "The final answer does not follow."}
# Reasons of escalations (`escalations.REASONS`) and notes.
_QUESTIONS = (
    ("question", "Does a right answer without its unit pass?"),
    ("question", "The two methods give different rounding. Which one counts?"),
    ("unreadable output", ""),
    ("out of my field", "I can't check this integral."),
)
_REPLY = "Yes, unless the task asks for the unit."
# The lead's reasons in spot checks.
_UNCLEAR, _CORRECTED = "Name the step that is missing.", "The reference settles this."
# Spot checks of each reviewer: enough to show who needs help, whatever is drawn.
_CHECKS = 28
_CAUSES = {"Yes": "too lenient", "No": "too strict"}


def import_reviewed_runs(*, reviewers: Sequence[User], lead: User) -> None:
    """Import both runs and review them on `_DAYS` days. The lead settles what waits in the first run.

    The decisions of the first run are frozen as a gold set.
    """
    work = _Work(WorkingDays(days=_DAYS, now=timezone.now()), lead, hasty=reviewers[-1])
    with work.clock.keep():
        run = _import(REVIEWED_RUN, "reviewed.jsonl", demo_lines(_COUNT, _SEED), lead)
        check = known_answers.start(run_id=run.pk, actor=lead, count=_KNOWN_ANSWERS, seed=_DRAWS)
        work.answer(check)
        work.review(run, reviewers)
        work.clock.pass_time(dt.timedelta(minutes=10))
        known_answers.end(check_id=check.pk, actor=lead)
        work.adjudicate(run)
        gold_sets.freeze(scope=JudgeScope(run), name=GOLD_SET, actor=lead)
        work.check_decisions(run, reviewers)
        run = _import(REJUDGED_RUN, "new-prompt.jsonl", rejudged_lines(_COUNT, _SEED), lead)
        work.ask(run, reviewers)
        check = known_answers.start(run_id=run.pk, actor=lead, count=_KNOWN_ANSWERS, seed=_DRAWS)
        work.answer(check, left=_ANSWERS_LEFT)
        work.review(run, reviewers, left=_LEFT)
        work.adjudicate(run, left=_DISAGREEMENTS)
        _import_second_opinions(run)


def _import(name: str, file_name: str, lines: Iterable[bytes], lead: User) -> Run:
    run = importer.import_stream(blocks=lines, run_name=name, file_name=file_name, actor=None).target_run
    configure_members(run_id=run.pk, actor=None, members=None)
    import_context(blocks=demo_context(_COUNT, _SEED), run_name=name, file_name="tasks.jsonl", actor=None)
    seen = fingerprint(current_settings(SamplingSettings, run))
    return sampling_settings.configure(run_id=run.pk, actor=lead, settings=_SAMPLING, seen=seen)


def _import_second_opinions(run: Run) -> None:
    """Import the run's file as a colleague would return it: with other decisions on some decided records."""
    lines: list[bytes] = []
    for line in b"".join(jsonl.export_lines(run)).splitlines():
        record = orjson.loads(line)
        scores = record["human_corrected_scores"]
        if scores and len(lines) < _FILE_CONFLICTS:
            first = next(iter(scores))
            other = "No" if scores[first]["score"] == "Yes" else "Yes"
            scores[first] = {"score": other, "justification": _SENTENCES[other]}
            record["human_reviewer_id"] = "carla"
            record["human_review_timestamp"] = timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")
            lines.append(orjson.dumps(record) + b"\n")
    importer.import_stream(blocks=lines, run_name=run.name, file_name="from-carla.jsonl", actor=None)


class _Work:
    """Simulate the reviewers' work from a seed."""

    def __init__(self, clock: WorkingDays, lead: User, *, hasty: User) -> None:
        self.clock = clock
        self._lead, self._hasty = lead, hasty
        self._rng = Random(_SEED)  # noqa: S311 (no secret)
        self._decided = 0
        # By line number.
        self._right = list(right_scores(_COUNT, _SEED))

    def review(self, run: Run, reviewers: Sequence[User], *, left: int = 0) -> None:
        """Decide the records of the queue, until at most `left` wait for each reviewer."""
        # A decision takes at most one record from each queue, so counting them each time is not necessary.
        count_at = dict.fromkeys(reviewers, self._decided) if left else {}
        while sum(self._decide_next(run, reviewer, left, count_at) for reviewer in reviewers):
            pass

    def _decide_next(self, run: Run, reviewer: User, left: int, count_at: dict[User, int]) -> bool:
        """Decide the next record of the reviewer's queue. Returns whether there was one."""
        if self._decided >= count_at.get(reviewer, math.inf):
            waiting = reviewer_progress(run=run, reviewer=reviewer).left
            count_at[reviewer] = self._decided + max(0, waiting - left)
            if waiting <= left:
                return False
        evaluation = claims.claim_next(run=run, reviewer=reviewer)
        if evaluation:
            self.decide(evaluation, reviewer)
        return evaluation is not None

    def adjudicate(self, run: Run, *, left: int = 0) -> None:
        """Decide the records that reviewers disagree on, except for the last `left`."""
        waiting = run.escalations.filter(kind=Escalation.Kind.DISAGREEMENT, outcome=Escalation.Outcome.OPEN)
        for escalation in list(waiting.order_by("pk"))[: -left or None]:
            evaluation = claims.claim(evaluation_id=escalation.evaluation_id, reviewer=self._lead)
            self.decide(evaluation, self._lead)

    def answer(self, check: KnownAnswerCheck, *, left: int = 0) -> None:
        """Give the known answers of a check as its lead, except for the last `left`."""
        for known in list(check.answers.order_by("pk"))[: -left or None]:
            evaluation = claims.claim(evaluation_id=known.evaluation_id, reviewer=self._lead)
            self.decide(evaluation, self._lead, _EXPERT)

    def ask(self, run: Run, reviewers: Sequence[User]) -> None:
        """Send records to the lead, who answers the first question. The others stay open."""
        for number, (reason, note) in enumerate(_QUESTIONS):
            reviewer = reviewers[number % len(reviewers)]
            evaluation = claims.claim_next(run=run, reviewer=reviewer)
            if evaluation is None:
                return
            self.clock.pass_time(dt.timedelta(minutes=3))
            escalation = escalations.escalate(
                evaluation_id=evaluation.pk,
                reviewer=reviewer,
                kind=Escalation.Kind.QUESTION,
                reason=reason,
                note=note,
            )
            if number == 0:
                escalations.resolve(
                    escalation_id=escalation.pk,
                    actor=self._lead,
                    outcome=Escalation.Outcome.RETURNED,
                    answer=_REPLY,
                )

    def check_decisions(self, run: Run, reviewers: Sequence[User]) -> None:
        """Spot-check decisions of each reviewer: correct wrong scores, reopen one, and leave two open."""
        for reviewer in reviewers:
            selection = WorkSelection(run=run, reviewer=reviewer)
            drawn = spot_checks.draw(selection=selection, count=_CHECKS, actor=self._lead, seed=_DRAWS)
            self.clock.pass_time(dt.timedelta(minutes=10))
            unclear, *others = drawn[:-2]
            spot_checks.reopen(check_id=unclear.pk, actor=self._lead, reason=_UNCLEAR)
            for one in others:
                self._check(one)
        self.review(run, reviewers)

    def _check(self, spot_check: SpotCheck) -> None:
        """Agree with a decision, or replace wrong scores by the right ones."""
        review = spot_check.review
        evaluation = Evaluation.objects.get(pk=review.evaluation_id)
        right = self._right[evaluation.first_line - 1]
        if all(score_of(entry) == right[name] for name, entry in (review.corrected_scores or {}).items()):
            spot_checks.agree(check_id=spot_check.pk, actor=self._lead)
            return
        spot_checks.correct(
            check_id=spot_check.pk,
            actor=self._lead,
            reason=_CORRECTED,
            version=evaluation.version,
            submission=self._submission(),
            **_decision(load_sheet(evaluation), right),
        )

    def decide(self, evaluation: Evaluation, reviewer: User, habits: _Habits | None = None) -> None:
        habits = habits or (_HASTY if reviewer == self._hasty else _CAREFUL)
        sheet = load_sheet(evaluation)
        words = count_words_to_read(evaluation, sheet.proposals)
        active_ms = int(words * MS_PER_WORD * self._rng.uniform(0.8, 2.5))
        own = self._own_scores(evaluation, sheet.proposals, habits)
        if blind_scoring.is_hidden(evaluation, reviewer):
            blind_scoring.lock_in(
                evaluation_id=evaluation.pk,
                reviewer=reviewer,
                version=evaluation.version,
                scores=own,
                fields=[],
                active_ms=active_ms,
            )
        final = self._leaning(own, sheet.proposals, habits)
        decision = _decision(sheet, final)
        decision["active_ms"], decision["keys"] = active_ms, len(sheet.proposals) + 1
        self._pass_time(active_ms)
        decisions.submit(
            evaluation_id=evaluation.pk,
            reviewer=reviewer,
            version=evaluation.version,
            submission=self._submission(),
            **decision,
        )

    def _submission(self) -> uuid.UUID:
        return uuid.UUID(int=self._rng.getrandbits(128), version=4)

    def _pass_time(self, active_ms: int) -> None:
        pause = dt.timedelta(minutes=self._rng.uniform(0, 1) if self._decided % 12 else 15)
        self.clock.pass_time(dt.timedelta(milliseconds=active_ms) + pause)
        self._decided += 1
        if self._decided % _DECISIONS_A_DAY == 0:
            self.clock.next_day()

    def _own_scores(
        self, evaluation: Evaluation, proposals: Sequence[Proposal], habits: _Habits
    ) -> dict[str, str]:
        """Return the scores of an unaided reviewer."""
        right = self._right[evaluation.first_line - 1]
        return {
            proposal.criterion: "Partial" if self._rng.random() < habits.slips else right[proposal.criterion]
            for proposal in proposals
        }

    def _leaning(
        self, own: Mapping[str, str], proposals: Sequence[Proposal], habits: _Habits
    ) -> dict[str, Any]:
        """Return the scores after seeing those of the judge."""
        return {
            proposal.criterion: proposal.score
            if is_score(proposal.score) and self._rng.random() < habits.leans
            else own[proposal.criterion]
            for proposal in proposals
        }


def _decision(sheet: ReviewSheet, scores: Mapping[str, Any]) -> Decision:
    entries = [_entry(proposal, scores[proposal.criterion]) for proposal in sheet.proposals]
    return sheet.build_decision(entries, comments="")


def _entry(proposal: Proposal, score: Any) -> CriterionEntry:
    if score == proposal.score:
        return CriterionEntry(proposal.criterion, score)
    cause = _CAUSES.get(proposal.score, "other") if is_score(proposal.score) else ""
    return CriterionEntry(proposal.criterion, score, _SENTENCES.get(score, "A step is missing."), cause)
