"""Settings of a run over the API: members, and the rubric."""

from typing import Any

import pytest

from reviews.models import Run, User
from reviews.records.rubric import Criterion, Rubric
from reviews.records.rubric_file import format_rubric
from reviews.records.scales import RangeScale
from reviews.rubric.run_rubric import run_rubric
from tests.support.api_requests import Program, program_of
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db

WANTED = Rubric((Criterion("rigor", weight=2, scale=RangeScale(1, 10, pass_from=7)), Criterion("style")))
ADDRESS = "runs/algebra/rubric"


@pytest.fixture(autouse=True)
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


def stored() -> Rubric:
    return run_rubric(Run.objects.get(name="algebra"))


def test_inferred_rubric_is_read(of_ana: Program) -> None:
    found = of_ana.get(ADDRESS).json()
    assert (found["run"], found["is_declared"]) == ("algebra", False)
    assert found["rubric"] == Rubric().as_json()
    assert found["toml"] == format_rubric(Rubric())


@pytest.mark.parametrize(
    ("kind", "body"),
    [("application/json", WANTED.as_json()), ("application/toml", format_rubric(WANTED).encode())],
)
def test_lead_declares_a_rubric(of_lea: Program, kind: str, body: Any) -> None:
    answer = of_lea.ask("PUT", ADDRESS, body, kind=kind)
    assert (answer.status_code, answer.json()["is_declared"]) == (200, True)
    assert stored() == WANTED
    assert of_lea.get(ADDRESS).json() == answer.json()


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("application/json", {"verdict": "best"}, "verdict.rule"),
        ("application/json", [], "rubric"),
        ("application/json", {"criteria": [{"name": "a", "scale": {"kind": []}}]}, "criteria[1].scale.kind"),
        ("application/toml", b"[[criteria]]\nweight = 1", "criteria[1]"),
        ("application/toml", b"\xff", "rubric"),
    ],
)
def test_invalid_rubric_is_refused_with_its_places(of_lea: Program, kind: str, body: Any, field: str) -> None:
    answer = of_lea.ask("PUT", ADDRESS, body, kind=kind)
    assert answer.status_code == 422
    assert field in [error["field"] for error in answer.json()["errors"]]
    assert not Run.objects.get().is_rubric_declared


def test_body_that_is_no_json_is_refused(of_lea: Program) -> None:
    assert of_lea.ask("PUT", ADDRESS, b"{").status_code == 400
    assert of_lea.ask("PUT", ADDRESS, b"{}", kind="image/png").status_code == 415


def test_rubric_that_somebody_changed_is_not_replaced(of_lea: Program) -> None:
    seen = of_lea.get(ADDRESS).json()["fingerprint"]
    assert of_lea.ask("PUT", f"{ADDRESS}?seen={seen}", WANTED.as_json()).status_code == 200
    assert of_lea.ask("PUT", f"{ADDRESS}?seen={seen}", {}).status_code == 409
    assert stored() == WANTED


def test_rubric_is_declared_by_leads(of_ana: Program) -> None:
    assert of_ana.ask("PUT", ADDRESS, WANTED.as_json()).status_code == 403


def test_guideline_is_written_in_versions(of_lea: Program, of_ana: Program) -> None:
    address = "runs/algebra/guideline"
    assert of_ana.get(address).json() == {"run": "algebra", "version": None, "text": ""}
    first = of_lea.ask("PUT", address, {"text": "Check the sign."})
    assert first.json() == {"run": "algebra", "version": 1, "text": "Check the sign."}
    assert of_lea.ask("PUT", address, {"text": "Another.", "seen": None}).status_code == 409
    assert of_lea.ask("PUT", address, {"text": "Check the unit.", "seen": 1}).json()["version"] == 2
    assert of_lea.ask("PUT", address, {"text": "x" * 50_001, "seen": 2}).status_code == 422
    assert of_ana.get(address).json()["text"] == "Check the unit."
