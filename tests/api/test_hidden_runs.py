"""A restricted run does not exist for programs of people who are not its members."""

from typing import Any, NamedTuple

import pytest

from reviews.models import Evaluation, User
from tests.api.access import ACCESS as OPERATIONS
from tests.api.access import BODIES, path_values
from tests.support.api_requests import Program, program_of
from tests.support.factories import UserFactory
from tests.support.hidden_runs import SECRET, record_with_everything, restrict
from tests.support.rare_tests import thirds

pytestmark = pytest.mark.django_db

_BODIES: dict[str, Any] = {
    "members": {"members": None},
    "blind-scores": {"scores": {}},
    **{name: {"corrected_scores": {}} for name in ("review", "revision", "independent-review")},
    "escalation": {"note": "Is it 2?"},
    "reopening": {"reason": "Wrong."},
    "restoration": {"restored": 1, "reason": "Wrong."},
}


@pytest.fixture
def record(max: User) -> Evaluation:
    return record_with_everything(max)


class Hidden(NamedTuple):
    """A restricted run, and the people who are not its members."""

    record: Evaluation
    #: Programs of bo and of lea by scope.
    programs: tuple[dict[str, Program], dict[str, Program]]


@pytest.fixture(scope="class")
def hidden_from(class_world: None) -> Hidden:
    """Restrict a run to ana. The tests of a class share its rows."""
    roles = {"ana": "reviewer", "bo": "reviewer", "lea": "lead", "max": "admin"}
    ana, bo, lea, boss = (UserFactory.create(username=name, role=role) for name, role in roles.items())
    record = record_with_everything(boss)
    restrict(record, ana)
    of_bo, of_lea = (
        {
            scope: program_of(person, scope)
            for scope in {line[0] for line in OPERATIONS.values() if line[column] is not None}
        }
        for column, person in ((1, bo), (2, lea))
    )
    return Hidden(record, (of_bo, of_lea))


@pytest.mark.slow
class TestOperations:
    @pytest.mark.parametrize("name", thirds([name for name in OPERATIONS if "{" in name]))
    def test_hidden_run_answers_like_a_missing_one(self, name: str, hidden_from: Hidden) -> None:
        record = Evaluation.objects.get(pk=hidden_from.record.pk)
        scope, *statuses = OPERATIONS[name]
        for programs, status in zip(hidden_from.programs, statuses, strict=False):
            if status is None:
                continue
            program = programs[scope]
            hidden = self.send(program, name, record.run.name, record)
            missing = self.send(program, name, "missing", record)
            assert (hidden.status_code, hidden.content) == (missing.status_code, missing.content)
            assert SECRET not in hidden.content.decode()
            if name.startswith(("GET", "DELETE")) or name in BODIES or name.rpartition("/")[2] in _BODIES:
                assert hidden.status_code == (403 if status == 403 else 404)

    def send(self, program: Program, name: str, run: str, record: Evaluation) -> Any:
        method, path = name.split(" /")
        values = path_values(record, path) | {"run": run, "name": "gold" if run == record.run.name else run}
        place = path.format(**values)
        if path.endswith(("/comparison", "/drift")):
            place += "?earlier=missing"
        body = BODIES.get(name, _BODIES.get(path.split("/")[-1]))
        return program.ask(method, place, body, idempotency_key="one")


@pytest.mark.slow
def test_audit_log_of_a_hidden_run_is_not_found(record: Evaluation, ana: User, lea: User) -> None:
    restrict(record, ana)
    program = program_of(lea, "read")
    hidden, missing = (program.get(f"audit?run={name}") for name in (record.run.name, "missing"))
    assert (hidden.status_code, hidden.content) == (missing.status_code, missing.content)
    assert hidden.status_code == 404
