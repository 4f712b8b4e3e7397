"""Runs over the API: imports, exports, progress and reports."""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from typing import Any
from unittest.mock import ANY
from urllib.parse import urlencode

import pytest
import zstandard
from django.db import OperationalError

from reviews.api.bodies import JSON
from reviews.api.problems import CONTENT_TYPE
from reviews.audit import events as audit_events
from reviews.exports import jsonl
from reviews.imports import jobs
from reviews.imports.runs import run_mapping
from reviews.models import AuditEvent, Evaluation, Import, Run, Upload, User
from reviews.records.mapping import parse_mapping
from reviews.runs import reread
from tests.api.conftest import Program
from tests.audit.test_log import seal
from tests.records.test_mapping import MAPPINGS, MT_BENCH
from tests.support.commands import manage
from tests.support.factories import EvaluationFactory
from tests.support.lines import export_data, file_of, import_data, line

pytestmark = pytest.mark.django_db

JSONL = "application/x-ndjson"
MAPPING = MAPPINGS / "mt-bench.toml"
TWO = file_of(line("a"), line("b", human_review_status="Completed"))


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
        assert 'PUT /api/v1/runs/{run}/mapping with {"name": "mt-bench"}' in answer.json()["detail"]
        assert not Run.objects.exists()
        assert not Upload.objects.exists()

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


class TestImport:
    def bring(
        self, program: Program, data: bytes, path: str = "runs/new run/imports", kind: str = JSONL
    ) -> int:
        answer = program.ask("POST", path, data, kind=JSONL)
        assert answer.status_code == 202, answer.content
        assert answer.json()["state"] == "queued"
        assert answer["Location"] == f"/api/v1/imports/{answer.json()['id']}"
        jobs.import_upload(import_id=answer.json()["id"])
        return int(answer.json()["id"])

    @pytest.mark.slow
    @pytest.mark.parametrize("data", [TWO, gzip.compress(TWO, mtime=0)])
    def test_imported_file_is_exported_unchanged(self, data: bytes, of_max: Program) -> None:
        key = self.bring(of_max, data)
        answer = of_max.get(f"imports/{key}").json()
        assert (answer["state"], answer["run"], answer["file_name"]) == ("done", "new run", "new run.jsonl")
        assert (answer["counts"]["new"], answer["counts"]["rejected"]) == (2, 0)
        assert of_max.get("runs/new run/export").getvalue() == TWO
        assert of_max.get("runs/new run/export?only=reviewed").getvalue() == TWO.splitlines(keepends=True)[1]

    @pytest.mark.slow
    def test_import_lists_rejected_lines(self, of_max: Program) -> None:
        import_data(file_of(line("a")), run="new run")
        key = self.bring(of_max, file_of(line("a"), b"no record", line("c")))
        rejects = [json.loads(each) for each in of_max.get(f"imports/{key}/rejects").getvalue().splitlines()]
        assert rejects == [{"line": 2, "outcome": "rejected", "field": "", "reason": ANY}]

    def test_strict_import_rejects_whole_file(self, of_max: Program) -> None:
        key = self.bring(of_max, file_of(line(), b"no record"), "runs/strict/imports?strict=true")
        answer = of_max.get(f"imports/{key}").json()
        assert answer["state"] == "failed"
        assert of_max.get("runs/strict").status_code == 404
        assert answer["run"] == "strict"
        assert answer["error"].endswith("so nothing was imported.")

    @pytest.mark.parametrize(
        ("path", "data", "kind", "status"),
        [
            ("new", TWO, "application/x-www-form-urlencoded", 415),
            ("new", TWO, "multipart/form-data; boundary=x", 415),
            ("new", b"", JSONL, 415),  # of nothing, the test client says no type
            ("x" * 201, TWO, JSONL, 422),
            ("%00", TWO, JSONL, 422),
            ("a%2Fb", TWO, JSONL, 422),
            ("%2E%2E", TWO, JSONL, 422),
            ("new", b"\xff\xfe{\0", JSONL, 422),
            ("new", gzip.compress(TWO, mtime=0)[:-20], JSONL, 422),
            ("new", b"PK\x03\x04", JSONL, 422),
            ("new", b'{"results": [{}, {}]}', JSONL, 422),
        ],
    )
    def test_invalid_import_is_a_problem(
        self, path: str, data: bytes, kind: str, status: int, of_max: Program
    ) -> None:
        answer = of_max.ask("POST", f"runs/{path}/imports", data, kind=kind)
        assert (answer.status_code, answer.json()["status"]) == (status, status)
        assert not Import.objects.exists()
        assert not Run.objects.exists()

    @pytest.mark.parametrize(
        ("data", "packing", "status"),
        [
            (gzip.compress(TWO, mtime=0), "gzip", 202),
            (zstandard.compress(TWO), "zstd", 202),
            (TWO, "identity", 202),
            (TWO, "br", 415),
            (gzip.compress(TWO, mtime=0), "gzip, gzip", 415),
        ],
    )
    def test_import_accepts_content_encoding(
        self, data: bytes, packing: str, status: int, of_max: Program
    ) -> None:
        answer = of_max.ask("POST", "runs/packed/imports", data, kind=JSONL, Content_Encoding=packing)
        assert answer.status_code == status
        if status == 202:
            jobs.import_upload(import_id=answer.json()["id"])
            assert of_max.get("runs/packed/export").getvalue() == TWO

    @pytest.mark.parametrize(("name", "kept_as"), [("%00", "file"), ("../etc/run%00.jsonl", "run.jsonl")])
    def test_import_stores_file_name_without_path(self, name: str, kept_as: str, of_max: Program) -> None:
        answer = of_max.ask("POST", f"runs/named/imports?file_name={name}", TWO, kind=JSONL)
        assert (answer.status_code, answer.json()["file_name"]) == (202, kept_as)

    def test_too_large_import_is_not_read(self, settings: Any, of_max: Program) -> None:
        settings.MAX_UPLOAD_BYTES = 10
        answer = of_max.ask("POST", "runs/large/imports", TWO, kind=JSONL)
        assert answer.status_code == 413
        assert "COGNIREVIEW_MAX_UPLOAD_BYTES" in answer.json()["detail"]

    def test_import_beyond_upload_quota_is_rejected(self, settings: Any, of_max: Program) -> None:
        settings.MAX_OPEN_UPLOAD_BYTES = len(TWO) - 1
        answer = of_max.ask("POST", "runs/large/imports", TWO, kind=JSONL)
        assert answer.status_code == 413
        assert "COGNIREVIEW_MAX_OPEN_UPLOAD_BYTES" in answer.json()["detail"]
        settings.MAX_OPEN_UPLOADS_OVERALL = 0
        answer = of_max.ask("POST", "runs/large/imports", TWO, kind=JSONL)
        assert answer.status_code == 429
        assert "COGNIREVIEW_MAX_OPEN_UPLOADS_OVERALL" in answer.json()["detail"]

    def test_file_without_records_is_rejected_at_once(self, of_max: Program) -> None:
        packed = gzip.compress(b"0\n" * 100_000)
        answer = of_max.ask("POST", "runs/zeros/imports", packed, kind="application/gzip")
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("This is not a file of records: the first 10,000 lines")

    @pytest.mark.parametrize("length", ["", "x", "-1", str(len(TWO) + 1)])
    def test_incomplete_import_stores_nothing(self, length: str, of_max: Program) -> None:
        # As a server has it: the test client's own stream must not be read to its end.
        sent: dict[str, Any] = {"CONTENT_LENGTH": length, "wsgi.input": BytesIO(TWO)}
        answer = of_max._client.generic(
            "POST",
            "/api/v1/runs/cut/imports",
            TWO,
            content_type=JSONL,
            **sent,
        )
        assert answer.status_code == (422 if length.isdigit() else 411)
        assert not Import.objects.exists()
        assert not Upload.objects.exists()

    def test_body_that_did_not_arrive_as_a_whole_is_rejected(self, of_max: Program) -> None:
        EvaluationFactory.create(run__name="one")
        cut = {"CONTENT_LENGTH": "20", "wsgi.input": BytesIO(b"{}")}
        in_chunks = {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
        sent: dict[str, Any]
        for sent, status in ((cut, 400), (in_chunks, 411)):
            place = "/api/v1/runs/one/claims"
            answer = of_max._client.generic("POST", place, b"{}", content_type=JSON, **sent)
            assert answer.status_code == status
            assert answer["Content-Type"] == CONTENT_TYPE
        assert not Evaluation.objects.filter(claimed_by__isnull=False).exists()


class TestRuns:
    def test_runs_have_their_counts(self, of_ana: Program) -> None:
        import_data(TWO, run="one")
        import_data(file_of(line("c")), run="a & b")
        assert [run["name"] for run in of_ana.get("runs").json()] == ["a & b", "one"]
        answer = of_ana.get("runs/a%20%26%20b").json()
        del answer["created_at"]
        counts = {"total": 1, "waiting": 1, "claimed": 0, "escalated": 0, "done": 0, "not_required": 0}
        counts["sampled"] = 0
        assert answer == {"name": "a & b", "archived_at": None, "is_restricted": False, **counts}
        assert of_ana.get("runs/one").json()["done"] == 1

    @pytest.mark.parametrize("name", ["none", "%00", "%FF", "%ED%A0%80"])
    def test_unknown_run_is_not_found(self, name: str, of_max: Program) -> None:
        for path in (f"runs/{name}", f"runs/{name}/export", f"runs/{name}/evaluations"):
            assert of_max.get(path).status_code == 404


class TestExport:
    def test_export_has_length_and_audit_events(self, of_lea: Program) -> None:
        import_data(TWO)
        answer = of_lea.get("runs/evaluations/export")
        assert answer.getvalue() == export_data() == TWO
        assert answer["Content-Length"] == str(len(TWO))
        assert answer["Repr-Digest"] == f"sha-256=:{b64encode(sha256(TWO).digest()).decode()}:"
        whole, begun = AuditEvent.objects.filter(action__startswith="export")
        assert (whole.action, whole.detail["lines"], begun.actor_name) == ("export", 2, "lea")

    @pytest.mark.parametrize(
        ("data", "kind"),
        [(TWO, JSONL), (b"[\n%b\n]" % TWO.strip().replace(b"\n", b",\n"), "application/json")],
    )
    def test_export_has_the_content_type_of_the_imported_file(
        self, data: bytes, kind: str, of_lea: Program
    ) -> None:
        import_data(data)
        answer = of_lea.get("runs/evaluations/export")
        assert (answer.getvalue(), answer["Content-Type"]) == (data, kind)

    def test_export_rejects_unknown_parameter(self, of_lea: Program) -> None:
        import_data(TWO)
        answer = of_lea.get("runs/evaluations/export?ony=reviewed")
        assert answer.status_code == 422
        assert answer.json()["errors"] == [{"field": "ony", "reason": "Unknown parameter."}]
        # The view has an argument of this name, for the body.
        answer = of_lea.ask("PUT", "runs/evaluations/guideline?sent=1", {"text": "Be fair."})
        assert answer.json()["errors"] == [{"field": "sent", "reason": "Unknown parameter."}]

    def test_failed_export_is_an_error_not_a_partial_file(
        self, of_lea: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> Iterator[tuple[bytes, int]]:
            yield line("eval_1") + b"\n", 1
            raise OperationalError("server closed the connection unexpectedly")

        import_data(TWO)
        monkeypatch.setattr(jsonl, "_run_blocks", broken)
        of_lea._client.raise_request_exception = False
        answer = of_lea.get("runs/evaluations/export")
        assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
        assert [event.action for event in AuditEvent.objects.filter(action__startswith="export")] == [
            "export begun"
        ]

    def test_export_rejects_unknown_value(self, of_lea: Program) -> None:
        import_data(TWO)
        answer = of_lea.get("runs/evaluations/export?only=best")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "only"


class TestReport:
    @pytest.mark.slow
    def test_report_equals_output_of_command(
        self, of_lea: Program, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        import_data(TWO)
        answer = of_lea.get("runs/evaluations/report").json()
        printed = json.loads(manage(capfdbinary, "judge_report", "evaluations", "--json").out)
        assert answer.pop("at") <= printed.pop("at")
        assert answer == printed
        assert answer["requirements"] == []

    def test_report_has_outcomes_of_requirements(self, of_lea: Program) -> None:
        import_data(TWO)
        query = urlencode({"require": ["flagged kappa of A&B >= 0.6", "miss_rate <= 0.1"]}, doseq=True)
        answer = of_lea.get(f"runs/evaluations/report?{query}").json()["requirements"]
        assert [each["require"] for each in answer] == [
            "flagged kappa of A&B >= 0.6",
            "miss_rate <= 0.1",
        ]
        assert {each["outcome"] for each in answer} == {"not shown yet"}

    def test_comparison_names_the_missing_run(self, of_lea: Program) -> None:
        import_data(TWO)
        for path, fields in (("evaluations/drift?earlier=none", ["earlier"]), ("none/drift?earlier=one", [])):
            answer = of_lea.get(f"runs/{path}")
            assert answer.status_code == 404
            assert [one["field"] for one in answer.json().get("errors", [])] == fields

    @pytest.mark.parametrize("query", ["require=kappa", "require=" + "&require=" * 50])
    def test_report_rejects_invalid_requirement(self, query: str, of_lea: Program) -> None:
        import_data(TWO)
        answer = of_lea.get(f"runs/evaluations/report?{query}")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "require"


class TestAudit:
    def test_audit_log_starts_after_a_position(self, of_lea: Program) -> None:
        import_data(TWO)
        seal()
        entries = [json.loads(each) for each in of_lea.get("audit").getvalue().splitlines()]
        assert [event["position"] for event in entries] == list(range(1, len(entries) + 1))
        behind = of_lea.get(f"audit?after={len(entries) - 1}").getvalue()
        assert json.loads(behind)["position"] == len(entries)

    @pytest.mark.parametrize("after", ["-1", "x", "9" * 30, "9" * 5000])
    def test_audit_log_rejects_invalid_position(self, after: str, of_lea: Program) -> None:
        assert of_lea.get(f"audit?after={after}").status_code == 422

    def test_audit_log_of_run_has_digests_of_other_events(self, of_lea: Program) -> None:
        import_data(TWO, run="one")
        import_data(file_of(line("c")), run="other")
        seal()
        entries = [json.loads(each) for each in of_lea.get("audit?run=other").getvalue().splitlines()]
        runs = {each["event"]["run_name"] for each in entries if "event" in each}
        assert runs == {"other"}
        assert any("digest" in each for each in entries)

    @pytest.mark.slow
    def test_events_are_filtered_and_paged(self, of_lea: Program, ana: User) -> None:
        records = [EvaluationFactory.create() for _ in range(51)]
        for record in records:
            audit_events.record("claim", actor=ana, evaluation=record)
        first = of_lea.get("audit/events?person=ana&action=claim").json()
        second = of_lea.get(f"audit/events?person=ana&action=claim&after={first['next']}").json()
        assert [event["record"] for event in first["events"] + second["events"]] == [
            record.evaluation_id for record in reversed(records)
        ]
        assert second["next"] is None
        [found] = of_lea.get(f"audit/events?record={records[3].evaluation_id}&since=2026-01-01T00:00").json()[
            "events"
        ]
        assert (found["action"], found["actor_name"]) == ("claim", "ana")
        assert of_lea.get("audit/events?until=2026-01-01T00:00:00Z").json()["events"] == []

    @pytest.mark.parametrize(
        ("query", "status"),
        [
            ("person=nobody", 404),
            ("run=missing", 404),
            ("action=fly", 422),
            ("address=here", 422),
            ("since=x", 422),
            ("record=%00", 422),
            ("after=%00", 422),
            ("size=9", 422),
        ],
    )
    def test_events_reject_invalid_filters(self, query: str, status: int, of_lea: Program) -> None:
        assert of_lea.get(f"audit/events?{query}").status_code == status
