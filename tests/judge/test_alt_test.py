"""Whether the judge may replace a reviewer, from blind ratings."""

import json

import pytest
from pytest_django import DjangoAssertNumQueries

from cognireview.types.report_parts import AltTest
from reviews.judge import alt_test
from reviews.judge.scope import JudgeScope
from reviews.models import RatingCell, Run, User
from tests.support.commands import Capture, manage
from tests.support.factories import RunFactory
from tests.support.joint import rate_together
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db

ALIKE = ("Pass", ["Pass", "Pass", "Pass"])
JUDGE_DIFFERS = ("Fail", ["Pass", "Pass", "Pass"])
ANA_DIFFERS = ("Pass", ["Fail", "Pass", "Pass"])


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="nightly", rubric=rubric_data("Rigor"), blind_share=1)


@pytest.fixture
def people(ana: User, bo: User, lea: User) -> list[User]:
    return [ana, bo, lea]


def answered(run: Run) -> AltTest:
    [found] = alt_test.run_alt_tests(JudgeScope(run))
    return found


def outcomes(found: AltTest) -> list[str]:
    return [answer.outcome for answer in found.answers]


@pytest.mark.slow
def test_judge_like_the_reviewers_passes(run: Run, people: list[User]) -> None:
    rate_together(run, people, [*[ALIKE] * 36, *[ANA_DIFFERS] * 4])
    found = answered(run)
    assert (found.judge, found.criterion, found.records) == ("judge-1", None, 40)
    assert outcomes(found) == ["passed", "passed", "passed"]
    assert found.answers[0].replaces == ["ana", "bo", "lea"]
    ana = found.reviewers[0]
    assert (ana.reviewer, ana.difference.n) == ("ana", 40)
    assert [ana.judge_closer, ana.reviewer_closer, ana.difference.value] == pytest.approx([1, 0.9, 0.1])


def test_judge_behind_all_reviewers_is_shown_worse(run: Run, people: list[User]) -> None:
    rate_together(run, people, [*[ALIKE] * 20, *[JUDGE_DIFFERS] * 20])
    assert outcomes(answered(run)) == ["shown worse"] * 3
    assert {answer.missing for answer in answered(run).answers} == {""}


@pytest.mark.slow
def test_outcome_depends_on_epsilon(run: Run, people: list[User]) -> None:
    rate_together(run, people, [*[ALIKE] * 90, *[JUDGE_DIFFERS] * 10])
    found = answered(run)
    assert outcomes(found) == ["passed", "not shown yet", "not shown yet"]
    assert "these more records are enough" in found.answers[1].missing
    assert found.answers[1].missing.count("records by") == 2
    assert found.answers[2].missing.startswith("More records alone do not help")


def test_few_records_need_more(run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 12)
    found = answered(run)
    assert outcomes(found) == ["not shown yet"] * 3
    assert found.answers[0].winning_rate is None
    assert found.answers[0].missing == (
        "The test needs 2 reviewers who each scored 30 records, of several tasks, that others scored as "
        "well. Missing: 18 records by ana, 18 records by bo, 18 records by lea."
    )
    assert found.advantage.why


def test_comparisons_with_fewer_than_10_records_are_withheld(run: Run, people: list[User]) -> None:
    rate_together(run, people, [*[ALIKE] * 9, ("Pass", ["Pass", "Pass", None])])
    assert [one.reviewer for one in answered(run).reviewers] == ["ana", "bo"]


@pytest.mark.slow
def test_records_of_one_task_are_no_answer(run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 40, cluster_of=40)
    found = answered(run)
    assert outcomes(found) == ["not shown yet"] * 3
    assert found.answers[0].missing.endswith("that others scored as well.")


def test_each_judge_and_criterion_has_a_test(run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 2, judge="judge-2")
    rate_together(run, people, [ALIKE] * 3)
    rate_together(run, people, [("Yes", ["Yes", "No", "Yes"])] * 4, criterion="Rigor")
    found = alt_test.run_alt_tests(JudgeScope(run))
    assert [(one.judge, one.criterion, one.records) for one in found] == [
        ("judge-1", None, 3),
        ("judge-2", None, 2),
        ("judge-1", "Rigor", 4),
    ]
    assert len(alt_test.run_alt_tests(JudgeScope(run, judge="judge-2"))) == 1


def test_records_without_two_scores_or_a_judge_are_left_out(run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE, ("Pass", ["Pass", None, None]), (None, ["Pass", "Pass", "Pass"])])
    assert answered(run).records == 1


def test_picked_records_are_left_out(run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 3, is_flagged=False)
    assert alt_test.run_alt_tests(JudgeScope(run)) == []


def test_assisted_ratings_are_left_out(run: Run, people: list[User]) -> None:
    rate_together(run, people, [ALIKE] * 3)
    RatingCell.objects.update(is_blind=False)
    assert alt_test.run_alt_tests(JudgeScope(run)) == []


def test_alt_test_takes_three_queries(
    run: Run, people: list[User], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rate_together(run, people, [ALIKE, JUDGE_DIFFERS])
    rate_together(run, people, [("Yes", ["Yes", "No", "Yes"])], criterion="Rigor")
    with django_assert_num_queries(3):
        alt_test.run_alt_tests(JudgeScope(run))


@pytest.mark.slow
def test_report_command_prints_the_alt_test(run: Run, people: list[User], capfdbinary: Capture) -> None:
    rate_together(run, people, [*[ALIKE] * 28, ANA_DIFFERS])
    text = manage(capfdbinary, "judge_report", "nightly").out.decode()
    assert "May the judge replace a reviewer?" in text
    assert "judge-1: The test needs 2 reviewers" in " ".join(text.split())
    [found] = json.loads(manage(capfdbinary, "judge_report", "nightly", "--json").out)["alt_test"]
    assert found["answers"][0] == {
        "epsilon": 0.2,
        "suits": "experts",
        "winning_rate": None,
        "tested": 0,
        "outcome": "not shown yet",
        "replaces": [],
        "missing": answered(run).answers[0].missing,
    }
    assert found["reviewers"][0]["reviewer"] == "ana"
