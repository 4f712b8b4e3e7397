"""The documented recipe for reading an export with `datasets` keeps all types, and compares scores."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.recipes.conftest import Exports, Load, records_of
from tests.recipes.test_libraries import TypedLibraryTests
from tests.support.lines import file_of, line

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestDatasets(TypedLibraryTests):
    name = "datasets"

    def test_datasets_recipe_computes_agreement(self, load: Load, exports: Exports) -> None:
        recipe = load("with_datasets")
        assert recipe.agreement(recipe.scores(recipe.from_parquet(exports["parquet"]))) == (2, 3)

    def test_datasets_converts_texts_to_numbers_despite_features(self, load: Load, tmp_path: Path) -> None:
        """If this no longer fails, remove the warning from the page."""
        load("with_datasets")
        datasets, path = importlib.import_module("datasets"), tmp_path / "two.jsonl"
        path.write_bytes(file_of(line("1", structured_model_response="-1"), line("2")))
        features = {name: datasets.Json() for name in records_of(path)[0]}
        options: dict[str, Any] = {"data_files": str(path), "split": "train"}
        for given in (None, datasets.Features(features)):
            read = datasets.load_dataset("json", features=given, **options)
            assert read[0]["structured_model_response"] == -1
