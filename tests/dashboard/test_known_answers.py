"""Agreement of reviewers with known answers, against a world counted by hand."""

from datetime import timedelta

import pytest

from reviews.dashboard.known_answers import (
    FEWEST_ANSWERS,
    AnswerAgreement,
    ReviewerAccuracy,
    accuracies,
    compare,
    visible_checks,
)
from reviews.models import Evaluation, KnownAnswerCheck, Run, User
from reviews.queue.members import configure_members
from reviews.review import independent_reviews, known_answers, undo
from reviews.statistics.intervals import wilson
from tests.support.factories import RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import SCORES, decide, evaluations, fresh

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Both criteria right give the verdict Pass, and one wrong gives Fail.
PASS = {name: {"score": "Yes", "justification": "So."} for name in SCORES}
FAIL = PASS | {"Clarity": {"score": "No", "justification": "Not so."}}
WORSE = {name: {"score": "No", "justification": "Not so."} for name in SCORES}


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="algebra", overlap_share=1, overlap=2)


def start(run: Run, lead: User) -> KnownAnswerCheck:
    return known_answers.start(run_id=run.pk, actor=lead, count=100)


def figures(check: KnownAnswerCheck) -> dict[str, ReviewerAccuracy]:
    return {one.reviewer.username: one for one in accuracies(compare(check))}


@pytest.mark.slow
def test_figures_equal_those_counted_by_hand(run: Run, ana: User, bo: User, lea: User) -> None:
    made = evaluations(run, tasks=map(str, range(7)))
    check = start(run, lea)
    known = [PASS, PASS, PASS, FAIL, FAIL, FAIL]  # none for the last record
    by_ana = [PASS, FAIL, WORSE, FAIL, WORSE, PASS, PASS]
    for record, scores in zip(made, by_ana, strict=True):
        decide(fresh(record), ana, scores=scores)
    for record, scores in zip(made, known, strict=False):
        decide(fresh(record), lea, scores=scores)
    for record in made[:2]:
        decide(fresh(record), bo, scores=PASS)
    found = figures(check)
    assert [*found] == ["ana", "bo"]
    of_ana = found["ana"]
    assert of_ana.records == 6
    # Records 0, 3 and 4 have the same verdict; Clarity is the same on 0, 3, 4; the conclusion on 0, 1, 3, 5.
    assert of_ana.verdict == AnswerAgreement(3, 6)
    assert of_ana.criteria == {"Clarity": AnswerAgreement(3, 6), "Conclusion Accuracy": AnswerAgreement(4, 6)}
    assert of_ana.verdict.estimate == wilson(3, 6)
    assert (found["bo"].records, found["bo"].verdict) == (2, AnswerAgreement(2, 2))


def test_few_answers_give_no_share() -> None:
    few = AnswerAgreement(2, FEWEST_ANSWERS - 1).estimate
    assert (few.value, few.low, few.n) == (None, None, FEWEST_ANSWERS - 1)
    assert str(few) == "2 of 4: too few answers for a share."
    enough = AnswerAgreement(4, 5).estimate
    assert enough.value == 0.8
    assert enough.low == pytest.approx(0.376, abs=0.001)
    assert enough.high == pytest.approx(0.964, abs=0.001)


def test_criterion_that_only_one_person_scored_differs(run: Run, ana: User, lea: User) -> None:
    [record] = evaluations(run, tasks=["1"])
    check = start(run, lea)
    decide(record, lea, scores=PASS)
    decide(fresh(record), ana, scores={"Clarity": PASS["Clarity"]})
    assert figures(check)["ana"].criteria == {
        "Clarity": AnswerAgreement(1, 1),
        "Conclusion Accuracy": AnswerAgreement(0, 1),
    }


def test_figures_stay_after_the_end(run: Run, ana: User, bo: User, lea: User) -> None:
    [record] = evaluations(run, tasks=["1"])
    check = start(run, lea)
    decide(record, lea, scores=PASS)
    decide(fresh(record), ana, scores=FAIL)
    known_answers.end(check_id=check.pk, actor=lea)
    # Bo had the record open, and adds a review with the decision in view.
    decide(fresh(record), bo, by=independent_reviews.add)
    check.refresh_from_db()
    assert {name: one.verdict for name, one in figures(check).items()} == {"ana": AnswerAgreement(0, 1)}


@pytest.mark.slow
def test_undone_answers_do_not_count(run: Run, ana: User, bo: User, lea: User) -> None:
    [record] = evaluations(run, tasks=["1"])
    check = start(run, lea)
    for person in (lea, ana, bo):
        decide(fresh(record), person)
    undo.undo(run=run, actor=ana)
    assert [*figures(check)] == ["bo"]
    undo.undo(run=run, actor=lea)
    assert figures(check) == {}


@pytest.mark.slow
def test_answers_to_another_line_do_not_count(ana: User, lea: User) -> None:
    import_data(file_of(line("a")), run="algebra")
    Run.objects.update(overlap_share=1, overlap=2)
    check = start(Run.objects.get(), lea)
    record = Evaluation.objects.get()
    decide(record, ana)
    import_data(file_of(line("a", verification_message="Another")), run="algebra")
    decide(fresh(record), lea)
    assert figures(check) == {}
    decide(fresh(record), ana)
    assert [*figures(check)] == ["ana"]


def test_running_check_is_visible_to_its_lead_only(run: Run, ana: User, lea: User, max: User) -> None:
    evaluations(run, tasks=["1"])
    check = start(run, lea)
    assert [list(visible_checks(person)) for person in (lea, max)] == [[check], []]
    known_answers.end(check_id=check.pk, actor=max)
    assert [list(visible_checks(person)) for person in (lea, max)] == [[check], [check]]
    configure_members(run_id=run.pk, actor=None, members=["ana"])
    assert [list(visible_checks(person)) for person in (lea, max)] == [[], [check]]


def test_review_after_the_end_does_not_count(run: Run, ana: User, lea: User) -> None:
    [record] = evaluations(run, tasks=["1"])
    check = start(run, lea)
    decide(record, lea)
    review = decide(fresh(record), ana)
    check.ended_at = review.submitted_at + timedelta(seconds=1)
    assert [*figures(check)] == ["ana"]
    check.ended_at = review.submitted_at
    assert figures(check) == {}
