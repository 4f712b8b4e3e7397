"""Lists of runs, records and work do not show a restricted run to people who are not its members."""

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from django.test import Client

from reviews.dashboard import spot_checks
from reviews.dashboard.selection import WorkSelection
from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.review import decisions
from reviews.views.dashboard.tables import TABLES
from tests.audit.test_log import seal
from tests.support.addresses import ROUTES
from tests.support.api_requests import program_of
from tests.support.factories import EvaluationFactory, UserFactory
from tests.support.hidden_runs import SECRET, record_with_everything, restrict, visit
from tests.support.work import decide
from tests.views.access import ACCESS
from tests.views.test_access import expected

pytestmark = pytest.mark.django_db


@pytest.fixture
def record(max: User) -> Evaluation:
    return record_with_everything(max)


class Work(NamedTuple):
    """Work of ana and lea in a run of which bo may become the only member."""

    run: Run
    ana: User
    lea: User


@pytest.fixture(scope="class")
def work_of_all(class_world: None) -> Work:
    """Work for every table of the dashboard. The tests share its rows."""
    roles = {"ana": "reviewer", "bo": "reviewer", "lea": "lead", "max": "admin"}
    ana, _, lea, boss = (UserFactory.create(username=name, role=role) for name, role in roles.items())
    record = record_with_everything(boss)
    run = record.run
    of_ana, of_lea, reopened = (
        EvaluationFactory.create(run=run, task_id=SECRET, parsed_rubric_scores=record.parsed_rubric_scores)
        for _ in range(3)
    )
    for one, person in ((of_ana, ana), (of_lea, lea), (reopened, lea)):
        given = {SECRET: {"score": "No", "justification": ""}}
        decide(one, person, scores=given, origins={SECRET: "human"}, judged={SECRET: "Yes"})
    spot_checks.draw(selection=WorkSelection(run, reviewer=ana), count=1, actor=lea)
    decisions.reopen(evaluation_id=reopened.pk, actor=boss, reason=SECRET)
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    return Work(run, ana, lea)


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
    @pytest.mark.parametrize("who", ["ana", pytest.param("lea", marks=pytest.mark.exhaustive)])
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
