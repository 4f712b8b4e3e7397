"""Filtered comparisons equal those of runs that hold only the matching records and ratings."""

import csv
import datetime as dt
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from cognireview.types import judge as types
from cognireview.types.encoding import members
from reviews.judge.comparison import matches
from reviews.judge.comparison.drift import measure_drift
from reviews.judge.comparison.history import accuracy_over_runs
from reviews.judge.comparison.paired import SIDES, compare_judges, compare_runs
from reviews.judge.comparison.shared_filters import read_shared_filters
from reviews.judge.leaderboard import rank_models
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Rating, Run, User
from reviews.records.status import COMPLETED, NOT_REQUIRED
from reviews.search import indexing, strata
from tests.api.conftest import program_of
from tests.support.commands import manage
from tests.support.factories import EvaluationFactory, ImportFactory, RunFactory, UserFactory
from tests.support.gold import CLARITY, SCORES, judged, rate
from tests.support.pages import text
from tests.support.rubrics import rubric_data
from tests.support.shared_world import shared_world

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

JUDGES, PROMPTS, MODELS, TASKS = ("judge-1", "judge-2"), ("v1", "v2"), ("o1", "o3"), 9
NEW_YEAR = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
FILTERS: list[dict[str, str]] = [
    {"judge": "judge-1"},
    {"template": "v2"},
    {"judge": "judge-2", "template": "v1"},
    {"model": "o3"},
    {"model": "-"},
    {"task": "task 3"},
    {"reviewer": "bo"},
    {"since": "2026-01-03", "until": "2026-01-05"},
    {"judge": "judge-1", "model": "o1", "reviewer": "ana", "since": "2026-01-02"},
]


@dataclass(frozen=True)
class Rated:
    """A blind rating."""

    reviewer: str
    verdict: str
    day: int


@dataclass(frozen=True)
class Judged:
    """A record, with the judge's verdict."""

    judge: str
    template: str
    model: str | None
    task: str
    verdict: str
    is_flagged: bool
    ratings: tuple[Rated, ...]
    #: The number of its ratings, whichever of them a run holds.
    raters: int

    def matches(self, scope: JudgeScope) -> bool:
        wanted = (scope.judge, scope.template, scope.model, scope.task)
        given = (self.judge, self.template, self.model or "", self.task)
        return all(one in {None, other} for one, other in zip(wanted, given, strict=True))

    def rated_in(self, scope: JudgeScope) -> "Judged":
        """Return the record with the ratings of a scope."""
        kept = [
            one
            for one in self.ratings
            if (scope.reviewer is None or scope.reviewer.username == one.reviewer)
            and (scope.since is None or scope.since.day <= one.day)
            and (scope.until is None or one.day <= scope.until.day)
        ]
        return replace(self, ratings=tuple(kept))


def history(chance: Random) -> list[Judged]:
    """Return the records of a run: some judges of each response, most of them reviewed."""
    found = []
    for judge, template, model, task in product(JUDGES, PROMPTS, (*MODELS, None), range(TASKS)):
        if chance.random() < 0.6:
            people = chance.choice([(), ("ana",), ("bo",), ("ana", "bo")])
            ratings = (Rated(one, chance.choice(["Pass", "Fail"]), chance.randint(1, 7)) for one in people)
            verdict, is_flagged = chance.choice(["Pass", "Pass", "Fail"]), chance.random() < 0.6
            given = (judge, template, model, f"task {task}", verdict, is_flagged, tuple(ratings))
            found.append(Judged(*given, raters=len(people)))
    return found


def fill(name: str, records: Iterable[Judged]) -> Run:
    """Create a run with some records and their ratings."""
    run = RunFactory.create(name=name, rubric=rubric_data(CLARITY), blind_share=0, accuracy_target=0.8)
    given = [*records]
    source = ImportFactory.create(run=run, lines=len(given))
    rows = [
        (_record(run, one, first_import=source, first_line=line), one) for line, one in enumerate(given, 1)
    ]
    Evaluation.objects.bulk_create(record for record, _ in rows)
    indexing.index_at_once(run, [source])
    people = {person.username: person for person in User.objects.all()}
    ratings = [(record, rating) for record, one in rows for rating in one.ratings]
    for username, person in people.items():
        own = [(record, rating) for record, rating in ratings if rating.reviewer == username]
        rate([record for record, _ in own], person, [rating.verdict for _, rating in own])
        for day in {rating.day for _, rating in own}:
            of_day = [record for record, rating in own if rating.day == day]
            rated = Rating.objects.filter(evaluation__in=of_day, reviewer=person)
            rated.update(at=NEW_YEAR + dt.timedelta(days=day - 1))
    for raters in {one.raters for _, one in rows}:
        known = [record for record, one in rows if one.raters == raters]
        Rating.objects.filter(evaluation__in=known).update(raters=raters)
    strata.recount(run, {})
    with connection.cursor() as cursor:
        # Without statistics of the new rows, PostgreSQL joins ratings with each stratum one by one.
        cursor.execute("ANALYZE stratum, rating_cell, rating")
    return run


def _record(run: Run, one: Judged, **values: Any) -> Evaluation:
    return EvaluationFactory.build(
        run=run,
        judge_llm_model=one.judge,
        judge_prompt_template_path=one.template,
        model_id=one.model,
        task_id=one.task,
        aggregated_score=one.verdict,
        parsed_rubric_scores={CLARITY: {"score": SCORES[one.verdict]}},
        structured_model_response={"response": f"{one.task} by {one.model}"},
        needs_human_review=one.is_flagged,
        is_sampled=not one.is_flagged,
        human_review_status=COMPLETED if one.is_flagged else NOT_REQUIRED,
        **values,
    )


def figures(first: Run, scope: JudgeScope) -> dict[str, Any]:
    """Return every figure with filters as JSON, without the names of the runs."""
    history = accuracy_over_runs(scope, Run.objects.filter(pk=first.pk), by="criteria")
    found = {
        "runs": members(types.Comparison, compare_runs(first, scope)),
        "judges": [members(types.Comparison, one) for one in compare_judges(scope)],
        "drift": members(types.Drift, measure_drift(first, scope)),
        "history": members(types.History, history),
    }
    names = {first.name: "first", scope.run.name: "second"}
    words = json.dumps(found)
    for name, short in names.items():
        words = words.replace(f'"{name}"', f'"{short}"')
    plain: dict[str, Any] = json.loads(words)
    for point in plain["history"]["points"]:
        # Names that some record of the run has; a judge without a rating with the filters stays named.
        del point["at"], point["judges"], point["templates"], point["changes"], point["accuracy"]["why"]
    return plain


@pytest.mark.parametrize(
    ("seed", "filters"),
    [
        # Two of the judged part, one without a value, and all parts at once.
        pytest.param(1, [FILTERS[2], FILTERS[4], FILTERS[8]], id="some filters"),
        pytest.param(1, FILTERS, id="all filters", marks=pytest.mark.exhaustive),
        pytest.param(2, FILTERS, id="all filters of other runs", marks=pytest.mark.exhaustive),
    ],
)
def test_filtered_figures_equal_those_of_runs_with_the_matching_records(
    ana: User, bo: User, seed: int, filters: list[dict[str, str]]
) -> None:
    chance = Random(seed)
    given = [history(chance), history(chance)]
    first, second = (fill(name, records) for name, records in zip(("a", "b"), given, strict=True))
    for number, values in enumerate(filters):
        scope = read_shared_filters(first, second, values).scope
        assert scope != JudgeScope(second), values
        twins = [
            fill(f"{name}{number}", (one.rated_in(scope) for one in records if one.matches(scope)))
            for name, records in zip(("c", "d"), given, strict=True)
        ]
        assert figures(first, scope) == figures(twins[0], JudgeScope(twins[1])), values
        compared = compare_runs(first, scope)
        assert {side: len(compared.list_pairs(side)) for side in SIDES} == compared.counts, values
        drifted = measure_drift(first, scope)
        assert len(drifted.listed_with("", "")) == sum(one.pairs for one in drifted.counts) > 0, values


@pytest.fixture(scope="class")
def runs(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[Run, Run]]:
    """Two runs that ana and bo rated. Tests undo their changes."""
    with shared_world(django_db_blocker):
        for name in ("ana", "bo"):
            UserFactory.create(username=name, role="reviewer")
        chance = Random(3)
        yield fill("monday", history(chance)), fill("tuesday", history(chance))


class TestPages:
    @pytest.mark.parametrize(
        "values", [pytest.param(FILTERS[0], marks=pytest.mark.exhaustive), FILTERS[-2]], ids=str
    )
    def test_lists_have_as_many_records_as_filtered_figures_say(
        self, runs: tuple[Run, Run], values: dict[str, str], client: Client, lea: User
    ) -> None:
        first, second = runs
        client.force_login(lea)
        page = client.get(reverse("judge-compare", args=[second.pk], query={"with": first.pk} | values))
        sections = {section.name: section for section in page.context["sections"]}
        assert sections["runs"].plot.line == 80
        scope = read_shared_filters(first, second, values).scope
        assert sections["drift"].plot.dots[0].cell.parts[2] == measure_drift(first, scope).shift.n
        counted = [
            (cell.value, cell.url)
            for section in [*sections.values()][:4]  # between runs, the drift, and two judges of the run
            for column, cell in section.figures
            if column.name != "changed" and cell.url
        ]
        counted += [(dot.cell.parts[2], dot.cell.url) for dot in sections["drift"].plot.dots]
        assert len({*counted}) > 8
        for place, (number, url) in enumerate(dict.fromkeys(counted)):
            listed = client.get(url)
            assert len(listed.context["table"].rows) == number, url
            if place % 5 == 0:  # the file has the rows of the same query
                file = client.get(listed.context["csv_url"]).getvalue().decode()
                assert len([*csv.DictReader(io.StringIO(file))]) == number, url
            assert listed.context["filters"].chosen == values
        assert page.context["filters"].chosen == values
        for tab in page.context["tabs"]:
            assert all(name in tab.url for name in values), tab.url

    def test_ratings_behind_a_dot_over_runs_are_those_of_the_filters(
        self, runs: tuple[Run, Run], client: Client, lea: User
    ) -> None:
        client.force_login(lea)
        values = {"judge": "judge-1", "reviewer": "ana"}
        page = client.get(reverse("judge-history", args=[runs[1].pk], query=values))
        [section] = page.context["sections"]
        assert [dot.title for dot in section.plot.dots] == ["monday", "tuesday"]
        assert section.plot.line == 80
        for dot in section.plot.dots:
            listed = client.get(dot.cell.url).context["table"].rows
            assert len(listed) == dot.cell.parts[2] > 0
        Rating.objects.filter(evaluation__run=runs[0], reviewer__username="ana").delete()
        again = client.get(reverse("judge-history", args=[runs[1].pk], query=values))
        assert [dot.title for dot in again.context["sections"][0].plot.dots] == ["tuesday"]
        assert "monday: No ratings with these filters." in text(again)

    def test_api_and_command_take_the_filters(
        self, runs: tuple[Run, Run], lea: User, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        first, second = runs
        program = program_of(lea)
        scope = JudgeScope(second, judge="judge-1", model="o1")
        query = "judge=judge-1&model=o1"
        compared, drifted = compare_runs(first, scope), measure_drift(first, scope)
        history = accuracy_over_runs(scope, Run.objects.all())
        for path, option, wanted in (
            ("comparison?earlier=monday&", ("--compare", "monday"), members(types.Comparison, compared)),
            ("drift?earlier=monday&", ("--drift", "monday"), members(types.Drift, drifted)),
            ("accuracy-over-runs?", ("--history",), members(types.History, history)),
        ):
            assert program.get(f"runs/tuesday/{path}{query}").json() == wanted
            arguments = (*option, "--judge", "judge-1", "--model", "o1", "--json")
            assert json.loads(manage(capfdbinary, "judge_report", "tuesday", *arguments).out) == wanted
            assert program.get(f"runs/tuesday/{path}judge=nobody").status_code == 422
            assert program.get(f"runs/tuesday/{path}jugde=judge-1").status_code == 422
            assert manage(capfdbinary, "judge_report", "tuesday", *option, "--judge", "nobody").status == 2


@pytest.mark.parametrize("most", [1_000, 2])
def test_few_records_to_score_blind_within_a_filter_do_not_count(
    ana: User, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(matches, "_MOST_HIDDEN", most)
    first, second = (RunFactory.create(rubric=rubric_data(CLARITY), blind_share=share) for share in (0, 1))
    for model, number in (("o1", 3), ("o3", 12)):
        rate(judged(first, ["Pass"] * number, model_id=model), ana, ["Pass"] * number)
        judged(second, ["Pass"] * number, model_id=model)
    assert compare_runs(first, JudgeScope(second)).n == 15
    found = compare_runs(first, JudgeScope(second, model="o1"))
    assert (found.n, found.responses) == (0, 0)


class TestCompared:
    """A filter by what is compared does not apply."""

    def records(self, *, judge: str, template: str = "v1") -> list[Judged]:
        given = (judge, template, "o1", "task 1", "Pass", True, (Rated("ana", "Pass", 1),))
        return [Judged(*given, raters=1)]

    def test_judge_of_runs_without_a_common_judge_is_no_filter(
        self, ana: User, client: Client, lea: User
    ) -> None:
        first, second = fill("a", self.records(judge="j1")), fill("b", self.records(judge="j2"))
        client.force_login(lea)
        page = client.get(reverse("judge-compare", args=[second.pk], query={"with": first.pk, "judge": "j2"}))
        assert "The judge is compared, so there is no filter by judge." in text(page)
        assert "judge" not in {field.name for field in page.context["fields"]}
        assert page.context["kept"] == [("judge", "j2")]
        assert page.context["sections"][0].figures[0][1].value == 2
        assert "2 ratings of common responses so far. A comparison needs 10 or more." in text(page)
        refused = program_of(lea).get("runs/b/comparison?earlier=a&judge=j2")
        assert refused.status_code == 422
        assert "The judge is compared" in refused.text

    def test_judge_of_one_side_does_not_apply(self, ana: User) -> None:
        first = fill("a", self.records(judge="j1"))
        second = fill("b", [*self.records(judge="j1"), *self.records(judge="j2")])
        shared = read_shared_filters(first, second, {"judge": "j2"})
        assert shared.scope == JudgeScope(second)
        assert shared.problems == ("The filter by judge does not apply: only one side has j2.",)
        assert read_shared_filters(first, second, {"judge": "j1"}).scope == JudgeScope(second, judge="j1")

    @pytest.mark.parametrize(
        ("kept", "compared"), [({"judge": "j1"}, ("j1, v1", "j1, v2")), ({"template": "v1"}, ("j1", "j2"))]
    )
    def test_filter_within_a_run_keeps_the_pairs_that_differ_in_something_else(
        self, ana: User, kept: dict[str, str], compared: tuple[str, str]
    ) -> None:
        run = fill("a", [one for pair in product(("j1", "j2"), ("v1", "v2")) for one in self.of(*pair)])
        [found] = compare_judges(read_shared_filters(None, run, kept).scope)
        ends = tuple(name.rpartition(", ")[2] for name in compared)
        assert (found.first, found.second) == ends

    def of(self, judge: str, template: str) -> list[Judged]:
        return self.records(judge=judge, template=template)

    def test_judges_of_a_run_with_one_prompt_are_compared(self, ana: User) -> None:
        run = fill("a", [*self.records(judge="j1"), *self.records(judge="j2")])
        shared = read_shared_filters(None, run, {"judge": "j1", "template": "v1"})
        assert shared.reasons == {"judge": "The judge is compared, so there is no filter by judge."}
        assert len(compare_judges(shared.scope)) == 1


def test_chosen_model_keeps_its_rank_among_all_models(ana: User, bo: User) -> None:
    run = fill("a", history(Random(4)))
    board, chosen = (rank_models(JudgeScope(run, model=model)) for model in (None, "o3"))
    [model] = chosen.models
    assert model in board.models
    assert len(board.models) > 1
    assert chosen.pairs == board.pairs > 0
    assert (
        chosen.sentences[-1]
        == f"Ranks and comparisons are those among all {board.ranked} models with a rank."
    )
