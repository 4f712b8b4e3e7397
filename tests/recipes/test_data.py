"""The documented recipe for reading an export with the standard library, and scores of raw output."""

import json
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyarrow import parquet

from reviews.exports import formats
from reviews.records.schema import FIELDS
from tests.recipes.conftest import KEYS, PARTS, SCORES, Exports, Load, records_of, run_recipe

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestStandardLibrary:
    def test_recipe_lists_every_field(self, load: Load) -> None:
        assert sorted(load("exported").COLUMNS) == sorted(FIELDS)

    def test_recipe_reads_each_record_unchanged(self, load: Load, exports: Exports) -> None:
        assert list(load("exported").records(exports["jsonl"])) == records_of(exports["jsonl"])

    def test_recipe_rows_equal_those_of_parquet(self, load: Load, exports: Exports) -> None:
        exported = load("exported")
        rows = [exported.row(record) for record in exported.records(exports["jsonl"])]
        expected = parquet.read_table(exports["parquet"]).drop_columns(["scores", "task_context"]).to_pylist()
        assert [*map(alike, rows)] == [*map(alike, expected)]

    def test_recipe_pairs_scores_of_judge_and_human(self, load: Load, exports: Exports) -> None:
        exported = load("exported")
        rows = [one for record in exported.records(exports["jsonl"]) for one in exported.scores(record)]
        assert [tuple(one.values()) for one in rows[: len(SCORES)]] == SCORES
        assert {*rows[0]} == {*KEYS, *PARTS}

    def test_recipe_accepts_scores_of_any_shape(self, load: Load) -> None:
        record = {"evaluation_id": "a", "parsed_rubric_scores": {}, "human_corrected_scores": {"Odd": "Yes"}}
        [row] = load("exported").scores(record)
        assert (row["criterion"], row["judge"], row["human"]) == ("Odd", None, "Yes")

    def test_recipe_prints_agreement(self, exports: Exports) -> None:
        printed = run_recipe("exported", exports["jsonl"])
        assert printed.splitlines()[:3] == ["Clarity: 1 of 2", "Depth: 1 of 1", "Safety: 0 of 0"]


def alike(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with parsed JSON and times as text, which are equal in both formats."""
    return {name: read(name, value) for name, value in row.items()}


def read(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"
    return json.loads(value) if name in formats._JSON_FIELDS and isinstance(value, str) else value


def test_extracted_scores_equal_those_of_parquet(load: Load, sample: Exports) -> None:
    exported = load("exported")
    rows = [tuple(one.values()) for one in all_scores(exported, sample["jsonl"])]
    table = parquet.read_table(sample["parquet"], columns=[*KEYS, "scores"]).to_pylist()
    expected = [
        (*(row[key] for key in KEYS), *(one[part] for part in PARTS))
        for row in table
        for one in row["scores"]
    ]
    assert rows == expected


def all_scores(exported: ModuleType, path: Path) -> list[dict[str, Any]]:
    return [one for record in exported.records(path) for one in exported.scores(record)]


def test_recipe_without_the_package_warns_of_missing_scores(
    load: Load, sample: Exports, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = load("exported")
    monkeypatch.setattr(exported, "extract_scores", None)
    with pytest.warns(UserWarning, match="install the package cognireview"):
        assert [one for one in all_scores(exported, sample["jsonl"]) if one["judge"]] == []
