"""Files that other tools write here are recognised, imported, reviewed, exported and verified.

Too slow for the suite, since it installs the tools: `pytest tests/tools`.
"""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from reviews.models import Evaluation, User
from reviews.storage.zip_archive import SIGNATURE, ZipArchive
from tests.support import judge_files
from tests.support.api_requests import Program, path_of, program_of
from tests.support.commands import Capture, manage
from tests.tools.installed import WRITERS, NpmInstall, run, write_files
from tests.tools.versions import VERSIONS

pytestmark = pytest.mark.django_db

_PROMPTFOO = {
    "prompts": ["Q: {{question}}", {"id": "polite", "label": "polite", "raw": "Please: {{question}}"}],
    "providers": [{"id": "echo", "label": "parrot"}],
    "tests": [
        {
            "vars": {"question": "Which city is the capital of France? Is it Paris or “Rome”?"},
            "assert": [
                {"type": "contains", "value": "Paris", "metric": "names the capital"},
                {"type": "javascript", "value": "({pass: true, score: 0.5, reason: 'Half'})"},
            ],
        },
        {"vars": {"question": "What is 2 + 3?"}, "assert": [{"type": "equals", "value": "5"}]},
    ],
}
# The dummy model says "lol", and finds choices likely by chance.
_SAMPLES = (
    {
        "question": "What is the capital of France?",
        "answer": "Paris",
        "choices": ["Paris", "Rome"],
        "gold": 0,
    },
    {"question": "What does the parrot say?", "answer": "lol", "choices": ["lol", "no"], "gold": 0},
    {"question": "How is “naïve” spelt?", "answer": "naïve", "choices": ["naive", "naïve"], "gold": 1},
)
_GENERATE = {
    "task": "capitals",
    "output_type": "generate_until",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"until": ["\n"]},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
}
_CHOOSE = {
    "task": "choices",
    "output_type": "multiple_choice",
    "doc_to_choice": "{{choices}}",
    "doc_to_target": "{{gold}}",
    "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
}


def write_promptfoo(version: str, folder: Path, npm: NpmInstall) -> None:
    (folder / "promptfooconfig.json").write_text(json.dumps(_PROMPTFOO))
    outputs = ["--output", "results.json", "--output", "results.jsonl"]
    command = [*npm.program(version), "eval", "--config", "promptfooconfig.json", "--no-cache", *outputs]
    run(command, folder, PROMPTFOO_CONFIG_DIR=str(folder / "home"), PROMPTFOO_FAILED_TEST_EXIT_CODE="0")


def write_lm_eval(version: str, folder: Path, npm: NpmInstall) -> None:
    data = folder / "samples.data"
    data.write_text("".join(json.dumps(sample) + "\n" for sample in _SAMPLES))
    for task in (_GENERATE, _CHOOSE):
        source = {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}}}
        more = {"test_split": "test", "doc_to_text": "Q: {{question}}\nA:"}
        (folder / f"{task['task']}.yaml").write_text(json.dumps(task | source | more))
    tasks = ["--include_path", ".", "--tasks", "capitals,choices"]
    options = ["--model", "dummy", *tasks, "--log_samples", "--output_path", "results"]
    write_files("lm-eval", version, ["python", str(WRITERS / "write_lm_eval.py"), *options], folder)


def write_inspect(version: str, folder: Path, npm: NpmInstall) -> None:
    write_files("inspect-ai", version, ["python", str(WRITERS / "write_inspect.py"), "logs"], folder)


def write_deepeval(version: str, folder: Path, npm: NpmInstall) -> None:
    write_files("deepeval", version, ["python", str(WRITERS / "write_deepeval.py"), "."], folder)


WRITE: dict[str, Callable[[str, Path, NpmInstall], None]] = {
    # promptfoo comes last, because npm installs it meanwhile.
    "inspect-ai": write_inspect,
    "lm-eval": write_lm_eval,
    "deepeval": write_deepeval,
    "promptfoo": write_promptfoo,
}
# The files that a tool writes.
PATTERNS = {
    "inspect-ai": ("logs/*.json", "logs/*.eval"),
    "lm-eval": ("results/*/samples_capitals_*.jsonl", "results/*/samples_choices_*.jsonl"),
    "deepeval": ("test_run_*.json", "results.jsonl"),
    "promptfoo": ("results.json", "results.jsonl"),
}
OWN = {
    "mt-bench": ("gpt-4_single.jsonl", judge_files.mt_bench_lines),
    "mt-bench-pair": ("gpt-4_pair.jsonl", judge_files.mt_bench_pair_lines),
    "alpaca-eval": ("annotations.json", judge_files.alpaca_eval_array),
}


@pytest.fixture(params=[(tool, version) for tool in WRITE for version in VERSIONS[tool]], ids=" ".join)
def written(request: pytest.FixtureRequest, npm: NpmInstall, tmp_path: Path) -> tuple[str, list[Path]]:
    """The name of a tool, and the files that a version of it has written."""
    tool, version = request.param
    WRITE[tool](version, tmp_path, npm)
    return tool, [next(tmp_path.glob(pattern)) for pattern in PATTERNS[tool]]


def test_files_of_a_tool_go_in_and_out(
    written: tuple[str, list[Path]], capsysbinary: Capture, max: User
) -> None:
    tool, paths = written
    for path in paths:
        check_file(path, tool, capsysbinary, program_of(max))


@pytest.mark.parametrize("name", OWN)
def test_files_in_the_shape_of_a_tool_go_in_and_out(
    name: str, tmp_path: Path, capsysbinary: Capture, max: User
) -> None:
    file_name, content = OWN[name]
    path = tmp_path / file_name
    path.write_bytes(content())
    check_file(path, name, capsysbinary, program_of(max))


def check_file(path: Path, tool: str, capture: Capture, program: Program) -> None:
    """Import a file as its refusal says, review one record, export the run, and compare the files."""
    name = recognised_name(path, capture)
    assert name.startswith(tool)
    source = ("--run", path.name, "--map", name)
    imported = manage(capture, "import_run", str(path), *source, "--json")
    assert imported.status == 0, imported
    counts = json.loads(imported.out)
    assert counts["new"] > 1
    check_evidence(path.name)
    assert contents(export(path, capture)) == contents(path.read_bytes())

    criterion, score = review_one(path.name, program)
    exported = path.with_name(f"exported-{path.name}")
    exported.write_bytes(export(path, capture))
    verified = manage(capture, "verify_export", str(path), str(exported), "--map", name)
    assert verified.status == 0, verified
    inserted = insertion(contents(path.read_bytes()), contents(exported.read_bytes()))
    assert inserted.count(b'"human_corrected_scores"') == 1
    decided = json.loads(b"{" + inserted.strip(b", \n") + b"}")["human_corrected_scores"]
    assert decided[criterion]["score"] == score
    assert type(decided[criterion]["score"]) is type(score)


def recognised_name(path: Path, capture: Capture) -> str:
    """Return the mapping that the import without one names."""
    refused = manage(capture, "import_run", str(path))
    assert refused.status == 2, refused
    return refused.err.rpartition("--map ")[2].strip()


def check_evidence(run: str) -> None:
    """Every record has a question, something to judge, and a score."""
    for record in Evaluation.objects.filter(run__name=run):
        context = record.task_context or {}
        assert context.get("prompt") or context.get("conversation")
    assert Evaluation.objects.filter(run__name=run).exclude(parsed_rubric_scores={}).exists()


def export(path: Path, capture: Capture) -> bytes:
    exported = manage(capture, "export_run", path.name)
    assert exported.status == 0, exported
    return exported.out


def review_one(run: str, program: Program) -> tuple[str, Any]:
    """Review the first record that needs it over the API. Return a criterion and its corrected score."""
    waiting = Evaluation.objects.filter(run__name=run, human_review_status="Needs Review")
    record = waiting.exclude(parsed_rubric_scores={}).order_by("pk").first()
    assert record is not None
    scores = {name: score["score"] for name, score in record.parsed_rubric_scores.items()}
    criterion, judged = next(iter(scores.items()))
    scores[criterion] = corrected(judged)
    entries = {name: {"score": score, "justification": "Checked."} for name, score in scores.items()}
    sent = {"corrected_scores": entries}
    answer = program.ask("PUT", path_of(record, "review"), sent, Idempotency_Key=str(uuid4()))
    assert answer.status_code == 200, answer.content
    return criterion, scores[criterion]


_OTHERS = {"C": "I", "I": "C", "model_1": "model_2", "model_2": "model_1", "tie": "model_1", "error": "tie"}


def corrected(score: Any) -> Any:
    """Return another score of the same type. No record has it if it is a number."""
    if isinstance(score, bool):
        return not score
    if isinstance(score, str):
        return _OTHERS[score]
    if isinstance(score, int):
        return 5
    return 1.25 if score > 1 else 0.25


def contents(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive by name, or the file itself."""
    if not data.startswith(SIGNATURE):
        return {"": data}
    with closing(ZipArchive([data], most=2**30)) as archive:
        return {name: b"".join(archive.content(info)) for name, info in archive.files.items()}


def insertion(original: dict[str, bytes], exported: dict[str, bytes]) -> bytes:
    """Return the one part of one file that the export has and the original has not."""
    assert list(original) == list(exported)
    [name] = [name for name in original if original[name] != exported[name]]
    before, after = original[name], exported[name]
    size = len(after) - len(before)
    start = next((at for at in range(len(before)) if before[at] != after[at]), len(before))
    assert after[:start] + after[start + size :] == before
    return after[start : start + size]
