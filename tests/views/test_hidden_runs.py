"""A restricted run does not exist for people who are not its members: no address, list or file shows it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.queue.members import configure_members
from reviews.review import decisions
from reviews.views.dashboard.tables import TABLES
from tests.api.conftest import Program, program_of
from tests.api.test_access import ACCESS as OPERATIONS
from tests.api.test_access import BODIES, path_values
from tests.audit.test_log import seal
from tests.support.factories import SCORES, EvaluationFactory, RunFactory, UserFactory
from tests.support.shared_world import shared_world
from tests.support.work import decide
from tests.views.access import ACCESS
from tests.views.test_access import ROUTES, address, ask, expected, one_of_everything

pytestmark = pytest.mark.django_db

# It is part of the name of the run, and of its task and model ids and criteria.
SECRET = "zebra"
# The first parts of addresses whose keys are not keys of a run, or of anything in one.
_OTHER_KEYS = {"account", "jobs", "links", "people", "tokens", "webhooks"}
OF_A_RUN = [
    name for name in ACCESS if "<int:" in ROUTES[name] and ROUTES[name].split("/")[0] not in _OTHER_KEYS
]
# Here the row decides who may post, so that even a denial would show that it exists.
_DENIED_BY_ROW = {"remove-view", "withdraw-escalation"}
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


def record_with_everything(admin: User) -> Evaluation:
    """Create a record of an open run, with a row for every address."""
    values = {
        "task_id": SECRET,
        "model_id": SECRET,
        "parsed_rubric_scores": {SECRET: SCORES[next(iter(SCORES))]},
    }
    run = RunFactory.create(name=f"{SECRET} run")
    return one_of_everything(admin, EvaluationFactory.create(run=run, **values))


def restrict(record: Evaluation, *members: User) -> None:
    names = [member.username for member in members]
    configure_members(run_id=record.run_id, actor=None, members=names)


def visit(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def page_of(answer: Any) -> str:
    """Return the page without the tokens of its forms."""
    return re.sub("[A-Za-z0-9]{64}", "", answer.content.decode())


class TestAddresses:
    def test_walk_finds_the_addresses_of_a_run(self) -> None:
        assert len(OF_A_RUN) > 60
        assert {"run", "run-members", "import", "export-file", "submit", "resolve-escalation"} < {*OF_A_RUN}

    @pytest.mark.slow
    @pytest.mark.parametrize("who", ["bo", pytest.param("lea", marks=pytest.mark.exhaustive)])
    def test_hidden_run_answers_like_a_missing_one(
        self, who: str, record: Evaluation, ana: User, request: pytest.FixtureRequest
    ) -> None:
        restrict(record, ana)
        visitor, column = visit(request.getfixturevalue(who)), "ana" if who == "bo" else who
        for name in OF_A_RUN:
            missing = "/" + re.sub("<int:[a-z_]+>", "987654321", ROUTES[name]).replace(
                "<slug:table>", "groups"
            )
            reference = None
            for method in {"get", "post"} & {*ACCESS[name]}:
                if expected(name, method, column) == 403 and name not in _DENIED_BY_ROW:
                    continue  # their role is not enough, for any run
                answer = ask(visitor, method, address(name, record))
                assert answer.status_code == 404, (name, method)
                reference = reference or page_of(ask(visitor, method, missing))
                assert page_of(answer) == reference, (name, method)

    @pytest.mark.slow
    @pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.exhaustive)])
    def test_member_finds_everything(self, every: int, record: Evaluation, ana: User) -> None:
        restrict(record, ana)
        visitor = visit(ana)
        for name in OF_A_RUN[::every]:
            for method in {"get", "post"} & {*ACCESS[name]}:
                answer = ask(visitor, method, address(name, record))
                assert answer.status_code == expected(name, method, "ana"), (name, method)


class Hidden(NamedTuple):
    """A restricted run, and the people who are not its members."""

    record: Evaluation
    #: Programs of bo and of lea by scope.
    programs: tuple[dict[str, Program], dict[str, Program]]


@pytest.fixture(scope="class")
def hidden_from(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Hidden]:
    """Restrict a run to ana. The tests of a class share its rows."""
    roles = {"ana": "reviewer", "bo": "reviewer", "lea": "lead", "max": "admin"}
    with shared_world(django_db_blocker):
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
        yield Hidden(record, (of_bo, of_lea))


@pytest.mark.slow
class TestOperations:
    @pytest.mark.parametrize("name", [name for name in OPERATIONS if "{" in name])
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


def test_audit_log_of_a_hidden_run_is_not_found(record: Evaluation, ana: User, lea: User) -> None:
    restrict(record, ana)
    program = program_of(lea, "read")
    hidden, missing = (program.get(f"audit?run={name}") for name in (record.run.name, "missing"))
    assert (hidden.status_code, hidden.content) == (missing.status_code, missing.content)
    assert hidden.status_code == 404


class Work(NamedTuple):
    """Work of ana and lea in a run of which bo may become the only member."""

    run: Run
    ana: User
    lea: User


@pytest.fixture(scope="class")
def work_of_all(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Work]:
    """Work for every table of the dashboard. The tests share its rows."""
    roles = {"ana": "reviewer", "bo": "reviewer", "lea": "lead", "max": "admin"}
    with shared_world(django_db_blocker):
        ana, _, lea, boss = (UserFactory.create(username=name, role=role) for name, role in roles.items())
        record = record_with_everything(boss)
        run = record.run
        of_ana, of_lea, reopened = (
            EvaluationFactory.create(
                run=run, task_id=SECRET, parsed_rubric_scores=record.parsed_rubric_scores
            )
            for _ in range(3)
        )
        for one, person in ((of_ana, ana), (of_lea, lea), (reopened, lea)):
            given = {SECRET: {"score": "No", "justification": ""}}
            decide(one, person, scores=given, origins={SECRET: "human"}, judged={SECRET: "Yes"})
        spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=1, actor=lea)
        decisions.reopen(evaluation_id=reopened.pk, actor=boss, reason=SECRET)
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        yield Work(run, ana, lea)


@pytest.mark.slow
class TestLists:
    """Everything that lists runs, records or work of several runs."""

    @pytest.fixture
    def work(self, work_of_all: Work) -> Work:
        run, *people = work_of_all
        ana, lea = (User.objects.get(pk=person.pk) for person in people)
        return Work(Run.objects.get(pk=run.pk), ana, lea)

    def places(self, run: Run, who: str, *, is_rest: bool = False) -> list[str]:
        """Return the addresses without a key that a person may open, and those of the dashboard.

        All filters are the same selection of work: one of them on each address, the other in the exhaustive
        test.
        """
        names = [name for name in ACCESS if "<" not in ROUTES[name] and "get" in ACCESS[name]]
        paths = [ROUTES[name] for name in names if expected(name, "get", who) != 403]
        work = ["activity/", "activity/decisions/"]
        if who == "lea":
            work += ["dashboard/", "activity/decisions.csv"]
            work += [f"dashboard/{table}.csv" for table in TABLES]
            workers = User.objects.filter(username__in=["ana", "lea"]).order_by("pk")
            work += [f"people/{pk}/activity/" for pk in workers.values_list("pk", flat=True)]
        queries = (f"?run={run.pk}", "?reviewer=ana")
        filtered = [path + queries[(number + is_rest) % 2] for number, path in enumerate(work)]
        if is_rest:
            return ["/" + path for path in filtered]
        return ["/" + path for path in {*paths, *work, *filtered}]

    def shown(self, person: User, places: Iterable[str]) -> set[str]:
        """Return those of the addresses, and of two operations, whose answers have the secret."""
        seal()
        visitor, program = visit(person), program_of(person, "read")
        answers = {place: visitor.get(place) for place in places}
        answers |= {path: program.get(path) for path in ("runs", "audit")}
        return {place for place, answer in answers.items() if SECRET in answer.getvalue().decode().lower()}

    def test_lead_finds_an_open_run_in_every_list(self, work: Work) -> None:
        pages = {"/", "/dashboard/", "/activity/", "/spot-checks/", "/activity/decisions/"}
        tables = ("now", "runs", "criteria", "criteria-by-reviewer", "overturned")
        places = pages | {"/activity/decisions.csv"} | {f"/dashboard/{table}.csv" for table in tables}
        assert places <= {*self.places(work.run, "lea")}
        assert self.shown(work.lea, places) == places | {"runs", "audit"}

    def test_reviewer_finds_an_open_run_in_their_lists(self, work: Work) -> None:
        places = {"/", "/activity/", "/activity/decisions/?reviewer=ana"}
        assert places <= {*self.places(work.run, "ana")}
        assert self.shown(work.ana, places) == places | {"runs"}

    @pytest.mark.parametrize("is_rest", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
    @pytest.mark.parametrize("who", ["ana", "lea"])
    def test_lists_do_not_show_a_hidden_run(self, who: str, is_rest: bool, work: Work) -> None:
        restrict(work.run.evaluations.all()[0], User.objects.get(username="bo"))
        places = self.places(work.run, who, is_rest=is_rest)
        assert len(places) > ({"ana": 1, "lea": 12} if is_rest else {"ana": 12, "lea": 40})[who]
        assert self.shown({"ana": work.ana, "lea": work.lea}[who], places) == set()

    def test_figures_do_not_count_a_hidden_run(self, work: Work) -> None:
        decide(EvaluationFactory.create(), work.lea)
        restrict(work.run.evaluations.all()[0], User.objects.get(username="bo"))
        visitor = visit(work.lea)
        rows = self.csv(visitor, "reviewers").splitlines()[1:]
        assert [row.split(",")[:2] for row in rows] == [['"lea"', "1"]]
        assert [row.split(",")[1:] for row in self.csv(visitor, "days").splitlines()[1:]] == [["1", "0", "1"]]

    def csv(self, visitor: Client, table: str) -> str:
        return b"".join(visitor.get(f"/dashboard/{table}.csv")).decode()
