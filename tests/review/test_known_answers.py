"""Known answers: reviewers and a lead review the same records without knowing."""

import pytest

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Escalation, Evaluation, KnownAnswer, KnownAnswerCheck, Run, User
from reviews.queue import allocation, claims
from reviews.queue.progress import run_progress
from reviews.records.conflicts import Conflict, RecordUnavailable, RunArchived
from reviews.review import decisions, independent_reviews, known_answer_rows, known_answers, undo
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import archive_run
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.threads import together
from tests.support.work import SCORES, decide, evaluations, fresh

pytestmark = pytest.mark.django_db

OTHER = SCORES | {"Conclusion Accuracy": {"score": "Yes", "justification": "One half it is."}}


@pytest.fixture
def run() -> Run:
    """Each record is for two people."""
    return RunFactory.create(name="algebra", overlap_share=1, overlap=2)


def start(run: Run, lead: User, count: int = 100) -> KnownAnswerCheck:
    return known_answers.start(run_id=run.pk, actor=lead, count=count)


def claim_key(run: Run, person: User) -> int | None:
    claimed = claims.claim_next(run=run, reviewer=person)
    return claimed.pk if claimed else None


class TestStart:
    def test_check_draws_untouched_records_of_the_overlap_share(self, run: Run, ana: User, lea: User) -> None:
        reviewed, claimed, escalated, assigned, free = evaluations(run, tasks=["1", "2", "3", "4", "5"])
        decide(reviewed, ana)
        claims.claim(evaluation_id=claimed.pk, reviewer=ana)
        Evaluation.objects.filter(pk=escalated.pk).update(is_escalated=True)
        Evaluation.objects.filter(pk=assigned.pk).update(assigned_to=ana)
        EvaluationFactory.create(run=run, human_review_status="Completed")
        start(run, lea)
        assert [answer.evaluation_id for answer in KnownAnswer.objects.all()] == [free.pk]

    def test_check_leaves_out_records_for_one_person(self, lea: User) -> None:
        run = RunFactory.create(overlap_share=0.5, overlap=2)
        made = evaluations(run, tasks=map(str, range(40)))
        start(run, lea)
        shared = {
            one.pk for one in made if allocation.required_independent_reviews(run, one.evaluation_id) == 2
        }
        assert 0 < len(shared) < 40
        assert {answer.evaluation_id for answer in KnownAnswer.objects.all()} == shared

    def test_check_draws_as_many_records_as_wanted_and_the_same_with_a_seed(
        self, run: Run, lea: User
    ) -> None:
        made = evaluations(run, tasks=map(str, range(8)))
        started = known_answers.start(run_id=run.pk, actor=lea, count=5, seed="demo")
        by_hash = sorted(made, key=lambda one: allocation.position("demo", one.evaluation_id))
        assert [answer.evaluation for answer in started.answers.order_by("pk")] == by_hash[:5]

    def test_only_leads_start_and_end_checks(self, evaluation: Evaluation, ana: User, lea: User) -> None:
        with pytest.raises(Denied):
            start(evaluation.run, ana)
        started = start(evaluation.run, lea)
        with pytest.raises(Denied):
            known_answers.end(check_id=started.pk, actor=ana)

    def test_run_has_one_running_check(self, run: Run, lea: User, max: User) -> None:
        evaluations(run, tasks=["1", "2"])
        started = start(run, lea, 1)
        with pytest.raises(Conflict, match="already running"):
            start(run, max)
        known_answers.end(check_id=started.pk, actor=lea)
        with pytest.raises(Conflict, match="already ended"):
            known_answers.end(check_id=started.pk, actor=lea)
        start(run, max)

    def test_check_is_refused_with_a_reason(self, evaluation: Evaluation, lea: User) -> None:
        run = evaluation.run
        for count in (0, 101):
            with pytest.raises(InvalidSettings, match="1 to 100"):
                start(run, lea, count)
        Run.objects.update(overlap_share=0)
        with pytest.raises(InvalidSettings, match="would notice"):
            start(run, lea)
        Run.objects.update(overlap_share=1)
        decide(evaluation, lea)
        with pytest.raises(InvalidSettings, match="none can be drawn"):
            start(run, lea)
        archive_run(run_id=run.pk, actor=lea)
        with pytest.raises(RunArchived):
            start(run, lea)

    def test_audit_log_does_not_name_the_records(self, evaluation: Evaluation, lea: User) -> None:
        started = start(evaluation.run, lea)
        event = AuditEvent.objects.get(action="start known answers")
        assert (event.evaluation, event.detail) == (None, {"check": started.pk, "records": 1})


class TestQueue:
    @pytest.mark.slow
    def test_everybody_reviews_each_record_once(
        self, evaluation: Evaluation, ana: User, bo: User, cy: User, lea: User
    ) -> None:
        run = evaluation.run
        start(run, lea)
        for person in (ana, lea, bo, cy):
            assert claim_key(run, person) == evaluation.pk
            decide(fresh(evaluation), person)
            assert claim_key(run, person) is None
            with pytest.raises(RecordUnavailable, match="You submitted your review"):
                claims.claim(evaluation_id=evaluation.pk, reviewer=person)
        assert fresh(evaluation).review is None
        assert fresh(evaluation).human_review_status == "Needs Review"
        assert evaluation.independent_reviews.filter(is_open=True).count() == 4

    def test_differing_reviews_go_to_no_lead(
        self, run: Run, evaluation: Evaluation, ana: User, bo: User, lea: User
    ) -> None:
        start(run, lea)
        decide(evaluation, ana)
        decide(evaluation, bo, scores=OTHER)
        assert not Escalation.objects.exists()
        assert run_progress(run).waiting == 1

    @pytest.mark.slow
    def test_order_of_the_queue_stays(self, run: Run, ana: User, lea: User) -> None:
        made = evaluations(run, tasks=map(str, range(8)))
        start(run, lea, 3)
        order = []
        while claimed := claims.claim_next(run=run, reviewer=ana):
            order.append(claimed.pk)
            decide(claimed, ana)
        assert order == [one.pk for one in made]

    def test_undone_review_is_given_again(
        self, run: Run, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        start(run, lea)
        decide(evaluation, ana)
        undo.undo(run=run, actor=ana)
        assert claim_key(run, ana) == evaluation.pk

    def test_answers_to_give_are_those_of_the_lead_who_started(self, run: Run, lea: User, max: User) -> None:
        first, second = evaluations(run, tasks=["1", "2"])
        start(run, lea)
        decide(first, lea)
        decide(first, max)
        left = known_answer_rows.answers_to_give(lea)
        assert [one.evaluation_id for one in left] == [second.pk]
        assert not known_answer_rows.answers_to_give(max).exists()


class TestBlind:
    @pytest.mark.slow
    def test_progress_is_that_of_other_records(
        self, run: Run, ana: User, bo: User, cy: User, lea: User
    ) -> None:
        drawn = EvaluationFactory.create(run=run)
        start(run, lea)
        other = EvaluationFactory.create(run=run)

        def seen(evaluation: Evaluation, person: User) -> tuple[int, int]:
            return independent_reviews.review_progress(fresh(evaluation), person)[:2]

        for person in (lea, bo, ana):
            decide(fresh(drawn), person)
            assert seen(drawn, person) == (1, 2)
        decide(other, ana)
        assert seen(drawn, ana) == seen(other, ana) == (1, 2)
        assert seen(drawn, cy) == seen(other, cy)


@pytest.mark.slow
class TestEnd:
    def test_known_answer_becomes_the_decision(
        self, evaluation: Evaluation, ana: User, bo: User, lea: User, max: User
    ) -> None:
        started = start(evaluation.run, lea)
        decide(evaluation, ana, scores=OTHER)
        decide(fresh(evaluation), lea, comments="Ends with one half.")
        decide(fresh(evaluation), bo, scores=OTHER)
        assert known_answers.end(check_id=started.pk, actor=max) == (1, 0)
        found = fresh(evaluation)
        assert found.human_corrected_scores == SCORES
        assert found.human_review_comments == "Ends with one half."
        assert (found.human_review_status, found.human_reviewer_id) == ("Completed", "max")
        assert not evaluation.independent_reviews.filter(is_open=True).exists()
        event = AuditEvent.objects.get(action="adjudicate", evaluation=evaluation)
        assert (event.actor, event.detail["adopted"]) == (max, 2)

    def test_decision_by_a_known_answer_can_be_undone(
        self, run: Run, evaluation: Evaluation, ana: User, lea: User
    ) -> None:
        started = start(run, lea)
        decide(evaluation, ana)
        decide(fresh(evaluation), lea)
        known_answers.end(check_id=started.pk, actor=lea)
        decided = fresh(evaluation).review
        assert decided
        decisions.undo(review=decided)
        assert fresh(evaluation).review is None
        assert evaluation.independent_reviews.filter(is_open=True).count() == 2

    @pytest.mark.slow
    def test_records_without_a_known_answer_are_settled_by_their_reviews(
        self, run: Run, ana: User, bo: User, cy: User, lea: User
    ) -> None:
        agreed, disputed, half, untouched = evaluations(run, tasks=["1", "2", "3", "4"])
        started = start(run, lea)
        for person in (ana, bo, cy):
            decide(fresh(agreed), person)
            decide(fresh(disputed), person, scores=OTHER if person == bo else SCORES)
        decide(half, ana)
        assert known_answers.end(check_id=started.pk, actor=lea) == (0, 3)
        assert fresh(agreed).is_decided
        assert fresh(disputed).is_escalated
        assert [fresh(one).in_queue for one in (half, untouched)] == [True, True]
        decide(fresh(half), bo)
        assert fresh(half).is_decided

    def test_claimed_and_escalated_records_stay(self, run: Run, ana: User, bo: User, lea: User) -> None:
        claimed, escalated = evaluations(run, tasks=["1", "2"])
        started = start(run, lea)
        for one in (claimed, escalated):
            decide(one, lea)
        claims.claim(evaluation_id=claimed.pk, reviewer=ana)
        Evaluation.objects.filter(pk=escalated.pk).update(is_escalated=True)
        assert known_answers.end(check_id=started.pk, actor=lea) == (0, 2)
        decide(fresh(claimed), ana)
        assert fresh(claimed).is_decided

    def test_changed_record_needs_a_new_known_answer(self, ana: User, lea: User) -> None:
        import_data(file_of(line("a")), run="algebra")
        Run.objects.update(overlap_share=1, overlap=2)
        run = Run.objects.get()
        record = Evaluation.objects.get()
        started = start(run, lea)
        decide(record, lea)
        import_data(file_of(line("a", verification_message="Another")), run="algebra")
        assert [one.evaluation_id for one in known_answer_rows.answers_to_give(lea)] == [record.pk]
        assert known_answers.end(check_id=started.pk, actor=lea) == (0, 1)


@pytest.mark.slow
def test_export_is_unchanged_until_the_check_ends(ana: User, bo: User, lea: User) -> None:
    data = file_of(line("a"), line("b"))
    import_data(data, run="algebra")
    Run.objects.update(overlap_share=1, overlap=2)
    run = Run.objects.get()
    started = start(run, lea)
    for record in Evaluation.objects.all():
        for person in (ana, bo, lea):
            decide(fresh(record), person, scores=OTHER)
    assert export_data(run="algebra") == data
    known_answers.end(check_id=started.pk, actor=lea)
    assert export_data(run="algebra").count(b'"Completed"') == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_reviews_and_the_end_take_turns(
    run: Run, evaluation: Evaluation, ana: User, bo: User, lea: User
) -> None:
    started = start(run, lea)
    decide(evaluation, lea)
    _, ended, _ = together(
        lambda: decide(fresh(evaluation), ana),
        lambda: known_answers.end(check_id=started.pk, actor=lea),
        lambda: decide(fresh(evaluation), bo),
        expecting=Conflict,
    )
    if isinstance(ended, Conflict):
        known_answers.end(check_id=started.pk, actor=lea)
    found = fresh(evaluation)
    assert found.is_decided
    assert found.human_corrected_scores == SCORES
    assert not evaluation.independent_reviews.filter(is_open=True).exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_concurrent_starts_begin_one_check(run: Run, lea: User, max: User) -> None:
    evaluations(run, tasks=["1", "2"])
    results = together(lambda: start(run, lea), lambda: start(run, max), expecting=Conflict)
    assert sorted(type(result).__name__ for result in results) == ["Conflict", "KnownAnswerCheck"]
    assert KnownAnswerCheck.objects.count() == 1
