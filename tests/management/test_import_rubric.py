"""`manage.py import_run --rubric`, and the rubric of a mapping."""

from pathlib import Path

import pytest

from reviews.models import Run
from reviews.records.rubric import Criterion, Rubric, VerdictRule
from reviews.records.rubric_file import format_rubric
from reviews.records.scales import RangeScale
from reviews.rubric.run_rubric import run_rubric
from tests.support.commands import Capture, manage
from tests.support.lines import file_of, line

pytestmark = pytest.mark.django_db
TEN = RangeScale(1, 10, pass_from=7)
DECLARED = Rubric((Criterion("rigor"),), TEN, VerdictRule("worst"))
MAPPING = """
inherit = true
[fields]
evaluation_id = "evaluation_id"
judge_llm_model = "judge_llm_model"
judge_prompt_template_path = "judge_prompt_template_path"
created_at = "created_at"
[rubric.scale]
kind = "integer"
min = 1
max = 10
pass_from = 7
"""


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "judged.jsonl"
    scores = {"rigor": {"score": 9, "justification": "Sound."}}
    path.write_bytes(file_of(line("eval_a", parsed_rubric_scores=scores, aggregated_score=None)))
    return str(path)


def written(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


def test_rubric_of_a_file_is_declared_and_not_inferred(
    capfdbinary: Capture, tmp_path: Path, data: str
) -> None:
    rubric = written(tmp_path / "rubric.toml", format_rubric(DECLARED))
    assert manage(capfdbinary, "import_run", data, "--rubric", rubric).status == 0
    run = Run.objects.get()
    assert run.is_rubric_declared
    assert run_rubric(run) == DECLARED


def test_run_without_a_rubric_gets_an_inferred_one(capfdbinary: Capture, data: str) -> None:
    manage(capfdbinary, "import_run", data)
    run = Run.objects.get()
    assert not run.is_rubric_declared
    assert run_rubric(run).scale_of("rigor") == RangeScale(1, 10)


def test_invalid_rubric_imports_nothing(capfdbinary: Capture, tmp_path: Path, data: str) -> None:
    rubric = written(tmp_path / "rubric.toml", 'verdict = "best"\n[scale]\nkind = "integer"\nmin = 1')
    finished = manage(capfdbinary, "import_run", data, "--rubric", rubric)
    assert finished.status == 2
    assert "verdict.rule: This must be one of worst, mean, weighted, none." in finished.err
    assert "scale.max: This is missing." in finished.err
    assert not Run.objects.exists()


def test_mapping_brings_its_rubric(capfdbinary: Capture, tmp_path: Path, data: str) -> None:
    mapping = written(tmp_path / "mapping.toml", MAPPING)
    assert manage(capfdbinary, "import_run", data, "--map", mapping).status == 0
    run = Run.objects.get()
    assert run.is_rubric_declared
    assert run_rubric(run).scale == TEN


def test_given_rubric_replaces_that_of_the_mapping(capfdbinary: Capture, tmp_path: Path, data: str) -> None:
    mapping = written(tmp_path / "mapping.toml", MAPPING)
    rubric = written(tmp_path / "rubric.toml", format_rubric(DECLARED))
    assert manage(capfdbinary, "import_run", data, "--map", mapping, "--rubric", rubric).status == 0
    assert run_rubric(Run.objects.get()) == DECLARED


def test_invalid_rubric_of_a_mapping_names_its_place(capfdbinary: Capture, tmp_path: Path, data: str) -> None:
    mapping = written(tmp_path / "mapping.toml", MAPPING.replace("max = 10\n", ""))
    finished = manage(capfdbinary, "import_run", data, "--map", mapping)
    assert finished.status == 2
    assert "rubric.scale.max: This is missing." in finished.err
