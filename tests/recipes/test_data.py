"""The documented recipes for reading an export keep all types, and compare judge and human scores."""

import importlib
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from django.db import transaction
from pyarrow import parquet

from cognireview.environment import BASE_DIR
from reviews.exports import formats
from reviews.models import Evaluation
from reviews.records.schema import FIELDS
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.samples import CRITERIA, generated
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

RECIPES = BASE_DIR / "docs" / "recipes"
NOT_HERE = "heavy, and so only with `uv run --group recipes pytest tests/recipes`"
LIBRARIES = ("pandas", "polars", "datasets")
KEYS = ("evaluation_id", "task_id", "model_id")
PARTS = ("criterion", "judge", "judge_justification", "human", "human_justification")
Exports = dict[str, Path]
Load = Callable[[str], ModuleType]

# For each criterion: the agreement of judge and human, and the number of pairs.
AGREEMENT = {"Clarity": (0.5, 2), "Depth": (1.0, 1), "Safety": (None, 0)}
JUDGED = {"Clarity": {"score": "Yes", "justification": "It is."}, "Depth": {"score": 3}}


def score(value: Any) -> dict[str, Any]:
    return {"score": value, "justification": "Because é."}


LINES = file_of(
    line("disagreed", parsed_rubric_scores=JUDGED, task_id=5500, structured_model_response="-1"),
    line("agreed", parsed_rubric_scores={"Clarity": {"score": "Yes"}}, task_id="0550"),
    line("other criteria", parsed_rubric_scores={"Safety": {"score": True}}, task_id=None),
    line(
        "no criteria",
        parsed_rubric_scores={},
        raw_judge_output={},
        task_id=...,
        structured_model_response=...,
    ),
    b"",
    line("20250412", task_id=b"12345678901234567890123", model_id="NA", final_answer_verified=None),
    # After the first lines, from which libraries infer types.
    *(line(f"another {number}", human_review_comments="2025-04-12") for number in range(150)),
    line(
        "last", structured_model_response='{"a": 1}', verification_message="", review_reasons=[], x=[1, "2"]
    ),
)


@pytest.fixture(scope="module")
def exports(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Exports:
    """A run with two decisions, exported in each format."""
    folder = tmp_path_factory.mktemp("exports")
    with django_db_blocker.unblock(), transaction.atomic():
        import_data(LINES)
        ana = UserFactory.create(username="ana", role="reviewer")
        of_disagreed = {"Clarity": score("No"), "Depth": score(3)}
        for key, scores in (("disagreed", of_disagreed), ("agreed", {"Clarity": score("Yes")})):
            origins = dict.fromkeys(scores, "human")
            decide(Evaluation.objects.get(evaluation_id=key), ana, scores=scores, origins=origins)
        data = export_data()
        transaction.set_rollback(True)
    paths = {name: folder / f"evaluations.{name}" for name in formats.ENDINGS}
    for name, path in paths.items():
        path.write_bytes(b"".join(formats.convert([data], name)))
    return paths


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Load:
    """Load a recipe by its name. The cache of `datasets` is temporary."""
    monkeypatch.syspath_prepend(str(RECIPES))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def load_recipe(name: str) -> ModuleType:
        if name.startswith("with_"):
            library = pytest.importorskip(name.removeprefix("with_"), reason=NOT_HERE)
            if name == "with_datasets":
                monkeypatch.setattr(library.config, "HF_DATASETS_CACHE", tmp_path / "cache")
                library.disable_progress_bars()
        return importlib.import_module(name)

    return load_recipe


# Rows of a table of each library, nulls as None.
ROWS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "pandas": lambda table: pa.Table.from_pandas(table, preserve_index=False).to_pylist(),
    "polars": lambda table: table.to_dicts(),
    "datasets": lambda table: table.to_list(),
}
SCORES = [
    ("disagreed", "5500", "openai/o4-mini", "Clarity", "Yes", "It is.", "No", "Because é."),
    ("disagreed", "5500", "openai/o4-mini", "Depth", "3", None, "3", "Because é."),
    ("agreed", "0550", "openai/o4-mini", "Clarity", "Yes", None, "Yes", "Because é."),
    ("other criteria", None, "openai/o4-mini", "Safety", "true", None, None, None),
]


def records_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in path.read_bytes().split(b"\n") if one]


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
        printed = run("exported", exports["jsonl"])
        assert printed.splitlines()[:3] == ["Clarity: 1 of 2", "Depth: 1 of 1", "Safety: 0 of 0"]


def alike(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with parsed JSON and times as text, which are equal in both formats."""
    return {name: read(name, value) for name, value in row.items()}


def read(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S.%f}Z"
    return json.loads(value) if name in formats._JSON_FIELDS and isinstance(value, str) else value


@pytest.mark.parametrize("library", LIBRARIES)
class TestLibrary:
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


@pytest.mark.parametrize("library", ["polars", "datasets"])
def test_jsonl_is_read_with_declared_types(library: str, load: Load, exports: Exports) -> None:
    exported, table = load("exported"), load(f"with_{library}").from_jsonl(exports["jsonl"])
    expected = [exported.row(record) for record in exported.records(exports["jsonl"])]
    assert ROWS[library](table) == expected


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_recipe_shows_scores_extracted_from_raw_output(library: str, load: Load, tmp_path: Path) -> None:
    load(f"with_{library}")
    path = tmp_path / "sample.parquet"
    path.write_bytes(b"".join(formats.convert([generated()], "parquet")))
    printed = run(f"with_{library}", path)
    assert [name for name in CRITERIA if name[:20] not in printed] == []


@pytest.fixture
def sample(tmp_path: Path) -> Exports:
    """The sample of generated records, whose scores the pipeline could not parse."""
    paths = {name: tmp_path / f"sample.{name}" for name in ("jsonl", "parquet")}
    for name, path in paths.items():
        path.write_bytes(b"".join(formats.convert([generated()], name)))
    return paths


@pytest.mark.parametrize("library", LIBRARIES)
def test_scores_extracted_from_raw_output_are_the_same_in_jsonl_and_parquet(
    library: str, load: Load, sample: Exports
) -> None:
    recipe, rows = load(f"with_{library}"), ROWS[library]
    of_lines = rows(recipe.scores_from_jsonl(sample["jsonl"]))
    assert of_lines == rows(recipe.scores(recipe.from_parquet(sample["parquet"])))
    assert {row["criterion"] for row in of_lines if row["judge"]} >= {*CRITERIA}


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


class TestPandas:
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


class TestPolars:
    def test_polars_recipe_computes_agreement(self, load: Load, exports: Exports) -> None:
        recipe = load("with_polars")
        found = recipe.agreement(recipe.scores(recipe.from_parquet(exports["parquet"])))
        assert {name: (mean, count) for name, mean, count in found.iter_rows()} == AGREEMENT


class TestDatasets:
    def test_datasets_recipe_computes_agreement(self, load: Load, exports: Exports) -> None:
        recipe = load("with_datasets")
        assert recipe.agreement(recipe.scores(recipe.from_parquet(exports["parquet"]))) == (2, 3)


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

    def test_datasets_converts_texts_to_numbers_despite_features(self, load: Load, tmp_path: Path) -> None:
        load("with_datasets")
        datasets, path = importlib.import_module("datasets"), tmp_path / "two.jsonl"
        path.write_bytes(file_of(line("1", structured_model_response="-1"), line("2")))
        features = {name: datasets.Json() for name in records_of(path)[0]}
        options: dict[str, Any] = {"data_files": str(path), "split": "train"}
        for given in (None, datasets.Features(features)):
            read = datasets.load_dataset("json", features=given, **options)
            assert read[0]["structured_model_response"] == -1


def run(name: str, *arguments: object) -> str:
    """Run a recipe in a process and return its output."""
    done = subprocess.run(
        [sys.executable, RECIPES / f"{name}.py", *map(str, arguments)],
        env={"PATH": os.environ["PATH"], "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
