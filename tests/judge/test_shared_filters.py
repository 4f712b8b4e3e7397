"""Filtered comparisons equal those of runs that hold only the matching records and ratings."""

import json
from random import Random
from typing import Any

import pytest

from cognireview.types import judge as types
from cognireview.types.encoding import members
from reviews.judge.comparison import matches
from reviews.judge.comparison.drift import measure_drift
from reviews.judge.comparison.history import accuracy_over_runs
from reviews.judge.comparison.paired import SIDES, compare_judges, compare_runs
from reviews.judge.comparison.shared_filters import read_shared_filters
from reviews.judge.leaderboard import rank_models
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from tests.support.factories import RunFactory
from tests.support.filtered_runs import FILTERS, fill, history
from tests.support.gold import CLARITY, judged, rate
from tests.support.rubrics import rubric_data

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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
