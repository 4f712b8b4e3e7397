"""The demo of `up --demo`: people, a run to try, and runs that were reviewed for a week."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from inspect import signature
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from reviews.accounts.permissions import role_of
from reviews.dashboard.attention import who_needs_help
from reviews.dashboard.known_answers import accuracies, compare
from reviews.dashboard.reviewer_activity import team_figures
from reviews.dashboard.selection import WorkSelection
from reviews.demo import first_start, reviews
from reviews.demo.reviews import REJUDGED_RUN, REVIEWED_RUN
from reviews.demo.run import DEMO_RUN, demo_lines
from reviews.exports import jsonl
from reviews.judge.gold import measurement
from reviews.judge.scope import JudgeScope
from reviews.models import (
    AuditEvent,
    Evaluation,
    FileConflict,
    GoldSet,
    IndependentReview,
    KnownAnswerCheck,
    Overturn,
    Review,
    Run,
    SpotCheck,
    TaskContext,
    User,
)
from reviews.queue.progress import run_progress
from reviews.review.known_answer_rows import answers_to_give
from tests.support.shared_world import shared_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Sizes of the reviewed runs and of their work (`reviews.demo.reviews`) that show all states, too.
SMALLER = {"_COUNT": 22, "_CHECKS": 5, "_KNOWN_ANSWERS": 3, "_DECISIONS_A_DAY": 5, "_LEFT": 4}


@pytest.fixture(scope="class")
def said(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[str]]:
    """The output of creating a demo whose reviewed runs are smaller. Its creation takes seconds."""
    with pytest.MonkeyPatch.context() as patch, shared_world(django_db_blocker):
        for name, number in SMALLER.items():
            patch.setattr(reviews, name, number)
        yield create_restricted_demo()


def create_restricted_demo() -> list[str]:
    """Create the demo on a site that restricts new runs."""
    with override_settings(RESTRICT_NEW_RUNS=True):
        return first_start.create_demo()


@pytest.mark.usefixtures("said")
class TestDemo:
    def test_demo_has_a_run_and_people_who_can_log_in(self, said: list[str]) -> None:
        passwords = [line.split()[-1] for line in said]
        people = [User.objects.get(username=name) for name in ("ana", "bo", "lea", "max")]
        assert [role_of(person) for person in people] == ["reviewer", "reviewer", "lead", "admin"]
        assert all(person.check_password(word) for person, word in zip(people, passwords, strict=True))
        assert Evaluation.objects.filter(run__name=DEMO_RUN).count() == 200
        assert TaskContext.objects.filter(run__name=DEMO_RUN).count() == 40

    def test_demo_runs_are_open_even_if_new_runs_are_restricted(self) -> None:
        assert [run.is_restricted for run in Run.objects.all()] == [False, False, False]

    def test_demo_is_created_only_once(self) -> None:
        before = list(User.objects.values())
        assert first_start.create_demo() == []
        assert list(User.objects.values()) == before
        assert Run.objects.get(name=DEMO_RUN).imports.count() == 1

    def test_reviewed_demo_run_has_blind_sampled_and_independent_reviews(self) -> None:
        run = Run.objects.get(name=REVIEWED_RUN)
        assert not run.evaluations.filter(human_review_status="Needs Review").exists()
        decided = Review.objects.filter(run=run)
        assert decided.filter(blind_scores__isnull=False).exists()
        assert decided.filter(is_sampled=True).exists()
        assert IndependentReview.objects.filter(review__run=run).exists()
        assert decided.filter(reviewer__username="lea").exists()

    def test_demo_decisions_are_dated_on_several_days_up_to_now(self) -> None:
        made = Review.objects.by_reviewers()
        days = set(made.values_list("submitted_at__date", flat=True))
        assert len(days) >= 6
        # The last hour of work is on any day, and may have begun before midnight.
        last = max(made.values_list("submitted_at", flat=True))
        assert timezone.now() - dt.timedelta(hours=2) < last <= timezone.now()
        assert all(day.weekday() < 5 for day in days if day < (last - dt.timedelta(hours=1)).date())
        events = AuditEvent.objects.filter(action="submit", run__name=REVIEWED_RUN)
        assert set(events.values_list("at", flat=True)) <= set(made.values_list("submitted_at", flat=True))

    def test_demo_shows_what_waits_for_a_lead(self) -> None:
        run = Run.objects.get(name=REJUDGED_RUN)
        waiting = Counter(run.escalations.filter(outcome="open").values_list("kind", flat=True))
        assert (waiting["question"], waiting["disagreement"]) == (3, 2)
        assert run.escalations.filter(outcome="returned").exclude(answer="").count() == 1
        assert FileConflict.objects.filter(run=run, resolved_at=None).count() == 2
        assert run_progress(run).waiting > 0
        checks = Counter(SpotCheck.objects.values_list("outcome", flat=True))
        assert set(checks) == {"open", "agreed", "corrected", "reopened"}
        kinds = Counter(Overturn.objects.values_list("kind", flat=True))
        assert kinds["revised"] > 0
        assert kinds["reopened"] > 0

    def test_demo_has_an_ended_and_a_running_check_with_known_answers(self) -> None:
        ended, running = KnownAnswerCheck.objects.order_by("pk")
        assert (ended.run.name, running.run.name) == (REVIEWED_RUN, REJUDGED_RUN)
        count = reviews._KNOWN_ANSWERS
        assert (ended.answers.count(), running.answers.count()) == (count, count)
        assert [one.records for one in accuracies(compare(ended))] == [count, count]
        assert ended.started_at < ended.answers.earliest("pk").evaluation.reviews.earliest("pk").submitted_at
        assert answers_to_give(running.started_by).count() == 2

    def test_new_prompt_of_the_demo_judges_the_same_responses(self) -> None:
        before, after = (
            Run.objects.get(name=name).evaluations.order_by("first_line")
            for name in (REVIEWED_RUN, REJUDGED_RUN)
        )
        response = ("task_id", "model_id", "structured_model_response")
        assert [*before.values_list(*response)] == [*after.values_list(*response)]
        prompts = after.values_list("judge_prompt_template_path", flat=True)
        assert all(path.endswith("-v2.0.txt") for path in prompts)
        assert (
            0 < after.filter(needs_human_review=True).count() < before.filter(needs_human_review=True).count()
        )

    def test_gold_set_of_the_demo_measures_the_new_prompt(self) -> None:
        run = Run.objects.get(name=REJUDGED_RUN)
        headline = measurement.measure(GoldSet.objects.get(), JudgeScope(run)).headline
        assert headline
        assert headline.accuracy.n > reviews._COUNT / 5

    def test_reviewed_demo_run_exports_its_file_with_decisions_only(self) -> None:
        run = Run.objects.get(name=REVIEWED_RUN)
        sent = b"".join(demo_lines(reviews._COUNT, 8)).splitlines()
        back = b"".join(jsonl.export_lines(run)).splitlines()
        differing = [
            number for number, lines in enumerate(zip(sent, back, strict=True)) if len(set(lines)) > 1
        ]
        assert len(differing) == run.evaluations.filter(human_review_status="Completed").count()


@pytest.mark.exhaustive
def test_demo_of_its_real_size_passes_the_tests_of_a_smaller_one() -> None:
    """In one test, because the creation takes longer than all of them."""
    said, tests = create_restricted_demo(), TestDemo()
    named = [getattr(tests, name) for name in vars(TestDemo) if name.startswith("test_")]
    assert named
    for test in named:
        test(*([said] if signature(test).parameters else []))
    # A smaller one has too few spot checks for that.
    found = {one.reviewer.username: one.reasons for one in who_needs_help(team_figures(WorkSelection()))}
    assert "spot-checked" in found["bo"][-1].text
