"""Random samples of unflagged records: draws, decisions, exports and re-imports."""

import json
from collections import Counter, defaultdict
from contextlib import suppress
from math import ceil, sqrt
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews import tasks
from reviews.accounts.permissions import Denied
from reviews.audit import log
from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.exports.verify_log import AuditLogFile, verify_with_log
from reviews.models import AuditEvent, Draft, Evaluation, FileConflict, Rating, Review, Run, User
from reviews.queue import allocation, claims, progress
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.records.schema import HUMAN_FIELDS, Limits
from reviews.review import decisions, escalations, undo
from reviews.sampling import draws
from reviews.sampling.draws import DrawResult
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.threads import start_and_wait_for_lock
from tests.support.work import agree, decide, end_claim, lock_in_many, lock_in_scores, restore_version

pytestmark = pytest.mark.django_db

CORRECTED = {"Clarity": {"score": "No", "justification": "It skips a step."}}


def unflagged(name: str, **changes: Any) -> bytes:
    """Return an unflagged line."""
    calm = {"needs_human_review": False, "review_reasons": [], "human_review_status": "Not Required"}
    return line(name, **(calm | changes))


def run_of(share: float, count: int = 10, **changes: Any) -> tuple[Run, bytes]:
    """Import `count` unflagged lines and two flagged ones. Return the run and its file."""
    data = file_of(line("f1"), *(unflagged(f"u{number}", **changes) for number in range(count)), line("f2"))
    run = Run.objects.create(name="evaluations", sample_share=share)
    import_data(data)
    return run, data


def set_share(run: Run, share: float) -> DrawResult:
    run.sample_share = share
    run.save(update_fields=["sample_share"])
    return draws.draw_sample(run_id=run.pk)


def rate(run: Run, reviewer: User, part: float, **columns: str) -> None:
    """Score a part of the sampled records blind that nobody has scored."""
    waiting = run.evaluations.filter(is_sampled=True, blind_scores=None, **columns).select_related("run")
    records = [*waiting.order_by("pk")[: round(part * waiting.count())]]
    lock_in_many(records, reviewer, [{"Clarity": "No"}] * len(records))


def drawn(run: Run) -> set[str]:
    return set(run.evaluations.filter(is_sampled=True).values_list("evaluation_id", flat=True))


def one_drawn() -> Evaluation:
    return Evaluation.objects.select_related("run").filter(is_sampled=True).order_by("pk")[0]


def again(evaluation: Evaluation) -> Evaluation:
    return Evaluation.objects.select_related("run").get(pk=evaluation.pk)


def summed(run: Run) -> int:
    """Count the verdicts of sampled records in the figures about the judge."""
    verdicts = Rating.objects.filter(cell__stratum__run=run, cell__criterion=None, cell__is_sampled=True)
    return verdicts.count()


class TestDraw:
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
        run, _ = run_of(0.3)
        ordered = sorted(
            (f"u{number}" for number in range(10)),
            key=lambda one: allocation.position(allocation.SAMPLE, one),
        )
        assert drawn(run) == set(ordered[:3])

    def test_sampled_records_are_in_the_queue_among_the_flagged_ones(self, ana: User) -> None:
        run, _ = run_of(0.3)
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
        run, _ = run_of(1, **changes)
        assert drawn(run) == set()

    def test_second_draw_adds_nothing(self) -> None:
        run, _ = run_of(0.3)
        assert draws.draw_sample(run_id=run.pk) == (0, 0)
        assert AuditEvent.objects.filter(action="draw sample").count() == 1

    def test_larger_share_adds_to_the_sample(self, lea: User) -> None:
        run, _ = run_of(0.3)
        before = drawn(run)
        assert set_share(run, 0.5) == (2, 0)
        assert drawn(run) > before

    def test_smaller_share_removes_records_that_nobody_has_worked_on(self, ana: User, bo: User) -> None:
        run, _ = run_of(1)
        held, decided, typed, handed_on, taken_back, *free = run.evaluations.filter(is_sampled=True)
        agree(again(decided), ana)
        agree(again(taken_back), ana)
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
        assert {again(one).human_review_status for one in free} == {"Not Required"}
        counted = progress.run_progress(run)
        assert (counted.not_required, counted.done, counted.sampled) == (len(free), 1, 5)

    def test_import_draws_the_sample(self) -> None:
        run, _ = run_of(0.5, count=4)
        first = drawn(run)
        import_data(file_of(*(unflagged(f"v{number}") for number in range(6))))
        below = {
            f"v{number}" for number in range(6) if allocation.position(allocation.SAMPLE, f"v{number}") < 0.5
        }
        assert drawn(run) == first | below

    def test_run_without_a_share_is_not_searched_for_records(self, django_assert_num_queries: Any) -> None:
        run, _ = run_of(0)
        with django_assert_num_queries(5):
            draws.draw_sample(run_id=run.pk)

    def test_draw_leaves_an_event_with_its_actor_and_counts(self, lea: User) -> None:
        run, _ = run_of(0)
        run.sample_share = 0.3
        run.save()
        draws.request_draw(run=run, actor=lea)
        event = AuditEvent.objects.get(action="draw sample")
        assert (event.actor, event.run) == (lea, run)
        assert event.detail == {"share": 0.3, "drawn": 3, "put_back": 0}

    def test_large_run_is_drawn_by_a_job(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(draws, "MAX_RECORDS_WITHOUT_JOB", 5)
        run, _ = run_of(0.3)
        assert drawn(run) == set()
        [job] = ProcrastinateJob.objects.filter(task_name=draws.JOB)
        tasks.draw_sample(**job.args)
        assert len(drawn(run)) == 3

    def test_count_sampled_counts_sampled_and_decided_records(self, ana: User) -> None:
        run, _ = run_of(0.3)
        agree(one_drawn(), ana)
        assert draws.count_sampled(run) == (3, 1)


class TestProbabilities:
    def probabilities(self, run: Run) -> dict[str, float | None]:
        sampled = run.evaluations.filter(is_sampled=True)
        return dict(sampled.values_list("evaluation_id", "sample_probability"))

    def test_probability_is_the_part_of_the_first_import_that_is_drawn(self) -> None:
        run, _ = run_of(0.25)
        assert self.probabilities(run) == dict.fromkeys(drawn(run), 0.3)
        assert len(drawn(run)) == 3
        assert not run.evaluations.filter(is_sampled=False).exclude(sample_probability=None).exists()

    def test_probability_of_a_record_of_a_later_import_is_the_share(self) -> None:
        run, _ = run_of(0.25)
        import_data(file_of(*(unflagged(f"v{number}") for number in range(20))))
        later = {one: p for one, p in self.probabilities(run).items() if one.startswith("v")}
        assert later == dict.fromkeys(later, 0.25)
        assert later

    def test_larger_share_raises_the_probability_of_all_sampled_records(self, ana: User) -> None:
        run, _ = run_of(0.3)
        agree(one_drawn(), ana)
        set_share(run, 0.5)
        assert self.probabilities(run) == dict.fromkeys(drawn(run), 0.5)

    def test_larger_share_raises_the_probability_of_blind_ratings(self, ana: User, bo: User) -> None:
        run, _ = run_of(0.2)
        rated, assisted = run.evaluations.filter(is_sampled=True)
        agree(again(assisted), bo)
        Run.objects.update(blind_share=0.5)
        lock_in_scores(again(rated), ana, {"Clarity": "No"})
        for share, expected in ((0.8, 0.4), (0.1, 0.1), (0.5, 0.25)):
            set_share(run, share)
            found = Rating.objects.filter(cell__criterion=None)
            assert {one.evaluation.evaluation_id: one.probability for one in found} == {
                rated.evaluation_id: pytest.approx(expected),
                assisted.evaluation_id: 1,
            }

    @pytest.mark.slow
    @pytest.mark.parametrize("reviewed", [0, 0.5, 1], ids=["none", "half", "all"])
    def test_ratings_represent_all_records_if_a_larger_share_is_reduced(
        self, ana: User, reviewed: float
    ) -> None:
        """People reach the first of two tasks, then a part of the records that a larger share adds to it."""
        data = file_of(*(unflagged(f"u{number}", task_id=f"{number % 2}") for number in range(600)))
        run = Run.objects.create(name="evaluations", sample_share=0.1, blind_share=1)
        import_data(data)
        rate(run, ana, 1, task_id="0")
        set_share(run, 0.3)
        rate(run, ana, reviewed, task_id="0")
        set_share(run, 0.1)
        rate(run, ana, 1)
        weights = {"0": 0.0, "1": 0.0}
        for one in Rating.objects.filter(cell__criterion=None).select_related("evaluation"):
            weights[one.evaluation.task_id or ""] += 1 / one.probability
        assert sum(weights.values()) == pytest.approx(600, rel=0.05)
        # The number of sampled records of a task is a matter of chance.
        assert weights == pytest.approx({"0": 300, "1": 300}, abs=3 * sqrt(300 * 9))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "is_later_import",
        [False, pytest.param(True, marks=pytest.mark.exhaustive)],
        ids=["first import", "later import"],
    )
    @pytest.mark.parametrize(
        "seed", [3, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (2, 4, 8, 10))]
    )
    def test_weights_are_those_of_the_largest_share_that_people_reviewed(
        self, seed: int, ana: User, *, is_later_import: bool
    ) -> None:
        """The share changes at random, and each time people review the sample of a random part of the tasks.

        All records of a task that was reviewed at a share had the chance of that share.
        """
        random = Random(seed)
        tasks, size, shares = 20, 24, (0.1, 0.25, 0.4, 0.6)
        changes = [(random.choice(shares), random.choice((0, 5, 10, 15))) for _ in range(5)]
        changes.append((random.choice(shares[:2]), tasks))
        run = Run.objects.create(name="evaluations", sample_share=changes[0][0], blind_share=1)
        if is_later_import:
            import_data(file_of(unflagged("first", task_id="99", aggregated_score="Pass")))
        numbers = range(tasks * size)
        import_data(file_of(*(unflagged(f"u{number}", task_id=f"{number % tasks}") for number in numbers)))
        reviewed = dict.fromkeys(range(tasks), 0.0)
        for share, until in changes:
            set_share(run, share)
            for task in range(until):
                reviewed[task] = max(reviewed[task], share)
                rate(run, ana, 1, task_id=f"{task}")
        found, expected = defaultdict[float, float](float), defaultdict[float, float](float)
        ratings = Rating.objects.filter(cell__criterion=None).exclude(evaluation__task_id="99")
        for task_id, probability in ratings.values_list("evaluation__task_id", "probability"):
            share = reviewed[int(task_id or "")]
            found[share] += 1 / probability
            expected[share] += 1 / share
        # A rated record at the border of the reviewed tasks has neighbours on both sides of it.
        assert found == pytest.approx(expected, rel=0.1)
        assert sum(found.values()) == pytest.approx(sum(expected.values()), rel=0.03)

    def test_smaller_share_keeps_the_probability_of_records_that_somebody_has_worked_on(
        self, ana: User, bo: User
    ) -> None:
        run, _ = run_of(1)
        held, decided, typed, *free = run.evaluations.filter(is_sampled=True)
        agree(again(decided), ana)
        claims.claim(evaluation_id=held.pk, reviewer=bo)
        typed.drafts.create(reviewer=bo, fields=[], revision=1)
        set_share(run, 0.6)
        found = self.probabilities(run)
        worked_on = {one.evaluation_id for one in (held, decided, typed)}
        assert {found.pop(name) for name in worked_on} == {1}
        assert set(found.values()) == {0.6}
        assert set(found) < {one.evaluation_id for one in free}
        removed = run.evaluations.exclude(evaluation_id__in=[*worked_on, *found])
        assert not removed.filter(needs_human_review=False).exclude(sample_probability=None).exists()

    def test_file_that_flags_a_sampled_record_removes_its_probability(self) -> None:
        run, _ = run_of(1, count=1)
        flagged = {"needs_human_review": True, "human_review_status": "Needs Review", "review_reasons": ["x"]}
        import_data(file_of(unflagged("u0", **flagged)))
        assert self.probabilities(run) == {}
        assert not run.evaluations.exclude(sample_probability=None).exists()

    @pytest.mark.exhaustive
    def test_weighted_records_represent_all_after_changes_of_the_share_and_a_later_import(
        self, ana: User
    ) -> None:
        """Each judge prompt is a replication of the same three groups of records."""
        prompts, sizes = range(250), {"early": 9, "late": 9, "later": 7}

        def lines_of(group: str) -> list[bytes]:
            return [
                unflagged(f"{group}-{prompt}-{number}", judge_prompt_template_path=f"{prompt}")
                for prompt in prompts
                for number in range(sizes[group])
            ]

        def reach(group: str) -> None:
            found = run.evaluations.filter(
                is_sampled=True, evaluation_id__startswith=f"{group}-", drafts=None
            )
            Draft.objects.bulk_create(
                Draft(evaluation=one, reviewer=ana, fields=[], revision=1) for one in found
            )

        run = Run.objects.create(name="evaluations", sample_share=0.3)
        import_data(file_of(*lines_of("early"), *lines_of("late")))
        reach("early")
        set_share(run, 0.1)
        import_data(file_of(*lines_of("later")))
        set_share(run, 0.2)
        for group in sizes:
            reach(group)
        set_share(run, 0.6)
        for group in sizes:
            reach(group)
        set_share(run, 0.15)
        weights: dict[str, list[float]] = {group: [] for group in sizes}
        for name, probability in self.probabilities(run).items():
            weights[name.split("-")[0]].append(1 / (probability or 0))
        for group, size in sizes.items():
            # The variance of the sum of independent draws, which fixed sizes can only reduce.
            error = sqrt(sum(weight * (weight - 1) for weight in weights[group]))
            assert abs(sum(weights[group]) - size * len(prompts)) < 3 * error, group


class TestConcurrentDraws:
    pytestmark = pytest.mark.django_db(transaction=True)

    @pytest.mark.slow
    def test_record_that_is_claimed_during_a_draw_stays_in_the_queue(self, ana: User) -> None:
        run, _ = run_of(1, count=3)
        claimed = one_drawn()
        run.sample_share = 0
        run.save()
        with transaction.atomic():
            claims.claim(evaluation_id=claimed.pk, reviewer=ana)
            assert start_and_wait_for_lock(lambda: draws.draw_sample(run_id=run.pk)).result() == (0, 2)
        assert again(claimed).is_sampled
        assert again(claimed).claimed_by == ana

    @pytest.mark.slow
    def test_draw_during_an_import_waits_in_a_job(self) -> None:
        run, _ = run_of(0)

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


class TestDecisionsOnSampledRecords:
    @pytest.fixture
    def run(self) -> Run:
        return run_of(0.3)[0]

    def test_decision_without_a_change_confirms_a_sampled_record(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        review = agree(evaluation, ana)
        confirmed = again(evaluation)
        assert (confirmed.human_review_status, confirmed.review) == ("Not Required", review)
        assert confirmed.is_confirmed
        assert confirmed.is_decided
        assert not confirmed.is_done
        assert {confirmed.human[name] for name in HUMAN_FIELDS[1:]} == {None}
        assert review.is_sampled
        assert summed(run) == 1

    def test_confirmation_is_a_submit_in_the_audit_log_that_keeps_the_line(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        human = AuditEvent.objects.get(action="submit").detail["human"]
        assert human["keeps_line"] is True
        assert human["after"]["human_review_status"] == "Not Required"

    def test_decision_with_a_comment_only_confirms_a_sampled_record(self, run: Run, ana: User) -> None:
        review = agree(one_drawn(), ana, comments="Checked by hand.")
        assert again(review.evaluation).is_confirmed
        assert review.comments == "Checked by hand."

    @pytest.mark.parametrize(
        "correction",
        [
            {"scores": CORRECTED},
            {"scores": {"Clarity": {"score": "Yes", "justification": "Another reason."}}},
            {"causes": {"Clarity": "right score wrong reason"}},
        ],
        ids=["a score", "a justification", "a cause"],
    )
    def test_override_on_a_sampled_record_is_like_any_other(
        self, run: Run, ana: User, correction: dict[str, Any]
    ) -> None:
        review = agree(one_drawn(), ana, **correction)
        corrected = again(review.evaluation)
        assert corrected.human_review_status == "Completed"
        assert corrected.human_reviewer_id == "ana"
        assert corrected.human_corrected_scores == review.corrected_scores
        assert "keeps_line" not in AuditEvent.objects.get(action="submit").detail["human"]

    def test_decision_without_a_change_completes_a_flagged_record(self, run: Run, ana: User) -> None:
        flagged = Evaluation.objects.select_related("run").get(evaluation_id="f1")
        agree(flagged, ana)
        assert again(flagged).human_review_status == "Completed"

    def test_confirmation_can_be_undone(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        undo.undo(run=run, actor=ana)
        undone = again(evaluation)
        assert (undone.human_review_status, undone.review, undone.claimed_by) == ("Needs Review", None, ana)
        assert summed(run) == 0

    def test_confirmation_can_be_revised_to_an_override_and_back(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        decide(again(evaluation), ana, by=decisions.revise, scores=CORRECTED)
        assert again(evaluation).human_review_status == "Completed"
        agree(again(evaluation), ana, by=decisions.revise)
        confirmed = again(evaluation)
        assert confirmed.is_confirmed
        assert confirmed.human_corrected_scores is confirmed.human_reviewer_id is None
        assert confirmed.human_review_timestamp is None
        assert [
            event.action for event in AuditEvent.objects.filter(evaluation=evaluation).order_by("pk")
        ] == [
            "submit",
            "revise",
            "revise",
        ]

    def test_confirmation_can_be_restored(self, run: Run, ana: User) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        decide(again(evaluation), ana, by=decisions.revise, scores=CORRECTED)
        restore_version(again(evaluation), ana, 1)
        assert again(evaluation).is_confirmed
        restore_version(again(evaluation), ana, 2)
        assert again(evaluation).human_corrected_scores == CORRECTED

    def test_reopened_sampled_record_has_no_decision(self, run: Run, ana: User, lea: User) -> None:
        evaluation = one_drawn()
        review = agree(evaluation, ana)
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="Look again.")
        reopened = again(evaluation)
        assert (reopened.human_review_status, reopened.review) == ("Needs Review", None)
        assert reopened.is_sampled
        assert summed(run) == 0
        assert review.overturns.get().reason == "Look again."
        with pytest.raises(Conflict):
            undo.undo(run=run, actor=ana)

    def test_closed_sampled_record_keeps_its_line(self, run: Run, ana: User, lea: User) -> None:
        evaluation = one_drawn()
        raised = escalations.escalate(
            evaluation_id=evaluation.pk, reviewer=ana, kind="cannot judge", reason="no reference", note=""
        )
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="closed", answer="So it is.")
        assert again(evaluation).is_confirmed
        assert summed(run) == 0

    def test_late_decision_on_a_sampled_record_learns_how_the_decisions_differ(
        self, run: Run, ana: User, bo: User
    ) -> None:
        evaluation = one_drawn()
        agree(evaluation, ana)
        with pytest.raises(Conflict, match=r"ana submitted this .* You differ on 1 criterion\."):
            decide(evaluation, bo, scores=CORRECTED)

    def test_confirmation_can_be_picked_for_a_spot_check(self, run: Run, ana: User, lea: User) -> None:
        review = agree(one_drawn(), ana)
        [drawn_check] = spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=5, actor=lea)
        assert drawn_check.review == review
        assert list(spot_checks.open_checks(lea)) == [drawn_check]
        spot_checks.reopen(check_id=drawn_check.pk, actor=lea, reason="Step two.")
        assert list(spot_checks.open_checks(lea)) == []


class TestExports:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "spelled",
        [
            {},
            dict.fromkeys(HUMAN_FIELDS[1:], ...),
            {"human_review_timestamp": "2025-04-12 01:55:23+02:00"},
            {"human_corrected_scores": b'{"Clarity":  {"score": 1.0}}'},
        ],
        ids=["usual", "without keys", "a time", "a number"],
    )
    def test_export_with_confirmed_records_equals_the_file(self, ana: User, spelled: dict[str, Any]) -> None:
        run, data = run_of(0.6, **spelled)
        for evaluation in run.evaluations.filter(is_sampled=True)[:3]:
            agree(again(evaluation), ana, comments="Fine.")
        assert draws.count_sampled(run) == (6, 3)
        assert export_data() == data
        assert export_data(only_import=run.imports.get()) == data
        assert export_data(only="reviewed") == b""
        output = ExportOutput(ExportOptions(run))
        assert b"".join(output) == data
        receipt = json.loads(b"".join(output.receipt("out.jsonl")))
        assert receipt["changed"] == []

    @pytest.mark.parametrize("format", ["csv", "parquet"])
    def test_table_export_equals_the_table_of_the_file(self, ana: User, format: str) -> None:
        run, _ = run_of(0.3)
        before = b"".join(ExportOutput(ExportOptions(run, format=format)))
        agree(one_drawn(), ana)
        assert b"".join(ExportOutput(ExportOptions(run, format=format))) == before

    def test_export_contains_the_overrides_and_no_other_change(self, ana: User) -> None:
        run, data = run_of(0.6)
        corrected, confirmed, *_ = run.evaluations.filter(is_sampled=True)
        decide(again(corrected), ana, scores=CORRECTED)
        agree(again(confirmed), ana)
        before, after = data.splitlines(), export_data().splitlines()
        [changed] = [place for place, one in enumerate(after) if one != before[place]]
        assert json.loads(after[changed])["evaluation_id"] == corrected.evaluation_id
        assert json.loads(after[changed])["human_corrected_scores"] == CORRECTED
        assert export_data(only="reviewed") == after[changed] + b"\n"

    @pytest.mark.slow
    def test_export_equals_the_file_after_undo_revision_or_reopening(self, ana: User, lea: User) -> None:
        run, data = run_of(1, count=3)
        undone, revised, reopened = run.evaluations.filter(is_sampled=True)
        decide(again(revised), ana, scores=CORRECTED)
        agree(again(revised), ana, by=decisions.revise)
        agree(again(reopened), ana)
        decisions.reopen(evaluation_id=reopened.pk, actor=lea, reason="Look again.")
        decide(again(undone), ana, scores=CORRECTED)
        undo.undo(run=run, actor=ana)
        assert export_data() == data

    @pytest.mark.slow
    def test_export_of_a_reopened_and_confirmed_record_equals_the_file(self, ana: User, lea: User) -> None:
        _, data = run_of(0.1)
        evaluation = one_drawn()
        decide(evaluation, ana, scores=CORRECTED)
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="Look again.")
        assert json.loads(export_data(only_import=evaluation.first_import).splitlines()[1])
        agree(again(evaluation), ana)
        assert export_data() == data

    @pytest.mark.slow
    def test_export_agrees_with_the_audit_log(self, ana: User, lea: User, tmp_path: Path) -> None:
        run, data = run_of(1, count=5)
        confirmed, corrected, revised, reopened, undone = run.evaluations.filter(is_sampled=True)
        agree(again(confirmed), ana)
        decide(again(corrected), ana, scores=CORRECTED)
        decide(again(revised), ana, scores=CORRECTED)
        agree(again(revised), ana, by=decisions.revise)
        agree(again(reopened), ana)
        decisions.reopen(evaluation_id=reopened.pk, actor=lea, reason="Look again.")
        decide(again(undone), ana, scores=CORRECTED)
        undo.undo(run=run, actor=ana)
        assert compared(tmp_path, data, export_data()) == []
        assert compared(tmp_path, data, data) != []

    def test_audit_log_reveals_a_change_in_a_confirmed_line(self, ana: User, tmp_path: Path) -> None:
        _, data = run_of(0.1)
        evaluation = one_drawn()
        agree(evaluation, ana)
        changed = data.replace(b'"Not Required"', b'"Completed"')
        [problem, *_] = compared(tmp_path, data, changed)
        assert problem
        sentences = " ".join(compared(tmp_path, data, changed))
        assert f"({evaluation.evaluation_id}) has changed in human_review_status, and event" in sentences
        assert "left it as it came" in sentences


# Steps by the name of a method below, each with the index of its record.
STEPS = st.tuples(
    st.sampled_from(
        ["agree", "correct", "revise", "revise_back", "undo", "reopen", "bring_again", "draw_less"]
    ),
    st.integers(0, 2),
)


class TestAnySequence:
    @pytest.mark.slow
    @examples(max_examples=6, deadline=None)
    @given(steps=st.lists(STEPS, max_size=8))
    def test_export_contains_the_current_overrides_and_no_other_change(
        self, steps: list[tuple[str, int]]
    ) -> None:
        with transaction.atomic(), TemporaryDirectory() as folder:
            lea = UserFactory.create(username="lea", role="lead")
            run, data = run_of(1, count=3, human_review_comments=...)
            for name, place in steps:
                with suppress(Conflict, RecordUnavailable, Denied):
                    getattr(self, name)(run, run.evaluations.order_by("pk")[place + 1], lea, data)
            exported = export_data()
            after = dict(zip(("f1", "u0", "u1", "u2", "f2"), exported.splitlines(), strict=True))
            before = dict(zip(after, data.splitlines(), strict=True))
            corrected = {one.evaluation_id for one in run.evaluations.all() if not one.keeps_line}
            assert {name for name in after if after[name] != before[name]} == corrected
            assert compared(Path(folder), data, exported) == []
            transaction.set_rollback(True)

    def agree(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        agree(record, lea)

    def correct(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        decide(record, lea, scores=CORRECTED)

    def revise(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        decide(record, lea, by=decisions.revise, scores=CORRECTED)

    def revise_back(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        agree(record, lea, by=decisions.revise)

    def undo(self, run: Run, _record: Evaluation, lea: User, _data: bytes) -> None:
        undo.undo(run=run, actor=lea)

    def reopen(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Look again.")

    def bring_again(self, _run: Run, _record: Evaluation, _lea: User, data: bytes) -> None:
        import_data(data)

    def draw_less(self, run: Run, _record: Evaluation, _lea: User, _data: bytes) -> None:
        set_share(run, 0 if run.sample_share else 1)


class TestIndependentReviews:
    @pytest.fixture
    def run(self) -> Run:
        run, _ = run_of(0.1)
        run.overlap_share = 1
        run.save()
        return run

    def test_independent_reviews_without_a_change_confirm_a_sampled_record(
        self, run: Run, ana: User, bo: User
    ) -> None:
        agree(one_drawn(), ana)
        assert set_share(run, 0) == (0, 0)
        assert one_drawn().in_queue
        agree(one_drawn(), bo)
        assert one_drawn().is_confirmed

    def test_independent_reviews_with_the_same_override_complete_a_sampled_record(
        self, run: Run, ana: User, bo: User
    ) -> None:
        for reviewer in (ana, bo):
            decide(one_drawn(), reviewer, scores=CORRECTED)
        assert one_drawn().human_review_status == "Completed"


def compared(folder: Path, before: bytes, after: bytes) -> list[str]:
    """Return the problems that the audit log finds in an export."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    original, exported, audit_log = (
        folder / name for name in ("original.jsonl", "exported.jsonl", "audit.jsonl")
    )
    original.write_bytes(before)
    exported.write_bytes(after)
    audit_log.write_bytes(b"".join(log.jsonl_lines()))
    with audit_log.open("rb") as file:
        return verify_with_log(AuditLogFile(file, "audit.jsonl"), [original], exported, Limits()).problems


class TestReimports:
    @pytest.fixture
    def run(self) -> Run:
        return run_of(1, count=1)[0]

    def bring(self, **changes: Any) -> Evaluation:
        import_data(file_of(unflagged("u0", **changes)))
        return again(Evaluation.objects.get(evaluation_id="u0"))

    def outcome(self, run: Run) -> tuple[str, str]:
        latest = run.imports.order_by("-pk")[0].exceptions.get()
        return latest.outcome, latest.reason

    def test_same_line_again_changes_nothing(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        before = Evaluation.objects.filter(evaluation_id="u0").values().get()
        self.bring()
        assert self.outcome(run) == ("unchanged", "the same bytes as before")
        assert Evaluation.objects.filter(evaluation_id="u0").values().get() == before

    def test_import_of_an_export_changes_nothing(self, run: Run, ana: User) -> None:
        decide(one_drawn(), ana, scores=CORRECTED)
        exported = export_data()
        import_data(exported)
        assert not FileConflict.objects.exists()
        assert again(one_drawn()).human_review_status == "Completed"
        assert export_data() == exported

    def test_new_evidence_reopens_a_confirmed_record(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        opened = self.bring(verification_message="Match")
        assert (opened.human_review_status, opened.review) == ("Needs Review", None)
        assert opened.is_sampled
        assert not opened.is_outdated
        assert summed(run) == 0
        assert AuditEvent.objects.get(action="new evidence").detail["human"]["keeps_line"] is True
        assert json.loads(export_data().splitlines()[1])["human_review_status"] == "Not Required"

    def test_new_evidence_leaves_an_open_record_open(self, run: Run) -> None:
        opened = self.bring(verification_message="Match")
        assert opened.is_sampled
        assert opened.human_review_status == "Needs Review"
        assert not AuditEvent.objects.filter(action="new evidence").exists()

    def test_new_evidence_makes_an_override_outdated(self, run: Run, ana: User) -> None:
        decide(one_drawn(), ana, scores=CORRECTED)
        stale = self.bring(verification_message="Match")
        assert (stale.is_outdated, stale.is_sampled, stale.human_review_status) == (
            True,
            True,
            "Needs Review",
        )
        assert stale.human_corrected_scores == CORRECTED

    def test_other_spelling_of_a_line_leaves_it_confirmed(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        other = unflagged("u0").replace(b'"task_id": ', b'"task_id":  ')
        import_data(file_of(other))
        assert again(one_drawn()).is_confirmed
        assert other in export_data()

    @pytest.mark.slow
    def test_new_comment_in_a_file_leaves_a_record_confirmed(self, run: Run, ana: User) -> None:
        agree(one_drawn(), ana)
        kept = self.bring(human_review_comments="From the pipeline.")
        assert kept.is_confirmed
        assert kept.human_review_comments == "From the pipeline."
        assert unflagged("u0", human_review_comments="From the pipeline.") in export_data()

    @pytest.mark.parametrize("is_confirmed", [True, False])
    def test_flag_in_a_file_removes_a_record_from_the_sample(
        self, run: Run, ana: User, is_confirmed: bool
    ) -> None:
        if is_confirmed:
            agree(one_drawn(), ana)
        flagged = self.bring(
            needs_human_review=True, human_review_status="Needs Review", review_reasons=["x"]
        )
        assert (flagged.is_sampled, flagged.human_review_status, flagged.review) == (
            False,
            "Needs Review",
            None,
        )

    @pytest.mark.parametrize("is_confirmed", [True, False])
    def test_decision_in_a_file_removes_a_record_from_the_sample(
        self, run: Run, ana: User, is_confirmed: bool
    ) -> None:
        if is_confirmed:
            agree(one_drawn(), ana)
        decided = self.bring(human_review_status="Reviewed", human_reviewer_id="somebody")
        assert (decided.human_review_status, decided.human_reviewer_id) == ("Reviewed", "somebody")
        assert (decided.is_sampled, decided.review) == (False, None)
        assert not FileConflict.objects.exists()

    @pytest.mark.slow
    def test_file_that_contradicts_an_override_opens_a_conflict(self, run: Run, ana: User, lea: User) -> None:
        decide(one_drawn(), ana, scores=CORRECTED)
        disputed = self.bring(human_review_comments="No.")
        conflict = FileConflict.objects.get()
        decisions.resolve_conflict(
            run=conflict.run, conflict_id=conflict.pk, version=disputed.version, theirs=True, actor=lea
        )
        resolved = again(disputed)
        assert (resolved.human_review_status, resolved.human_review_comments) == ("Not Required", "No.")
        assert not resolved.is_sampled
        assert json.loads(export_data().splitlines()[1])["human_review_comments"] == "No."
        assert draws.draw_sample(run_id=run.pk) == (0, 0)


class TestFlagReasons:
    def test_flag_reasons_are_hidden_until_a_record_is_decided(self, ana: User) -> None:
        run, _ = run_of(0.3)
        flagged = Evaluation.objects.select_related("run").get(evaluation_id="f1")
        assert flagged.hides_reasons
        assert one_drawn().hides_reasons
        agree(flagged, ana)
        assert not again(flagged).hides_reasons
        another = one_drawn()
        claims.claim(evaluation_id=another.pk, reviewer=ana)
        set_share(run, 0)
        assert again(another).hides_reasons
        agree(another, ana)
        assert not again(another).hides_reasons
        assert not Run.objects.get().draws_samples


def test_review_says_whether_its_record_was_sampled(ana: User) -> None:
    run_of(0.1)
    agree(one_drawn(), ana)
    agree(Evaluation.objects.select_related("run").get(evaluation_id="f1"), ana)
    assert sorted(Review.objects.values_list("evaluation__needs_human_review", "is_sampled")) == [
        (False, True),
        (True, False),
    ]
