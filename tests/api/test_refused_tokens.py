"""No operation of the API works without a token of an active person with the role, or by another method."""

import re
from typing import Any

import pytest
from django.utils import timezone

from reviews.accounts import api_tokens, people
from reviews.models import ApiToken, Evaluation, User
from tests.api.access import ACCESS, send
from tests.support.api_requests import ALL, Program, program_of

pytestmark = pytest.mark.django_db

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Path -> its methods.
TAKEN = {
    path: {name.split(" ")[0] for name in ACCESS if name.split(" ")[1] == path}
    for path in sorted({name.split(" ")[1] for name in ACCESS})
}
# One operation of each scope, and one path of each set of methods.
OF_EACH_SCOPE = sorted({line[0]: name for name, line in ACCESS.items()}.values())
OF_EACH_METHODS = sorted(
    {(*sorted(taken), "{evaluation_id}" in path): path for path, taken in TAKEN.items()}.values()
)

# One check looks at the token of every operation.
of_each_scope = pytest.mark.parametrize(
    "names", [OF_EACH_SCOPE, pytest.param([*ACCESS], marks=pytest.mark.exhaustive)]
)


@of_each_scope
def test_operations_reject_tokens_after_the_role_is_lost(
    names: list[str], record: Evaluation, max: User, lea: User
) -> None:
    of_lea, of_max = (
        {
            scope: program_of(person, scope)
            for scope in {str(line[0]) for line in ACCESS.values() if line[column]}
        }
        for column, person in ((2, lea), (3, max))
    )
    for person in (lea, max):
        person.groups.clear()
    for name in names:
        scope, _, status_of_lea, _ = ACCESS[name]
        program = (of_lea if status_of_lea else of_max)[scope]
        assert send(program, name, record).status_code == 403, name


@pytest.mark.slow
@of_each_scope
def test_operations_reject_missing_and_invalid_tokens(
    names: list[str], record: Evaluation, max: User
) -> None:
    revoked, expired, gone = (program_of(max, *ALL) for _ in range(3))
    made = ApiToken.objects.order_by("pk")
    api_tokens.revoke(token=made[0], actor=max)
    ApiToken.objects.filter(pk=made[1].pk).update(expires_at=timezone.now())
    User.objects.filter(pk=max.pk).update(is_active=False)
    for program in (Program(), Program("cr_nothing"), Program("ä \x7f"), revoked, expired, gone):
        for name in names:
            rejects(send(program, name, record), name)


def rejects(answer: Any, name: str) -> None:
    """Assert that an answer asks for a token."""
    assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json"), name
    assert answer["WWW-Authenticate"].startswith("Bearer"), name


@pytest.mark.slow
@of_each_scope
def test_operations_reject_sessions(names: list[str], record: Evaluation, max: User) -> None:
    program = Program()
    program._client.force_login(max)
    for name in names:
        rejects(send(program, name, record), name)


@pytest.mark.slow
@pytest.mark.parametrize("paths", [OF_EACH_METHODS, pytest.param([*TAKEN], marks=pytest.mark.exhaustive)])
def test_operations_reject_other_methods(paths: list[str], record: Evaluation, of_max: Program) -> None:
    for path in paths:
        # GET of such a path is that of the record whose id ends like the path.
        taken = TAKEN[path] | ({"GET"} if "{evaluation_id}" in path else set())
        for other in set(METHODS) - taken:
            answer = send(of_max, f"{other} {path}", record)
            assert answer.status_code == 405, (other, path)
            assert set(re.split(", ?", answer["Allow"])) == taken, (other, path)
            if other != "HEAD":
                assert (answer.json()["status"], answer.json()["title"]) == (405, "Method not allowed")


def test_reactivated_person_has_no_tokens(max: User, ana: User) -> None:
    program = program_of(ana)
    people.deactivate(person=ana, actor=max)
    people.reactivate(person=ana, actor=max)
    assert program.get("runs").status_code == 401
