"""Cells are pooled until each group has enough ratings."""

import importlib
from collections import Counter

import numpy as np
import pytest

from cognireview.environment import BASE_DIR
from reviews.statistics.strata import ENOUGH, UNCOVERED, group_cells


def grouped(cells: dict[tuple[str, ...], tuple[int, int]]) -> list[int]:
    """Group cells, given as path -> (records, ratings)."""
    sizes, ratings = np.array(list(cells.values())).T
    return [int(group) for group in group_cells(list(cells), sizes, ratings)]


def test_cells_with_enough_ratings_are_groups_of_their_own() -> None:
    rated = (100, ENOUGH)
    found = grouped({("0", "Pass"): rated, ("0", "Fail"): rated, ("1", "Pass"): rated, ("1", "Fail"): rated})
    assert found == [0, 1, 2, 3]


def test_more_ratings_of_a_group_do_not_change_the_numbers() -> None:
    cells = [("0", "Pass"), ("0", "Fail"), ("1", "Pass")]
    found = [
        grouped({path: (100, number) for path, number in zip(cells, ratings, strict=True)})
        for ratings in ((20, 30, 10), (40, 30, 50))
    ]
    assert found[0] == found[1]


def test_cells_with_few_ratings_are_pooled_with_the_smallest_sibling() -> None:
    found = grouped({("0", "Pass"): (100, 40), ("0", "Fail"): (100, 20), ("0", ""): (5, 1)})
    assert found[1] == found[2] != found[0]


def test_cells_with_few_ratings_are_pooled_with_each_other() -> None:
    few = ENOUGH // 2
    found = grouped({("0", "Pass"): (100, 40), ("0", "Fail"): (100, few), ("0", ""): (50, few)})
    assert found[1] == found[2] != found[0]


def test_groups_do_not_depend_on_the_order_of_the_cells() -> None:
    """The ratings of b and c are equally many, so that either could be pooled with a."""
    cells: dict[tuple[str, ...], tuple[int, int]]
    cells = {("0", "a"): (9, 4), ("0", "b"): (50, 20), ("0", "c"): (50, 20)}
    turned = dict(reversed(cells.items()))
    assert grouped(cells) == [0, 0, 1]
    assert grouped(turned) == [0, 1, 1]


def test_parts_by_the_first_name_are_never_pooled() -> None:
    assert grouped({("0", "Pass"): (100, 1), ("1", "Pass"): (100, 40)}) == [0, 1]


def test_a_part_by_the_first_name_without_ratings_is_not_covered() -> None:
    found = grouped({("0", "Pass"): (100, 0), ("0", "Fail"): (9, 0), ("1", "Pass"): (9, 9)})
    assert found == [UNCOVERED, UNCOVERED, 0]


def test_a_cell_without_ratings_belongs_to_the_group_of_its_part() -> None:
    found = grouped({("1", "Pass", "a"): (100, 20), ("1", "Pass", "b"): (100, 0)})
    assert found == [0, 0]


def test_cells_without_names_are_one_group() -> None:
    assert grouped({(): (10, 5)}) == [0]


@pytest.mark.slow
def test_recipe_pools_cells_as_the_program_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records may have the only cells without a rating, which others then represent."""
    monkeypatch.syspath_prepend(str(BASE_DIR / "docs" / "recipes"))
    recipe = importlib.import_module("judge_accuracy")
    paths = [
        (flag, verdict, judge, "p", "m")
        for flag in ("flagged", "unflagged")
        for verdict in ("Fail", "Partial", "Pass")
        for judge in ("one", "two")
    ]
    random = np.random.default_rng(1)
    for _ in range(15):
        counts = random.integers(0, 9, len(paths)) * 3
        cells = [(number, dict(zip(recipe.PATH, path, strict=True))) for number, path in enumerate(paths)]
        found = group_cells(paths, np.ones(len(paths), dtype=int), counts)
        expected = {frozenset(np.flatnonzero(found == group).tolist()) for group in {*found.tolist()} - {-1}}
        random.shuffle(cells)
        ratings = Counter(dict(enumerate(counts.tolist())))
        pooled = [[cell for cell, _ in part] for part in recipe.groups(cells, ratings)]
        assert {frozenset(part) for part in pooled if counts[part].sum()} == expected
