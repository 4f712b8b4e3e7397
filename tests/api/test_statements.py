"""The statements that reviews by a program send to PostgreSQL, authentication included."""

import pytest
from django.db import connection

from reviews.accounts import api_tokens
from reviews.models import ApiToken, Evaluation, SourceChunk, User
from tests.support.api_requests import Program, path_of, program_of
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.statements import Statements, sent_statements

pytestmark = pytest.mark.django_db(transaction=True)

CLAIM, DECISION = 6, 8


@pytest.fixture
def ana() -> User:
    return UserFactory.create(username="ana", role="reviewer")


def claim_and_decide(program: Program) -> tuple[Statements, Statements]:
    """Claim and decide the next record, and return the statements of both requests."""
    with sent_statements() as claim:
        claimed = program.ask("POST", "runs/evaluations/claims").json()
    path = path_of(Evaluation.objects.select_related("run").get(evaluation_id=claimed["evaluation_id"]))
    sent = {"corrected_scores": {one["criterion"]: {"score": "No"} for one in claimed["criteria"]}}
    with sent_statements() as decision:
        answer = program.ask("PUT", f"{path}/review", sent, Idempotency_Key=claimed["evaluation_id"])
    assert answer.json()["outcome"] == "current"
    return claim, decision


@pytest.mark.slow
def test_claim_and_decision_send_few_statements_and_do_not_read_the_file(ana: User) -> None:
    scores = {name: {"score": "Yes"} for name in ("the longest name", "b", "a")}
    lines = (line(f"e-{n}", parsed_rubric_scores=scores, review_reasons=[]) for n in range(3))
    import_data(file_of(*lines))
    program = program_of(ana)
    claim_and_decide(program)  # the first use of a token is written
    claim, decision = claim_and_decide(program)
    assert (len(claim.sent), len(decision.sent)) == (CLAIM, DECISION), claim.sent + decision.sent
    assert claim.transactions == decision.transactions == ["BEGIN", "COMMIT"]
    table = SourceChunk._meta.db_table
    assert not [one for one in claim.sent + decision.sent if table in one]


@pytest.mark.slow
def test_repeated_claim_and_decision_are_prepared_statements(ana: User) -> None:
    import_data(file_of(*(line(f"e-{n}", review_reasons=[]) for n in range(4))))
    program = program_of(ana)
    connection.ensure_connection()
    connection.connection.prepare_threshold = 1  # as in web processes
    for _ in range(3):
        claim, decision = claim_and_decide(program)
    assert claim.sent
    assert decision.sent
    assert not claim.parsed + decision.parsed


@pytest.mark.slow
def test_key_adds_five_statements_and_a_repeated_request_sends_four(ana: User) -> None:
    import_data(file_of(line("a")))
    program = program_of(ana)
    program.ask("POST", "runs/evaluations/claims")
    sent = []
    for key in ({}, {"Idempotency_Key": "one"}, {"Idempotency_Key": "one"}):
        with sent_statements() as statements:
            program.ask("POST", "runs/evaluations/claims", **key)
        sent.append(len(statements.sent))
    without, first, repeated = sent
    assert (first - without, repeated) == (5, 4)


def test_use_of_a_token_is_written_once_a_minute(ana: User) -> None:
    program = program_of(ana)
    ApiToken.objects.update(last_used_at=None)
    with sent_statements() as first:
        assert program.get("runs").status_code == 200
    with sent_statements() as second:
        assert program.get("runs").status_code == 200
    assert len(first.sent) == len(second.sent) + 1
    assert ApiToken.objects.get().last_used_at


def test_revoked_token_and_lost_role_take_effect_with_the_next_request(ana: User) -> None:
    program = program_of(ana)
    assert program.get("runs").status_code == 200
    ana.groups.clear()
    assert program.get("runs").status_code == 403
    api_tokens.revoke(token=ApiToken.objects.get(), actor=None)
    assert program.get("runs").status_code == 401
