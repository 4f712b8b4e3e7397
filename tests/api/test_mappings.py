"""Mappings of fields over the API."""

from typing import Any

import pytest

from reviews.imports import jobs
from reviews.imports.runs import run_mapping
from reviews.models import Run, Upload
from reviews.records.mapping import parse_mapping
from reviews.runs import reread
from tests.api.test_imports import JSONL
from tests.records.test_mapping import MAPPINGS, MT_BENCH
from tests.support.api_requests import Program
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

MAPPING = MAPPINGS / "mt-bench.toml"


class TestMapping:
    """Files of other tools, read by the run's mapping."""

    def send(self, program: Program, toml: bytes, kind: str = "application/toml") -> Any:
        return program.ask("PUT", "runs/bench/mapping", toml, kind=kind)

    @pytest.mark.slow
    def test_mapped_import_is_exported_unchanged(self, of_max: Program) -> None:
        answer = self.send(of_max, MAPPING.read_bytes())
        assert answer.status_code == 200
        assert answer.json()["run"] == "bench"
        assert answer.json()["mapping"]["fields"]["task_id"] == "question_id"
        brought = of_max.ask("POST", "runs/bench/imports", MT_BENCH, kind=JSONL)
        jobs.import_upload(import_id=brought.json()["id"])
        assert (
            of_max.get("runs/bench/evaluations/mt-bench%2F81%2Falpaca-13b%2F1").json()["fields"]["task_id"]
            == "81"
        )
        assert of_max.get("runs/bench/export").getvalue() == MT_BENCH

    def test_invalid_mapping_is_rejected_with_all_errors(self, of_max: Program) -> None:
        answer = self.send(of_max, b"[fields]\ntask_id = 'a['")
        assert answer.status_code == 422
        fields = {error["field"] for error in answer.json()["errors"]}
        assert {"fields.task_id", "fields.created_at"} <= fields
        assert self.send(of_max, b"", "text/csv").status_code == 415
        assert not Run.objects.exists()

    def test_shipped_mapping_is_set_by_its_name(self, of_max: Program) -> None:
        answer = self.send(of_max, b'{"name": "mt-bench"}', "application/json")
        assert answer.status_code == 200
        assert run_mapping(Run.objects.get()) == parse_mapping(MAPPING.read_bytes())

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (b'{"name": "unknown"}', 422),
            (b'{"name": ["mt-bench"]}', 422),
            (b'{"name": "mt-bench", "more": 1}', 422),
            (b'"mt-bench"', 422),
            (b"{", 400),
        ],
    )
    def test_unknown_name_of_a_mapping_is_rejected(self, body: bytes, status: int, of_max: Program) -> None:
        answer = self.send(of_max, body, "application/json")
        assert answer.status_code == status
        if status == 422:
            [error] = answer.json()["errors"]
            assert error["field"] == "name"
            assert "mt-bench" in error["reason"]
        assert not Run.objects.exists()

    def test_import_of_a_known_tool_names_the_mapping(self, of_max: Program) -> None:
        answer = of_max.ask("POST", "runs/bench/imports", MT_BENCH, kind=JSONL)
        assert answer.status_code == 422
        assert "It needs the mapping 'mt-bench'" in answer.json()["detail"]
        assert answer.json()["type"].endswith("/file-refused/")
        assert 'PUT /api/v1/runs/{run}/mapping with {"name": "mt-bench"}' in answer.json()["detail"]
        assert not Run.objects.exists()
        assert not Upload.objects.exists()

    @pytest.mark.slow
    def test_mapping_of_records_cannot_reject_them(self, of_max: Program) -> None:
        import_data(file_of(line()), run="bench")
        answer = self.send(of_max, MAPPING.read_bytes())
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("With this mapping, 1 accepted line would be rejected.")
        assert answer.json()["errors"][0]["field"] == "bench.jsonl line 1"

    @pytest.mark.slow
    def test_undecided_run_is_read_again_with_another_mapping(self, of_max: Program) -> None:
        toml = MAPPING.read_bytes()
        assert self.send(of_max, toml).json()["reread"] is None
        brought = of_max.ask("POST", "runs/bench/imports", MT_BENCH, kind=JSONL)
        jobs.import_upload(import_id=brought.json()["id"])
        other = toml.replace(b"'mt-bench'", b"'second'")
        assert other != toml
        report = {"records": 1, "new_records": 0, "new_ids": 1, "claims": 0}
        path = "runs/bench/mapping"
        tried = of_max.ask("PUT", f"{path}?dry_run=true", other, kind="application/toml")
        assert tried.json()["reread"] == report
        key = "mt-bench%2F81%2Falpaca-13b%2F1"
        assert of_max.get(f"runs/bench/evaluations/{key}").status_code == 200
        keyed: dict[str, Any] = {"kind": "application/toml", "Idempotency_Key": "one"}
        assert of_max.ask("PUT", path, other, **keyed).json()["reread"] == report
        assert of_max.ask("PUT", path, other, **keyed).json()["reread"] == report
        assert self.send(of_max, other).json()["reread"] is None
        assert of_max.get(f"runs/bench/evaluations/{key}").status_code == 404
        assert of_max.get("runs/bench/export").getvalue() == MT_BENCH

    def test_mapping_is_not_tried_without_records(self, of_max: Program) -> None:
        path = "runs/bench/mapping?dry_run=true"
        answer = of_max.ask("PUT", path, MAPPING.read_bytes(), kind="application/toml")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "dry_run")
        assert not Run.objects.exists()

    def test_large_run_is_read_again_by_command_only(
        self, of_max: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import_data(file_of(line("a"), line("b")), run="bench")
        monkeypatch.setattr(reread, "MAX_LINES_IN_REQUEST", 1)
        answer = self.send(of_max, MAPPING.read_bytes())
        assert (answer.status_code, "Use manage.py reread_run." in answer.json()["detail"]) == (422, True)
