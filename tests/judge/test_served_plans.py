"""The queue serves a plan of blind reviews."""

from collections import Counter
from http import HTTPStatus
from itertools import cycle
from random import Random
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.accounts.permissions import Denied
from reviews.judge import review_plan
from reviews.judge.planning import plan_reviews
from reviews.judge.scope import JudgeScope
from reviews.models import AuditEvent, Evaluation, Rating, Run, User
from reviews.queue import claims
from reviews.review import blind_scoring
from reviews.rubric.run_settings import InvalidSettings
from reviews.sampling.planned_shares import DEFERRED, NORMAL, current_plan
from tests.judge.test_planning import part
from tests.support.lines import file_of, import_data, line
from tests.support.planned_runs import CALM, JUDGED_PASS, SIZES, import_planned_run
from tests.support.work import agree, lock_in_scores

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="class")
def _imported(class_world: None) -> None:
    """Import a run for the tests of a class, which undo their changes."""
    import_planned_run()


@pytest.fixture
def imported(_imported: None) -> Run:
    return Run.objects.get(name="evaluations")


def queue_counts(run: Run) -> Counter[tuple[bool, int]]:
    waiting = run.evaluations.filter(human_review_status="Needs Review")
    return Counter(waiting.values_list("needs_human_review", "priority"))


def test_positions_begin_a_gap_before_the_lowest_one() -> None:
    rng = Random(1)
    found = [
        review_plan.estimate_beginning(min(rng.uniform(0.3, 1) for _ in range(20)), 20) for _ in range(2_000)
    ]
    assert sum(found) / len(found) == pytest.approx(0.3, abs=0.005)


@pytest.mark.slow
class TestServe:
    def test_served_plan_samples_and_defers_records(self, imported: Run, lea: User) -> None:
        plan = review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.15, aim="run")
        run = Run.objects.get()
        counts = queue_counts(run)
        assert run.blind_share == 1
        assert sum(counts.values()) - counts[True, DEFERRED] == pytest.approx(plan.more, abs=10)
        assert 5 < counts[True, NORMAL] < counts[False, NORMAL]
        assert counts[True, NORMAL] + counts[True, DEFERRED] == SIZES["flagged"]
        shares = {share.is_flagged: share.share for share in current_plan(run).shares}  # type: ignore[union-attr]
        planned = run.evaluations.filter(needs_human_review=True, priority=NORMAL)
        assert {*planned.values_list("sample_probability", flat=True)} == {shares[True]}
        deferred = run.evaluations.filter(priority=DEFERRED)
        assert {*deferred.values_list("sample_probability", flat=True)} == {None}
        event = AuditEvent.objects.get(action="serve plan")
        assert event.detail["more"] == plan.more

    def test_planned_records_are_claimed_before_deferred_ones(
        self, imported: Run, lea: User, ana: User
    ) -> None:
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.3, aim="run")
        planned = {
            *imported.evaluations.filter(needs_human_review=True, priority=NORMAL).values_list(
                "pk", flat=True
            )
        }
        sampled = {*imported.evaluations.filter(is_sampled=True).values_list("pk", flat=True)}
        for _ in range(len(planned) + len(sampled)):
            claimed = claims.claim_next(run=imported, reviewer=ana)
            assert claimed is not None
            assert claimed.pk in planned | sampled
            claims.skip(evaluation_id=claimed.pk, reviewer=ana)
        assert claims.claim_next(run=imported, reviewer=ana).priority == DEFERRED  # type: ignore[union-attr]

    def test_same_plan_again_changes_nothing(self, imported: Run, lea: User) -> None:
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.15, aim="run")
        before = queue_counts(imported)
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.15, aim="run")
        assert queue_counts(imported) == before

    def test_narrower_target_adds_records_and_raises_probabilities(
        self, imported: Run, lea: User, ana: User
    ) -> None:
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.2, aim="run")
        [flagged, *_] = imported.evaluations.filter(needs_human_review=True, priority=NORMAL)
        lock_in_scores(flagged, ana, {"Clarity": "No"})
        before = queue_counts(imported)
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.1, aim="run")
        after = queue_counts(imported)
        assert after[True, NORMAL] > before[True, NORMAL]
        assert after[False, NORMAL] > before[False, NORMAL]
        share = next(one.share for one in current_plan(Run.objects.get()).shares if one.is_flagged)  # type: ignore[union-attr]
        raised = Evaluation.objects.get(pk=flagged.pk)
        assert raised.sample_probability == share > (flagged.sample_probability or 1)

    def test_planned_record_that_a_file_updates_keeps_its_probability(
        self, imported: Run, lea: User, ana: User
    ) -> None:
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.2, aim="run")
        [flagged, *_] = imported.evaluations.filter(needs_human_review=True, priority=NORMAL)
        lock_in_scores(flagged, ana, {"Clarity": "No"})
        changed = {"task_id": flagged.task_id, "human_review_comments": "From the pipeline."}
        import_data(file_of(line(flagged.evaluation_id, **JUDGED_PASS, **changed)))
        updated = Evaluation.objects.get(pk=flagged.pk)
        assert updated.human_review_comments == "From the pipeline."
        assert updated.sample_probability == flagged.sample_probability is not None

    def test_wider_target_removes_no_record(self, imported: Run, lea: User) -> None:
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.1, aim="run")
        before = queue_counts(imported)
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.3, aim="run")
        assert queue_counts(imported) == before

    def test_stopped_plan_returns_deferred_records(self, imported: Run, lea: User) -> None:
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.2, aim="run")
        run = review_plan.stop_plan(run_id=imported.pk, actor=lea)
        assert queue_counts(run)[True, NORMAL] == SIZES["flagged"]
        assert Run.objects.get().review_plan is None
        flagged = run.evaluations.filter(needs_human_review=True)
        assert {*flagged.values_list("sample_probability", flat=True)} == {None}
        assert AuditEvent.objects.filter(action="stop plan").count() == 1

    def test_plan_after_a_stopped_one_serves_records_that_nobody_has_reviewed(
        self, imported: Run, lea: User, ana: User
    ) -> None:
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.2, aim="run")
        planned = imported.evaluations.filter(needs_human_review=True, priority=NORMAL)
        for number, one in enumerate(planned):
            lock_in_scores(one, ana, {"Clarity": "No" if number % 2 else "Yes"})
        review_plan.stop_plan(run_id=imported.pk, actor=lea)
        plan = review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.1, aim="run")
        wanted = sum(one.more for one in plan.cells if one.cell.is_flagged)
        assert wanted > 3
        assert planned.filter(blind_scores=None).count() == pytest.approx(wanted, abs=4)

    def test_record_that_a_lead_gave_priority_stays_first(self, imported: Run, lea: User) -> None:
        imported.evaluations.filter(needs_human_review=True).update(priority=1)
        review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.2, aim="run")
        assert queue_counts(imported)[True, 1] == SIZES["flagged"]

    @pytest.mark.parametrize(("target", "aim"), [(0, "run"), (0.9, "run"), (0.05, "everything")])
    def test_impossible_request_is_refused(self, imported: Run, lea: User, target: float, aim: str) -> None:
        with pytest.raises(InvalidSettings):
            review_plan.serve_plan(run_id=imported.pk, actor=lea, target=target, aim=aim)
        assert Run.objects.get().review_plan is None

    def test_reviewer_may_not_serve_a_plan(self, imported: Run, ana: User) -> None:
        with pytest.raises(Denied):
            review_plan.serve_plan(run_id=imported.pk, actor=ana, target=0.1, aim="run")


@pytest.mark.slow
class TestSimulatedRun:
    """A run whose lead serves plans until the target is reached, and three people who review them."""

    TASKS = 140

    @pytest.fixture
    def wrong(self) -> set[str]:
        """Create the run. A tenth of the unflagged and half of the flagged verdicts are wrong."""
        draw, wrong, lines = Random(4), set(), []
        for number in range(5 * self.TASKS):
            is_flagged = draw.random() < 0.2
            if draw.random() < (0.5 if is_flagged else 0.1):
                wrong.add(f"r{number}")
            scores = {"parsed_rubric_scores": {"Clarity": {"score": "Yes", "justification": ""}}}
            kind = JUDGED_PASS | scores | ({} if is_flagged else CALM)
            lines.append(line(f"r{number}", task_id=f"{number // 5}", model_id=f"m{number % 2}", **kind))
        import_data(file_of(*lines), run="evaluations")
        return wrong

    @pytest.mark.exhaustive
    def test_served_plans_reach_the_target_with_about_the_promised_reviews(
        self, wrong: set[str], as_lea: Client, ana: User, bo: User, lea: User
    ) -> None:
        run, sent = Run.objects.get(), {"target": "6", "aim": "run"}
        promised: list[int] = []
        while (more := plan_reviews(JudgeScope(run), 0.06).more) and len(promised) < 6:
            done = Rating.objects.filter(cell__criterion=None).count()
            promised.append(done + more)
            assert as_lea.post(reverse("serve-plan", args=[run.pk]), sent).status_code == HTTPStatus.FOUND
            run.refresh_from_db()
            self.review_planned(run, wrong, ana, bo, lea)
        reached = part(plan_reviews(JudgeScope(run), 0.06), "run")
        first, second, *_ = promised
        assert reached.half_width is not None
        assert reached.half_width <= 0.06
        # The first plan assumes even odds. Only a part of it is served, and the second plan knows more.
        assert second < first / 1.5
        assert reached.ratings == pytest.approx(second, rel=0.25)
        assert reached.accuracy.value == pytest.approx(1 - len(wrong) / (5 * self.TASKS), abs=0.06)
        probabilities = Rating.objects.filter(cell__criterion=None).values_list("probability", flat=True)
        assert sum(1 / one for one in probabilities) == pytest.approx(5 * self.TASKS, rel=0.05)

    def review_planned(self, run: Run, wrong: set[str], *people: User) -> None:
        """Review the served records in turns, until only deferred ones are left."""
        for person in cycle(people):
            record = claims.claim_next(run=run, reviewer=person)
            if record is None:
                return
            if record.priority == DEFERRED:
                claims.release(evaluation_id=record.pk, actor=person)
                return
            score = "No" if record.evaluation_id in wrong else "Yes"
            given: Any = {"evaluation_id": record.pk, "reviewer": person, "version": record.version}
            blind_scoring.lock_in(**given, scores={"Clarity": score}, fields=[], active_ms=None)
            agree(record, person, scores={"Clarity": {"score": score, "justification": ""}})
