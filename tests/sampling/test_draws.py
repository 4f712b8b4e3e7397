"""Draws of random samples of unflagged records."""

from collections import Counter
from math import ceil
from typing import Any

import pytest
from django.db import transaction
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews import tasks
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.models import AuditEvent, Run, User
from reviews.queue import allocation, claims, progress
from reviews.review import escalations, undo
from reviews.sampling import draws
from tests.support.lines import file_of, import_data, line
from tests.support.sampled_runs import drawn, one_drawn, reload, run_with_sample, set_share, unflagged
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import agree, end_claim

pytestmark = pytest.mark.django_db


class TestDraw:
    @pytest.mark.slow
    def test_draw_takes_the_share_of_each_judge_prompt_model_and_verdict(self) -> None:
        sizes = {("model-a", "Pass"): 30, ("model-a", "Fail"): 3, ("model-b", "Pass"): 11}
        lines = [
            unflagged(f"{model}-{verdict}-{number}", model_id=model, aggregated_score=verdict)
            for (model, verdict), size in sizes.items()
            for number in range(size)
        ]
        run = Run.objects.create(name="evaluations", sample_share=0.1)
        import_data(file_of(*lines, line("flagged")))
        found = run.evaluations.filter(is_sampled=True).values_list("model_id", "aggregated_score")
        assert Counter(found) == {cell: ceil(size / 10) for cell, size in sizes.items()}

    def test_draw_takes_the_records_with_the_lowest_positions(self) -> None:
        run, _ = run_with_sample(0.3)
        ordered = sorted(
            (f"u{number}" for number in range(10)),
            key=lambda one: allocation.position(allocation.SAMPLE, one),
        )
        assert drawn(run) == set(ordered[:3])

    @pytest.mark.slow
    def test_sampled_records_are_in_the_queue_among_the_flagged_ones(self, ana: User) -> None:
        run, _ = run_with_sample(0.3)
        assert progress.run_progress(run)[:2] == (12, 5)
        assert progress.run_progress(run).not_required == 7
        waiting = []
        while held := claims.claim_next(run=run, reviewer=ana):
            waiting.append(held.evaluation_id)
            claims.skip(evaluation_id=held.pk, reviewer=ana)
            if len(waiting) == 5:
                break
        assert set(waiting) == {"f1", "f2", *drawn(run)}

    @pytest.mark.parametrize("changes", [{"needs_human_review": True}, {"human_review_status": "Reviewed"}])
    def test_draw_takes_no_record_that_was_flagged_or_reviewed(self, changes: dict[str, Any]) -> None:
        run, _ = run_with_sample(1, **changes)
        assert drawn(run) == set()

    def test_second_draw_adds_nothing(self) -> None:
        run, _ = run_with_sample(0.3)
        assert draws.draw_sample(run_id=run.pk) == (0, 0)
        assert AuditEvent.objects.filter(action="draw sample").count() == 1

    @pytest.mark.slow
    def test_larger_share_adds_to_the_sample(self, lea: User) -> None:
        run, _ = run_with_sample(0.3)
        before = drawn(run)
        assert set_share(run, 0.5) == (2, 0)
        assert drawn(run) > before

    @pytest.mark.slow
    def test_smaller_share_removes_records_that_nobody_has_worked_on(self, ana: User, bo: User) -> None:
        run, _ = run_with_sample(1)
        held, decided, typed, handed_on, taken_back, *free = run.evaluations.filter(is_sampled=True)
        agree(reload(decided), ana)
        agree(reload(taken_back), ana)
        undo.undo(run=run, actor=ana)
        end_claim(taken_back)
        claims.claim(evaluation_id=held.pk, reviewer=bo)
        typed.drafts.create(reviewer=bo, fields=[], revision=1)
        escalations.escalate(
            evaluation_id=handed_on.pk, reviewer=ana, kind="question", reason="question", note="Why?"
        )
        assert set_share(run, 0) == (0, len(free))
        kept = {one.evaluation_id for one in (held, decided, typed, handed_on, taken_back)}
        assert drawn(run) == kept
        assert {reload(one).human_review_status for one in free} == {"Not Required"}
        counted = progress.run_progress(run)
        assert (counted.not_required, counted.done, counted.sampled) == (len(free), 1, 5)

    @pytest.mark.slow
    def test_import_draws_the_sample(self) -> None:
        run, _ = run_with_sample(0.5, count=4)
        first = drawn(run)
        import_data(file_of(*(unflagged(f"v{number}") for number in range(6))))
        below = {
            f"v{number}" for number in range(6) if allocation.position(allocation.SAMPLE, f"v{number}") < 0.5
        }
        assert drawn(run) == first | below

    def test_run_without_a_share_is_not_searched_for_records(self, django_assert_num_queries: Any) -> None:
        run, _ = run_with_sample(0)
        with django_assert_num_queries(5):
            draws.draw_sample(run_id=run.pk)

    def test_draw_leaves_an_event_with_its_actor_and_counts(self, lea: User) -> None:
        run, _ = run_with_sample(0)
        run.sample_share = 0.3
        run.save()
        draws.request_draw(run=run, actor=lea)
        event = AuditEvent.objects.get(action="draw sample")
        assert (event.actor, event.run) == (lea, run)
        assert event.detail == {"share": 0.3, "drawn": 3, "put_back": 0}

    def test_large_run_is_drawn_by_a_job(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(draws, "MAX_RECORDS_WITHOUT_JOB", 5)
        run, _ = run_with_sample(0.3)
        assert drawn(run) == set()
        [job] = ProcrastinateJob.objects.filter(task_name=draws.JOB)
        tasks.draw_sample(**job.args)
        assert len(drawn(run)) == 3

    @pytest.mark.slow
    def test_count_sampled_counts_sampled_and_decided_records(self, ana: User) -> None:
        run, _ = run_with_sample(0.3)
        agree(one_drawn(), ana)
        assert draws.count_sampled(run) == (3, 1)


class TestConcurrentDraws:
    pytestmark = pytest.mark.django_db(transaction=True)

    @pytest.mark.slow
    def test_record_that_is_claimed_during_a_draw_stays_in_the_queue(self, ana: User) -> None:
        run, _ = run_with_sample(1, count=3)
        claimed = one_drawn()
        run.sample_share = 0
        run.save()
        with transaction.atomic():
            claims.claim(evaluation_id=claimed.pk, reviewer=ana)
            assert start_and_wait_for_lock(lambda: draws.draw_sample(run_id=run.pk)).result() == (0, 2)
        assert reload(claimed).is_sampled
        assert reload(claimed).claimed_by == ana

    @pytest.mark.slow
    def test_draw_during_an_import_waits_in_a_job(self) -> None:
        run, _ = run_with_sample(0)

        def ask() -> None:
            changed = Run.objects.get(pk=run.pk)
            changed.sample_share = 0.3
            changed.save()
            draws.request_draw(run=changed)

        with transaction.atomic():
            locks.acquire(Lock.IMPORT)
            start_and_wait_for_lock(ask).result()
        assert ProcrastinateJob.objects.filter(task_name=draws.JOB).count() == 1
        assert drawn(run) == set()
