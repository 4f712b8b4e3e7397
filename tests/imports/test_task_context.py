"""Imports of task context: valid tasks are imported, invalid entries reported."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard
from django.conf import settings

from reviews.imports import task_context
from reviews.models import AuditEvent, ContextImport, TaskAnswer, TaskContext, User
from reviews.storage.errors import ImportRefused
from tests.support.commands import manage
from tests.support.contexts import bring, bring_file, task
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db

ANSWER = {"model_id": "o1", "response_text": "It is 54."}


def counts(done: ContextImport) -> tuple[int, int, int]:
    return done.tasks, done.answers, done.rejected_count


class TestFile:
    @pytest.mark.parametrize(
        "packed",
        [
            lambda tasks: json.dumps(tasks, indent=2).encode(),
            lambda tasks: b"\n".join(json.dumps(one).encode() for one in tasks),
            lambda tasks: gzip.compress(json.dumps(tasks).encode()),
            lambda tasks: zstandard.compress(b"\n".join(json.dumps(one).encode() for one in tasks)),
        ],
        ids=["array", "JSONL", "array in gzip", "JSONL in zstd"],
    )
    def test_context_file_may_be_an_array_or_lines(self, packed: Any) -> None:
        done = bring_file(packed([task(model_responses=[ANSWER]), task(task_id="8")]))
        assert counts(done) == (2, 1, 0)
        assert list(TaskContext.objects.order_by("task_id").values_list("task_id", flat=True)) == ["7", "8"]
        assert TaskAnswer.objects.get().response == "It is 54."

    def test_context_file_imported_again_changes_nothing(self) -> None:
        for _ in range(2):
            bring(task(model_responses=[ANSWER]))
        assert (TaskContext.objects.count(), TaskAnswer.objects.count()) == (1, 1)

    def test_later_context_file_replaces_whole_tasks(self) -> None:
        bring(task(model_responses=[ANSWER]))
        bring(task(prompt="Why?", ideal_response=..., model_responses=[{**ANSWER, "model_id": "o3"}]))
        found = TaskContext.objects.get()
        assert (found.prompt, found.ideal_response) == ("Why?", None)
        assert TaskAnswer.objects.get().model_id == "o3"

    def test_context_file_for_one_run_leaves_other_context(self) -> None:
        run = RunFactory.create(name="algebra")
        bring(task())
        bring(task(prompt="Why?"), run="algebra")
        assert TaskContext.objects.get(run=None).prompt != TaskContext.objects.get(run=run).prompt

    def test_context_file_for_an_unknown_run_is_refused(self) -> None:
        with pytest.raises(ImportRefused, match="no run named 'algebra'"):
            bring(task(), run="algebra")

    @pytest.mark.parametrize("data", [b"", b"[]", b" \n"])
    def test_context_file_without_tasks_is_refused(self, data: bytes) -> None:
        with pytest.raises(ImportRefused, match="has no tasks"):
            bring_file(data)
        assert not ContextImport.objects.exists()

    def test_context_import_leaves_an_audit_event(self, max: User) -> None:
        done = bring(task(model_responses=[ANSWER]), b"{}", actor=max)
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.detail["sha256"]) == ("import context", max, done.sha256)
        assert event.detail["counts"] == {"tasks": 1, "answers": 1, "rejected": 1}

    def test_context_file_is_written_in_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(task_context, "_BATCH", 300)
        done = bring(*(task(task_id=number) for number in range(10)), task(task_id=0))
        assert counts(done) == (10, 0, 1)
        assert done.rejected == [{"place": 11, "field": "task_id", "reason": "repeats '0'"}]


class TestTask:
    @pytest.mark.parametrize(
        ("spelled", "task_id"), [(b"5500", "5500"), (b"1.50", "1.50"), (b'"x"', "x"), (b"1" * 30, "1" * 30)]
    )
    def test_task_id_keeps_its_spelling(self, spelled: bytes, task_id: str) -> None:
        bring(b'{"prompt": "Why?", "task_id": %b}' % spelled)
        assert TaskContext.objects.get().task_id == task_id

    def test_task_with_unstorable_values_is_kept_escaped(self) -> None:
        bring(b'{"task_id": 1, "prompt": "a\\u0000b", "final_answer": 1e400}')
        found = TaskContext.objects.get()
        assert (found.prompt, found.final_answer) == ("a\ufffdb", "1e400")

    @pytest.mark.parametrize(
        ("entry", "field", "reason"),
        [
            (b"no json", "", "is not JSON"),
            (b"[1]", "", "is not a JSON object but an array"),
            (b"[" * 300 + b"]" * 300, "", "is not a JSON object"),
            (task(metadata={"a": json.loads("[" * 210 + "]" * 210)}), "", "is nested deeper than 200"),
            (b'{"task_id": 1, "prompt": "\\ud800"}', "", "half a surrogate pair"),
            (b'{"task_id": 1, "prompt": NaN}', "", "NaN"),
            (task(task_id=...), "task_id", "is missing"),
            (task(task_id=""), "task_id", "is empty"),
            (task(task_id=True), "task_id", "is a boolean"),
            (task(task_id="x" * 600), "task_id", "longer than 512 bytes"),
            (task(prompt=...), "prompt", "is missing"),
            (task(prompt=None), "prompt", "is null, but the field is required"),
            (
                task(prompt=..., task_id=None, model_responses=["54", {"response_id": "1"}]),
                "task_id",
                "also missing: prompt, model_responses[1].model_id, model_responses[1].response_text",
            ),
            (task(prompt=["Why?"]), "prompt", "is an array"),
            (task(ideal_response=3), "ideal_response", "is a number"),
            (task(metadata="none"), "metadata", "is a string"),
            (task(model_responses={}), "model_responses", "is an object"),
            (task(model_responses=["54"]), "model_responses[0]", "is a string"),
            (task(model_responses=[{"response_text": "54"}]), "model_responses[0].model_id", "is missing"),
            (task(model_responses=[{"model_id": "o1"}]), "model_responses[0].response_text", "is missing"),
            (
                task(model_responses=[ANSWER, ANSWER | {"response_text": "It is 55."}]),
                "model_responses[1].model_id",
                "is 'o1' again",
            ),
        ],
    )
    def test_invalid_task_is_named_and_others_are_imported(self, entry: Any, field: str, reason: str) -> None:
        done = bring(task(task_id="good"), entry, task(task_id="fine"))
        assert counts(done) == (2, 0, 1)
        [rejected] = done.rejected
        assert (rejected["place"], rejected["field"]) == (2, field)
        assert reason in rejected["reason"]

    def test_repeated_answer_counts_once(self) -> None:
        assert counts(bring(task(model_responses=[ANSWER, ANSWER]))) == (1, 1, 0)


class TestCommand:
    def test_context_command_exits_with_0_if_all_tasks_are_imported(
        self, tmp_path: Path, capsysbinary: Any
    ) -> None:
        file = tmp_path / "tasks.json"
        file.write_text(json.dumps([task(model_responses=[ANSWER])]))
        finished = manage(capsysbinary, "import_context", str(file))
        assert (finished.status, finished.err) == (0, "")
        assert finished.out == b"tasks.json (for every run): 1 task, 1 answer, 0 rejected\n"

    def test_context_command_exits_with_1_if_tasks_are_rejected(
        self, tmp_path: Path, capsysbinary: Any
    ) -> None:
        file = tmp_path / "tasks.json"
        file.write_text(json.dumps([task(), {}]))
        RunFactory.create(name="algebra")
        finished = manage(capsysbinary, "import_context", str(file), "--run", "algebra")
        assert finished.status == 1
        assert b"  entry 2: task_id is missing" in finished.out
        report = json.loads(manage(capsysbinary, "import_context", str(file), "--json").out)
        assert report["exceptions"] == [
            {"place": 2, "field": "task_id", "reason": "is missing; also missing: prompt"}
        ]

    @pytest.mark.parametrize("name", ["missing.json", "archive.zip"])
    def test_context_command_exits_with_2_if_nothing_is_imported(
        self, name: str, tmp_path: Path, capsysbinary: Any
    ) -> None:
        (tmp_path / "archive.zip").write_bytes(b"PK\x03\x04")
        assert manage(capsysbinary, "import_context", str(tmp_path / name)).status == 2
        assert not ContextImport.objects.exists()


def test_context_file_over_the_decompression_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MAX_UNPACKED_BYTES", 100)
    with pytest.raises(ImportRefused, match="decompresses to more than 100 bytes"):
        bring_file(gzip.compress(json.dumps([task()] * 10).encode()))
