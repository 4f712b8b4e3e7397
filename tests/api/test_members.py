"""The members of a run over the API."""

from typing import Any

import pytest

from reviews.models import Run, User
from tests.api.conftest import Program, program_of
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="algebra")


def put(program: Program, members: Any) -> Any:
    return program.ask("PUT", "runs/algebra/members", {"members": members})


def test_lead_restricts_and_opens_a_run(run: Run, ana: User, lea: User) -> None:
    program = program_of(lea)
    assert program.get("runs/algebra/members").json() == {"run": "algebra", "members": None}
    restricted = {"run": "algebra", "members": ["ana", "lea"]}
    assert put(program, ["lea", "ana"]).json() == restricted
    assert program.get("runs/algebra/members").json() == restricted
    assert put(program, None).json() == {"run": "algebra", "members": None}


@pytest.mark.slow
def test_invalid_members_are_reported_and_nothing_changes(run: Run, lea: User) -> None:
    answer = put(program_of(lea), ["zoe", "lea"])
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"field": "members", "reason": "There is no reviewer, lead or admin named zoe."}
    ]
    assert put(program_of(lea), []).json()["errors"][0]["reason"].startswith("Add yourself (lea)")
    for members in ("lea", [1], {"a": 1}, ["a\0"]):
        assert put(program_of(lea), members).status_code == 422, members
    assert program_of(lea).ask("PUT", "runs/algebra/members", {}).status_code == 422
    run.refresh_from_db()
    assert not run.is_restricted


def test_members_are_for_leads(run: Run, ana: User) -> None:
    assert program_of(ana).get("runs/algebra/members").status_code == 403


def test_lead_without_access_finds_no_members(run: Run, lea: User, max: User) -> None:
    assert put(program_of(max), ["ana"]).status_code == 422  # there is no ana
    assert put(program_of(max), []).json()["members"] == []
    for answer in (program_of(lea).get("runs/algebra/members"), put(program_of(lea), None)):
        assert (answer.status_code, answer.json()["detail"]) == (404, "There is no run with this name.")
