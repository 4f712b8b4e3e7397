"""The documented recipes for reading an export with pandas and polars keep all types, and compare scores."""

import importlib
import json
import runpy
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from reviews.exports import formats
from tests.recipes.conftest import RECIPES, SCORES, Exports, Load, records_of, run_recipe
from tests.support.lines import file_of, line
from tests.support.samples import CRITERIA, generated

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# For each criterion: the agreement of judge and human, and the number of pairs.
AGREEMENT = {"Clarity": (0.5, 2), "Depth": (1.0, 1), "Safety": (None, 0)}
# Rows of a table of each library, nulls as None.
ROWS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "pandas": lambda table: pa.Table.from_pandas(table, preserve_index=False).to_pylist(),
    "polars": lambda table: table.to_dicts(),
    "datasets": lambda table: table.to_list(),
}


class LibraryTests:
    """Tests of the recipe for a library."""

    #: The name of the library.
    name: str

    @pytest.fixture
    def library(self) -> str:
        return self.name

    def test_parquet_is_read_with_its_types(self, library: str, load: Load, exports: Exports) -> None:
        table = load(f"with_{library}").from_parquet(exports["parquet"])
        rows = ROWS[library](table)
        assert rows == parquet.read_table(exports["parquet"]).to_pylist()
        by_id = {row["evaluation_id"]: row for row in rows}
        assert [by_id[key]["task_id"] for key in ("disagreed", "agreed", "other criteria", "20250412")] == [
            "5500",
            "0550",
            None,
            "12345678901234567890123",
        ]
        assert by_id["disagreed"]["created_at"] == datetime(2025, 4, 12, 1, 55, 23, 111185, tzinfo=UTC)
        assert (by_id["20250412"]["model_id"], by_id["20250412"]["final_answer_verified"]) == ("NA", None)
        assert (by_id["last"]["verification_message"], by_id["last"]["review_reasons"]) == ("", [])
        structured = (by_id[key]["structured_model_response"] for key in ("disagreed", "agreed", "last"))
        assert [*map(json.loads, structured)] == ["-1", {"final_answer": "1/2"}, '{"a": 1}']

    def test_replaced_file_is_read_again(
        self, library: str, load: Load, exports: Exports, tmp_path: Path
    ) -> None:
        recipe, path = load(f"with_{library}"), tmp_path / "latest.parquet"
        shutil.copy(exports["parquet"], path)
        assert len(recipe.from_parquet(path)) == len(records_of(exports["jsonl"]))
        path.write_bytes(b"".join(formats.convert([file_of(line())], "parquet")))
        assert len(recipe.from_parquet(path)) == 1

    def test_scores_of_parquet_and_jsonl_are_the_same_rows(
        self, library: str, load: Load, exports: Exports
    ) -> None:
        recipe, rows = load(f"with_{library}"), ROWS[library]
        of_table = rows(recipe.scores(recipe.from_parquet(exports["parquet"])))
        assert [tuple(one.values()) for one in of_table[: len(SCORES)]] == SCORES
        assert of_table == rows(recipe.scores_from_jsonl(exports["jsonl"]))

    def test_run_without_scores_has_no_score_rows(self, library: str, load: Load, tmp_path: Path) -> None:
        recipe, path = load(f"with_{library}"), tmp_path / "none.parquet"
        path.write_bytes(
            b"".join(formats.convert([line(parsed_rubric_scores={}, raw_judge_output={})], "parquet"))
        )
        assert len(recipe.scores(recipe.from_parquet(path))) == 0

    def test_recipe_prints_the_same_for_parquet_and_jsonl(
        self,
        library: str,
        load: Load,
        exports: Exports,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        recipe = f"with_{library}"
        load(recipe)
        printed = []
        for ending in ("parquet", "jsonl"):
            # Not in a process, which would import the library again.
            monkeypatch.setattr(sys, "argv", [recipe, str(exports[ending])])
            runpy.run_path(str(RECIPES / f"{recipe}.py"), run_name="__main__")
            printed.append(capsys.readouterr().out)
        of_parquet, of_jsonl = printed
        assert "Clarity" in of_parquet or "2 of 3" in of_parquet
        assert of_jsonl == of_parquet

    def test_scores_extracted_from_raw_output_are_the_same_in_jsonl_and_parquet(
        self, library: str, load: Load, sample: Exports
    ) -> None:
        recipe, rows = load(f"with_{library}"), ROWS[library]
        of_lines = rows(recipe.scores_from_jsonl(sample["jsonl"]))
        assert of_lines == rows(recipe.scores(recipe.from_parquet(sample["parquet"])))
        assert {row["criterion"] for row in of_lines if row["judge"]} >= {*CRITERIA}


class TypedLibraryTests(LibraryTests):
    """Tests of the recipe for a library that reads JSONL with declared types."""

    def test_jsonl_is_read_with_declared_types(self, library: str, load: Load, exports: Exports) -> None:
        exported, table = load("exported"), load(f"with_{library}").from_jsonl(exports["jsonl"])
        expected = [exported.row(record) for record in exported.records(exports["jsonl"])]
        assert ROWS[library](table) == expected


class TestPandas(LibraryTests):
    name = "pandas"

    def test_pandas_reads_jsonl_values_unchanged(self, load: Load, exports: Exports) -> None:
        table = load("with_pandas").from_jsonl(exports["jsonl"])
        rows = [
            {name: value for name, value in row.items() if not (isinstance(value, float) and isnan(value))}
            for row in table.to_dict("records")
        ]
        assert rows == records_of(exports["jsonl"])

    def test_pandas_recipe_computes_agreement(self, load: Load, exports: Exports) -> None:
        recipe = load("with_pandas")
        found = recipe.agreement(recipe.scores(recipe.from_parquet(exports["parquet"])))
        isna = importlib.import_module("pandas").isna
        rows = {
            name: (None if isna(row["mean"]) else row["mean"], row["count"]) for name, row in found.iterrows()
        }
        assert rows == AGREEMENT


class TestPolars(TypedLibraryTests):
    name = "polars"

    def test_polars_recipe_computes_agreement(self, load: Load, exports: Exports) -> None:
        recipe = load("with_polars")
        found = recipe.agreement(recipe.scores(recipe.from_parquet(exports["parquet"])))
        assert {name: (mean, count) for name, mean, count in found.iter_rows()} == AGREEMENT


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_recipe_shows_scores_extracted_from_raw_output(library: str, load: Load, tmp_path: Path) -> None:
    load(f"with_{library}")
    path = tmp_path / "sample.parquet"
    path.write_bytes(b"".join(formats.convert([generated()], "parquet")))
    printed = run_recipe(f"with_{library}", path)
    assert [name for name in CRITERIA if name[:20] not in printed] == []


class TestDocumentedTraps:
    """If one of these no longer fails, remove its warning from the page."""

    def test_pandas_converts_texts_to_numbers_and_dates(self, load: Load, tmp_path: Path) -> None:
        load("with_pandas")
        pandas, path = importlib.import_module("pandas"), tmp_path / "two.jsonl"
        path.write_bytes(file_of(line("1", task_id="0550"), line("2", task_id=None, model_id="NA")))
        read = pandas.read_json(path, lines=True)
        assert read["task_id"][0] == 550.0
        assert [*read["evaluation_id"]] == [1, 2]
        table = tmp_path / "two.csv"
        table.write_bytes(b"".join(formats.convert([path.read_bytes()], "csv")))
        assert pandas.isna(pandas.read_csv(table)["model_id"][1])
        assert [*pandas.read_csv(table)["evaluation_id"]] == [1, 2]

    def test_csv_is_read_as_text_on_request(self, load: Load, exports: Exports) -> None:
        for library in ("pandas", "polars"):
            load(f"with_{library}")
        pandas, polars = (importlib.import_module(library) for library in ("pandas", "polars"))
        by_pandas = pandas.read_csv(exports["csv"], dtype="string", keep_default_na=False)
        by_polars = polars.read_csv(exports["csv"], infer_schema=False)
        for column in ("evaluation_id", "task_id", "model_id", "verification_message"):
            expected = [row[column] for row in parquet.read_table(exports["parquet"]).to_pylist()]
            assert by_polars[column].to_list() == expected
            assert [*by_pandas[column]] == [value or "" for value in expected]

    def test_pandas_rejects_numbers_over_64_bits(self, load: Load, exports: Exports) -> None:
        load("with_pandas")
        with pytest.raises(ValueError, match="too big"):
            importlib.import_module("pandas").read_json(exports["jsonl"], lines=True)

    def test_polars_infers_types_from_the_first_lines(self, load: Load, tmp_path: Path) -> None:
        load("with_polars")
        polars, path = importlib.import_module("polars"), tmp_path / "mixed.jsonl"
        lines = [line(str(number), task_id=number, response_id=None) for number in range(150)]
        path.write_bytes(file_of(*lines, line("text", task_id="T-1")))
        with pytest.raises(polars.exceptions.ComputeError):
            polars.read_ndjson(path)
