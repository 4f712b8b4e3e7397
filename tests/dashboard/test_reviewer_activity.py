"""Figures about reviewers: their definitions, and stored sums that match the reviews."""

import datetime as dt
import random
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from reviews.accounts.permissions import Denied
from reviews.dashboard import daily_counts, drilldown, reviewer_activity, spot_checks
from reviews.dashboard.daily_counts import CriterionOverrides
from reviews.dashboard.reviewer_activity import DEFINITIONS, ReviewerFigures
from reviews.dashboard.selection import WorkSelection
from reviews.models import AuditEvent, CriterionDay, Evaluation, Review, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.records.scores import is_alike, score_of
from reviews.review import decisions, escalations, undo
from tests.load import recounts
from tests.support.factories import EvaluationFactory, UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide, evaluations, restore_version

pytestmark = pytest.mark.django_db

JUDGED = {"Clarity": "Yes", "Rigor": "No", "Results": "No"}
AGREED = {name: {"score": score, "justification": ""} for name, score in JUDGED.items()}
CHANGED = AGREED | {"Rigor": {"score": "Yes", "justification": "It is."}}


def agree(evaluation: Evaluation, reviewer: User, **other: Any) -> Review:
    return decide(evaluation, reviewer, scores=AGREED, judged=JUDGED, **other)


def change(evaluation: Evaluation, reviewer: User, **other: Any) -> Review:
    return decide(evaluation, reviewer, scores=CHANGED, judged=JUDGED, **other)


def figures_of(reviewer: User, **selected: Any) -> ReviewerFigures:
    [figures] = reviewer_activity.team_figures(WorkSelection(reviewer=reviewer, **selected)).reviewers
    assert figures.reviewer == reviewer
    return figures


class TestReviewerFigures:
    def test_undone_decisions_do_not_count_as_done(self, run: Run, ana: User, bo: User) -> None:
        first, second, third = evaluations(run, tasks=["1"] * 3)
        agree(first, ana)
        agree(second, ana)
        agree(third, bo)
        undo.undo(run=run, actor=ana)
        assert figures_of(ana).done == figures_of(bo).done == 1

    def test_revision_counts_as_done_again(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        decided = agree(evaluation, ana).evaluation
        decided.refresh_from_db()
        change(decided, ana, by=decisions.revise)
        assert (figures_of(ana).done, figures_of(ana).overturned) == (2, 0)

    def test_imported_decisions_do_not_count(self, run: Run, lea: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"], human_review_status="Reviewed", human_reviewer_id="ana")
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="Look again.")
        assert reviewer_activity.team_figures(WorkSelection()).reviewers == []

    def test_median_time_covers_timed_reviews_only(self, run: Run, ana: User) -> None:
        for evaluation, ms in zip(
            evaluations(run, tasks=["1"] * 4), (9_000, 1_500, 4_000, None), strict=True
        ):
            agree(evaluation, ana, active_ms=ms)
        figures = figures_of(ana)
        assert (figures.done, figures.timed, figures.median_seconds) == (4, 3, 4.0)

    def test_median_of_an_even_number_of_times_is_the_mean_of_the_middle_two(
        self, run: Run, ana: User
    ) -> None:
        for evaluation, ms in zip(
            evaluations(run, tasks=["1"] * 4), (9_000, 1_500, 4_000, 60_000), strict=True
        ):
            agree(evaluation, ana, active_ms=ms)
        assert (figures_of(ana).median_seconds, figures_of(ana).slower) == (6.5, 2)
        assert reviewer_activity.median_active_time(WorkSelection()) == (6.5, 4)

    def test_figures_without_a_base_are_zero(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        decide(evaluation, ana, scores=CHANGED)
        assert figures_of(ana) == ReviewerFigures(ana, done=1)

    def test_change_rate_counts_reviews_with_a_change(self, run: Run, ana: User) -> None:
        same, other, caused, removed, added = evaluations(run, tasks=["1"] * 5)
        agree(same, ana)
        change(other, ana)
        agree(caused, ana, causes={"Rigor": "typo"})
        without = {name: entry for name, entry in AGREED.items() if name != "Rigor"}
        decide(removed, ana, scores=without, judged=JUDGED)
        decide(added, ana, scores=AGREED, judged={"Clarity": "Yes", "Rigor": "No"})
        figures = figures_of(ana)
        assert (figures.compared, figures.changed) == (5, 4)
        assert (figures.judged, figures.overridden) == (14, 2)

    def test_verdict_change_rate_compares_verdicts(self, run: Run, ana: User) -> None:
        same, other, unknown = evaluations(run, tasks=["1"] * 3)
        agree(same, ana)
        passed = {name: {"score": "Yes", "justification": ""} for name in JUDGED}
        decide(other, ana, scores=passed, judged=JUDGED)
        odd = {"Clarity": {"score": "who knows", "justification": ""}}
        decide(unknown, ana, scores=odd, judged=JUDGED)
        figures = figures_of(ana)
        assert (figures.verdicts, figures.verdict_changes) == (2, 1)

    @pytest.mark.parametrize(
        ("changes", "longest", "current"),
        [
            ("", 0, 0),
            ("=", 1, 1),
            ("x", 0, 0),
            ("==x=", 2, 1),
            ("=x===", 3, 3),
            ("x==x", 2, 0),
            ("===?=", 4, 4),
        ],
    )
    def test_agreement_streaks_count_unchanged_reviews_in_a_row(
        self, run: Run, ana: User, changes: str, longest: int, current: int
    ) -> None:
        [skipped, *records] = evaluations(run, tasks=["1"] * (len(changes) + 1))
        claims.skip(evaluation_id=skipped.pk, reviewer=ana)
        for evaluation, sign in zip(records, changes, strict=True):
            if sign == "?":
                decide(evaluation, ana, scores=AGREED)
            else:
                (agree if sign == "=" else change)(evaluation, ana)
        figures = figures_of(ana)
        assert (figures.longest_agreement, figures.current_agreement) == (longest, current)

    def test_agreement_streaks_are_separate_for_each_reviewer(self, run: Run, ana: User, bo: User) -> None:
        for number, evaluation in enumerate(evaluations(run, tasks=["1"] * 6)):
            (change if number == 3 else agree)(evaluation, bo if number % 2 else ana)
        assert (figures_of(ana).longest_agreement, figures_of(bo).longest_agreement) == (3, 1)

    def test_fast_reviews_are_faster_than_240_words_per_minute(self, run: Run, ana: User) -> None:
        slow, fast, unknown = evaluations(run, tasks=["1"] * 3)
        agree(slow, ana, words=240, active_ms=60_000)
        agree(fast, ana, words=240, active_ms=59_999)
        agree(unknown, ana, words=240)
        figures = figures_of(ana)
        assert (figures.read, figures.fast) == (2, 1)

    def test_skips_releases_and_escalations_are_counted(self, run: Run, ana: User, lea: User) -> None:
        skipped, returned, taken, asked, withdrawn = evaluations(run, tasks=["1"] * 5)
        claims.skip(evaluation_id=skipped.pk, reviewer=ana)
        claims.unskip(evaluation_id=skipped.pk, reviewer=ana)
        for evaluation, actor in ((returned, ana), (taken, lea)):
            claims.claim(evaluation_id=evaluation.pk, reviewer=ana)
            claims.release(evaluation_id=evaluation.pk, actor=actor)
        said = {"kind": "question", "reason": "question", "note": "Why?"}
        escalations.escalate(evaluation_id=asked.pk, reviewer=ana, **said)
        raised = escalations.escalate(evaluation_id=withdrawn.pk, reviewer=ana, **said)
        escalations.withdraw(escalation_id=raised.pk, actor=ana)
        figures = figures_of(ana)
        assert (figures.skipped, figures.returned, figures.escalated) == (1, 1, 1)
        assert [other.reviewer for other in reviewer_activity.team_figures(WorkSelection()).reviewers] == [
            ana
        ]

    def test_agreement_rate_counts_spot_checks(self, run: Run, ana: User, lea: User) -> None:
        for evaluation in evaluations(run, tasks=["1"] * 3):
            agree(evaluation, ana)
        upheld, reopened, _ = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=3, actor=lea)
        spot_checks.agree(check_id=upheld.pk, actor=lea)
        spot_checks.reopen(check_id=reopened.pk, actor=lea, reason="Step two.")
        figures = figures_of(ana)
        assert (figures.checked, figures.upheld) == (2, 1)
        listed = drilldown.list_decisions(WorkSelection(run, reviewer=ana), signal="checked")
        assert set(listed.rows) == {upheld.review, reopened.review}
        assert figures.overturned == 1

    def test_figures_can_be_limited_to_a_run_and_to_days(self, run: Run, ana: User) -> None:
        agree(evaluations(run, tasks=["1"])[0], ana)
        agree(EvaluationFactory.create(), ana)
        today = timezone.now().date()
        day = dt.timedelta(days=1)
        assert figures_of(ana).done == figures_of(ana, first=today, last=today).done == 2
        assert figures_of(ana, run=run).done == figures_of(ana, run=run, last=dt.date.max).done == 1
        assert reviewer_activity.team_figures(WorkSelection(last=today - day)).reviewers == []
        assert reviewer_activity.team_figures(WorkSelection(first=today + day)).reviewers == []

    @pytest.mark.parametrize("count", [1, 3])
    def test_figures_take_the_same_queries_for_any_number_of_reviewers(
        self, run: Run, count: int, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        people = UserFactory.create_batch(count, role="reviewer")
        for evaluation, person in zip(evaluations(run, tasks=["1"] * count), people, strict=True):
            agree(evaluation, person)
        with django_assert_num_queries(8):
            found = reviewer_activity.team_figures(WorkSelection(run)).reviewers
        assert [one.reviewer for one in found] == people

    def test_every_figure_has_a_definition(self) -> None:
        counts = {"reviewer", "timed", "compared", "verdicts", "verdict_changes", "read", "fast"}
        counts |= {"slower", "judged", "overridden", "checked", "upheld"}
        shares = {"override_rate", "change_rate", "verdict_change_rate", "fast_rate", "agreement_rate"}
        assert {*ReviewerFigures._fields, *shares} - counts == {*DEFINITIONS}


class TestCriterionOverrides:
    def test_criterion_with_the_highest_override_rate_comes_first(
        self, run: Run, ana: User, bo: User
    ) -> None:
        for evaluation, reviewer in zip(evaluations(run, tasks=["1"] * 4), (ana, ana, bo, bo), strict=True):
            (agree if reviewer == bo else change)(evaluation, reviewer)
        assert daily_counts.criterion_overrides(WorkSelection(run)) == [
            CriterionOverrides("Rigor", 4, 2),
            CriterionOverrides("Clarity", 4, 0),
            CriterionOverrides("Results", 4, 0),
        ]
        rigor = [
            one
            for one in daily_counts.criterion_overrides_by_reviewer(WorkSelection(run))
            if one.criterion == "Rigor"
        ]
        assert [(one.reviewer, one.override_rate) for one in rigor] == [(ana, 1.0), (bo, 0.0)]

    @pytest.mark.parametrize(
        ("judge", "human", "overridden"),
        [("1", 1, 1), (4, 4.0, 0), (True, 1, 1), ("YES", "Yes", 0), ("½", "½", 0), (2**53 + 1, 2**53, 1)],
    )
    def test_overrides_compare_scores_as_json_values_that_ignore_case(
        self, run: Run, ana: User, judge: Any, human: Any, overridden: int
    ) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        scores = {"Rigor": {"score": human, "justification": ""}}
        review = decide(evaluation, ana, scores=scores, judged={"Rigor": judge})
        assert daily_counts.criterion_overrides(WorkSelection(run)) == [
            CriterionOverrides("Rigor", 1, overridden)
        ]
        assert review.changes == overridden

    def test_overrides_accept_criteria_of_any_length(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        judged = {"ж" * 5_000: "Yes", "ж" * 5_001: "No", "": "No"}
        decide(evaluation, ana, judged=judged)
        assert {
            (one.criterion, one.judged) for one in daily_counts.criterion_overrides(WorkSelection(run))
        } == {
            ("ж" * 200, 2),
            ("", 1),
        }

    def test_overrides_of_an_undone_decision_do_not_count(self, run: Run, ana: User) -> None:
        [evaluation] = evaluations(run, tasks=["1"])
        change(evaluation, ana)
        undo.undo(run=run, actor=ana)
        assert daily_counts.criterion_overrides(WorkSelection(run)) == []


class TestDayFigures:
    def test_day_figures_count_the_decisions_of_each_reviewer(self, run: Run, ana: User, bo: User) -> None:
        for evaluation, reviewer in zip(evaluations(run, tasks=["1"] * 3), (ana, ana, bo), strict=True):
            change(evaluation, reviewer)
        today = timezone.now().date()
        found = daily_counts.day_figures(WorkSelection(run))
        assert sorted((one.day, one.reviewer.username, one.done, one.changed) for one in found) == [
            (today, "ana", 2, 2),
            (today, "bo", 1, 1),
        ]


class Work:
    """Random sequences of reviewer actions and imports on a few records."""

    def __init__(self, seed: int, people: list[User]) -> None:
        self.chance = random.Random(seed)
        self.people = people
        self.reimport()

    def go_on(self) -> None:
        """Take one random action. Rejected actions change nothing."""
        often, seldom = [self.submit, self.restore], [self.revise, self.undo, self.reopen, self.reimport]
        action = self.chance.choice([*often * 3, *seldom])
        with suppress(Conflict, Denied):
            action()

    def reimport(self) -> None:
        lines = [line(f"eval_{n}", parsed_rubric_scores=self.scores()) for n in range(4)]
        import_data(file_of(*lines))

    def scores(self) -> dict[str, Any]:
        names = self.chance.sample(["Clarity", "Rigor", "Results"], self.chance.randrange(1, 4))
        return {name: {"score": self.chance.choice(["Yes", "No", 1]), "justification": ""} for name in names}

    def submit(self) -> None:
        self.decide(decisions.submit)

    def revise(self) -> None:
        self.decide(decisions.revise)

    def decide(self, put_in_force: Any) -> None:
        evaluation = self.record()
        judged = {name: score_of(entry) for name, entry in evaluation.parsed_rubric_scores.items()}
        put_in_force(
            evaluation_id=evaluation.pk,
            reviewer=self.chance.choice(self.people),
            version=evaluation.version,
            submission=uuid4(),
            scores=self.scores(),
            comments="",
            origins={},
            judged=self.chance.choice([judged, judged, None]),
        )

    def undo(self) -> None:
        undo.undo(run=self.record().run, actor=self.chance.choice(self.people))

    def reopen(self) -> None:
        actor = self.chance.choice(self.people)
        decisions.reopen(evaluation_id=self.record().pk, actor=actor, reason="Again.")

    def restore(self) -> None:
        record = self.record()
        number = self.chance.randrange(1, record.reviews.count() + 2)
        with suppress(Review.DoesNotExist):
            restore_version(record, self.people[-1], number)  # a lead

    def record(self) -> Evaluation:
        return Evaluation.objects.get(evaluation_id=f"eval_{self.chance.randrange(4)}")


def recounted() -> dict[tuple[Any, ...], list[int]]:
    """The sums of `CriterionDay`, recomputed from the reviews that were not undone."""
    sums: dict[tuple[Any, ...], list[int]] = {}
    for review in Review.objects.filter(withdrawal=None, judged__isnull=False):
        for name, score in (review.judged or {}).items():
            entry = (review.corrected_scores or {}).get(name, {"score": None})
            counted = sums.setdefault(
                (review.run_id, review.reviewer_id, review.submitted_at.date(), name), [0, 0]
            )
            counted[0] += 1
            counted[1] += not is_alike(entry["score"], score)
    return sums


class TestDailySums:
    @pytest.mark.slow
    @pytest.mark.parametrize("steps", [75, pytest.param(240, marks=pytest.mark.exhaustive)])
    def test_daily_sums_match_the_reviews_and_reviewer_figures_for_any_history(
        self, steps: int, ana: User, bo: User, lea: User
    ) -> None:
        work = Work(1, [ana, bo, lea])
        for _ in range(steps):
            work.go_on()
        kept = {
            (one.run_id, one.reviewer_id, one.day, one.criterion): [one.judged, one.overridden]
            for one in CriterionDay.objects.all()
            if one.judged
        }
        assert kept == recounted() != {}
        assert [wrong for wrong in recounts.check_counts() if "by day" in wrong] == []
        assert Review.objects.filter(withdrawal__isnull=False).exists()
        assert AuditEvent.objects.filter(action="restore").exists()
        self.check_reviewer_figures()

    def check_reviewer_figures(self) -> None:
        """Compare the figures of reviewers with the daily sums."""
        by_all, by_each = (
            read(WorkSelection())
            for read in (
                daily_counts.criterion_overrides,
                daily_counts.criterion_overrides_by_reviewer,
            )
        )
        people = reviewer_activity.team_figures(WorkSelection()).reviewers
        for sums in (by_all, by_each, people):
            assert sum(one.judged for one in sums) == sum(judged for judged, _ in recounted().values())
            assert sum(one.overridden for one in sums) == sum(other for _, other in recounted().values())
        assert sum(one.done for one in people) == sum(
            one.done for one in daily_counts.day_figures(WorkSelection())
        )
