"""A request with If-Match changes a record only if it still has the version that was read."""

from typing import Any

import pytest

from reviews.models import AuditEvent, Evaluation, Review
from tests.api.test_decisions import DECISION, claim
from tests.support.api_requests import Program, path_of
from tests.support.factories import SCORES, EvaluationFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def record() -> Evaluation:
    return EvaluationFactory.create(structured_model_response={"final_answer": "2"})


def put(program: Program, record: Evaluation, ending: str, tag: str, key: str = "one") -> Any:
    path = path_of(record, ending)
    return program.ask("PUT", path, DECISION, Idempotency_Key=key, If_Match=tag)


@pytest.mark.slow
def test_decision_on_another_version_is_refused(record: Evaluation, of_ana: Program) -> None:
    tag = claim(of_ana, record.run)["ETag"]
    refused = put(of_ana, record, "review", '"77"')
    assert (refused.status_code, refused.json()["type"]) == (412, "/api/problems/precondition-failed/")
    assert not Review.objects.exists()
    assert put(of_ana, record, "review", f'"77", {tag}').status_code == 200
    assert of_ana.get(path_of(record))["ETag"] != tag
    assert put(of_ana, record, "revision", tag, "two").status_code == 412
    assert put(of_ana, record, "revision", "*", "two").status_code == 200


def test_repeated_decision_returns_the_saved_one(record: Evaluation, of_ana: Program) -> None:
    tag = claim(of_ana, record.run)["ETag"]
    first, second = (put(of_ana, record, "review", tag) for _ in range(2))
    assert (first.status_code, second.json()) == (200, first.json())
    assert Review.objects.count() == 1


def test_blind_scores_for_another_version_are_refused(record: Evaluation, of_ana: Program) -> None:
    record.run.blind_share = 1
    record.run.save()
    tag = claim(of_ana, record.run)["ETag"]
    for sent, status in (('"77"', 412), (tag, 200)):
        scores = {"scores": dict.fromkeys(SCORES, "Yes")}
        answer = of_ana.ask("PUT", path_of(record, "blind-scores"), scores, If_Match=sent)
        assert answer.status_code == status, answer.content
    assert answer["ETag"] == of_ana.get(path_of(record))["ETag"]


@pytest.mark.parametrize(
    ("request_line", "sent", "status"),
    [
        ("POST claim", {}, 200),
        ("PUT skip", None, 204),
        ("POST escalation", {"reason": "unreadable output"}, 200),
        ("POST reopening", {"reason": "Look again."}, 200),
    ],
)
def test_action_on_another_version_changes_nothing(
    request_line: str, sent: Any, status: int, record: Evaluation, of_ana: Program
) -> None:
    method, ending = request_line.split()
    tag = claim(of_ana, record.run)["ETag"]
    if ending == "reopening":
        put(of_ana, record, "review", tag)
        tag = of_ana.get(path_of(record))["ETag"]
    elif ending == "claim":
        of_ana.ask("DELETE", path_of(record, "claim"))
    before = (Evaluation.objects.values().get(), AuditEvent.objects.count())
    refused = of_ana.ask(method, path_of(record, ending), sent, If_Match='"77"')
    assert (refused.status_code, refused.json()["type"]) == (412, "/api/problems/precondition-failed/")
    assert (Evaluation.objects.values().get(), AuditEvent.objects.count()) == before
    answer = of_ana.ask(method, path_of(record, ending), sent, If_Match=tag)
    assert answer.status_code == status, answer.content
    if ending == "claim":
        assert answer["ETag"] == tag
