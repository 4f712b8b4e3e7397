"""Assisted figures describe their part of the decisions."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from reviews.judge.assisted_figures import assisted_figures
from reviews.judge.cells import Cell
from reviews.judge.ratings import RatingKind, Ratings
from reviews.statistics.score_categories import ScoreCategories


def test_parts_count_their_own_tasks_if_the_run_has_too_many_to_add_up_one_by_one() -> None:
    kinds = tuple(
        RatingKind(Cell(is_flagged, "Pass", "judge", "prompt", "model"), not is_flagged, "Pass", human)
        for is_flagged in (True, False)
        for human in ("Pass", "Fail")
    )
    counts = np.array([4_000, 1_000, 900, 100], dtype=np.int32)
    tasks = np.arange(6_000, dtype=np.int32)
    found = assisted_figures(
        Ratings(kinds, counts, tasks, np.ones(6_000)), None, ScoreCategories.of_verdicts()
    )
    run, flagged, unflagged = (one.accuracy for one in found)
    assert [one.n for one in (run, flagged, unflagged)] == [6_000, 5_000, 1_000]
    assert [one.value for one in (run, flagged, unflagged)] == [4_900 / 6_000, 0.8, 0.9]
    # More tasks than 4,096 are added up in as many groups.
    assert [one.clusters for one in (run, flagged, unflagged)] == [4_096, 4_096, 1_000]


def test_parts_share_the_places_of_their_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Counter[str | None] = Counter()
    place = ScoreCategories.place

    def counting(scale: ScoreCategories, score: Any) -> int | None:
        seen[score] += 1
        return place(scale, score)

    monkeypatch.setattr(ScoreCategories, "place", counting)
    kinds = tuple(
        RatingKind(Cell(is_flagged, "Pass", "judge", "prompt", "model"), not is_flagged, "Pass", human)
        for is_flagged, human in ((True, "Fail"), (True, None), (False, "Pass"))
    )
    counts = np.array([5, 2, 3], dtype=np.int32)
    ratings = Ratings(kinds, counts, np.arange(10, dtype=np.int32), np.ones(10))
    found = [*assisted_figures(ratings, None, ScoreCategories.of_verdicts())]
    assert [(one.n, one.judge_only, one.accuracy.value) for one in found] == [
        (8, 2, 3 / 8),
        (5, 2, 0.0),
        (3, 0, 1.0),
    ]
    # The scores of the judge and the reviewer, once for each of the three kinds.
    assert seen == {"Pass": 4, "Fail": 1, None: 1}
