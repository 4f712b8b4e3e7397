"""Disagreements in lists: who, on which criteria, with which scores and verdicts."""

import pytest
from pytest_django import DjangoAssertNumQueries

from cognireview.types.leading import Voice
from reviews.models import Escalation, Evaluation, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.review import escalations, independent_reviews
from reviews.review.disagreements import describe_disagreement, find_disagreements
from tests.support.factories import EvaluationFactory, RunFactory, UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_data
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db

OTHER = {"Clarity": SCORES["Clarity"], "Conclusion Accuracy": {"score": "Yes"}, "Rigor": {"score": "No"}}


@pytest.fixture
def run() -> Run:
    return RunFactory.create(overlap_share=1)


def disputed(run: Run, ana: User, bo: User) -> Evaluation:
    record = EvaluationFactory.create(run=run)
    decide(record, ana)
    decide(record, bo, scores=OTHER)
    return Evaluation.objects.get(pk=record.pk)


def test_disagreement_names_people_scores_and_verdicts(run: Run, ana: User, bo: User, lea: User) -> None:
    record = disputed(run, ana, bo)
    found = find_disagreements([record.pk], lea)[record.pk]
    assert found.verdicts == [Voice("ana", "Fail"), Voice("bo", "Fail")]
    assert {*describe_disagreement(found).split("; ")} == {
        "ana No, bo Yes on Conclusion Accuracy",
        "ana excluded, bo No on Rigor",
    }


def test_criteria_with_the_same_scores_are_named_together(run: Run, ana: User, bo: User, lea: User) -> None:
    record = EvaluationFactory.create(run=run)
    for person, scores in ((ana, ("Yes", "Yes", "No")), (bo, ("No", "No", "Yes"))):
        entries = {name: {"score": score} for name, score in zip(("a", "b", "c"), scores, strict=True)}
        decide(Evaluation.objects.get(), person, scores=entries)
    found = find_disagreements([record.pk], lea)[record.pk]
    assert describe_disagreement(found) == "ana Yes, bo No on A, B; ana No, bo Yes on C"


def test_criteria_are_named_in_the_order_of_the_rubric(run: Run, ana: User, bo: User, lea: User) -> None:
    names = ("thoroughness", "rigor", "style")
    Run.objects.update(rubric=rubric_data(*names))
    record = EvaluationFactory.create(run=run)
    for person, score in ((ana, "Yes"), (bo, "No")):
        decide(Evaluation.objects.get(), person, scores={name: {"score": score} for name in names})
    found = find_disagreements([record.pk], lea)[record.pk]
    assert describe_disagreement(found) == "ana Yes, bo No on Thoroughness, Rigor, Style"


@pytest.mark.slow
def test_disagreements_of_a_list_take_one_query(
    run: Run, ana: User, bo: User, lea: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    keys = [disputed(run, ana, bo).pk for _ in range(3)]
    agreed = EvaluationFactory.create(run=run)
    decide(agreed, ana)
    assert lea.has_perm("reviews.lead_review")
    with django_assert_num_queries(1):
        found = find_disagreements([*keys, agreed.pk], lea)
    assert list(found) == keys


def test_reviewers_learn_nothing_about_disagreements(run: Run, ana: User, bo: User) -> None:
    assert find_disagreements([disputed(run, ana, bo).pk], ana) == {}


def test_late_review_disagrees_with_the_decision(run: Run, ana: User, bo: User, lea: User) -> None:
    Run.objects.update(overlap_share=0)
    record = EvaluationFactory.create(run=run)
    decide(record, ana)
    decide(Evaluation.objects.get(), bo, by=independent_reviews.add, scores=OTHER)
    verdicts = find_disagreements([record.pk], lea)[record.pk].verdicts
    assert [one.reviewer for one in verdicts] == ["ana", "bo"]
    escalations.resolve(escalation_id=record.escalations.get().pk, actor=lea, outcome="upheld", answer="")
    assert find_disagreements([record.pk], lea) == {}


@pytest.mark.slow
def test_lead_cannot_review_a_returned_disagreement_independently(
    run: Run, ana: User, bo: User, lea: User
) -> None:
    record = disputed(run, ana, bo)
    cy = UserFactory.create(username="cy", role="reviewer")
    other = UserFactory.create(username="leo", role="lead")
    escalations.resolve(escalation_id=record.escalations.get().pk, actor=lea, outcome="returned", answer="")
    assert [claims.claim_next(run=run, reviewer=person) for person in (lea, other)] == [None, None]
    assert claims.claim_next(run=run, reviewer=cy) == record


@pytest.mark.slow
def test_disagreement_on_a_record_that_a_file_no_longer_flags_can_be_ended(
    ana: User, bo: User, lea: User
) -> None:
    import_data(file_of(line("a")))
    Run.objects.update(overlap_share=1)
    record = Evaluation.objects.get()
    decide(record, ana, scores={"accuracy": {"score": "Yes"}})
    decide(record, bo, scores={"accuracy": {"score": "No"}})
    import_data(file_of(line("a", human_review_status="Not Required", needs_human_review=False)))
    record.refresh_from_db()
    assert (record.is_escalated, record.in_queue, record.is_decided) == (True, False, False)
    raised = Escalation.objects.get()
    with pytest.raises(Conflict, match="no current decision to uphold"):
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="upheld", answer="")
    escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="")
    record.refresh_from_db()
    assert (record.is_escalated, record.human_review_status) == (False, "Not Required")
