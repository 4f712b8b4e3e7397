"""Imports over the API."""

import gzip
import json
from io import BytesIO
from typing import Any
from unittest.mock import ANY

import pytest
import zstandard

from reviews.api.bodies import JSON
from reviews.api.problems import CONTENT_TYPE
from reviews.imports import jobs
from reviews.models import Evaluation, Import, Run, Upload
from tests.support.api_requests import Program
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

JSONL = "application/x-ndjson"

TWO = file_of(line("a"), line("b", human_review_status="Completed"))


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

    @pytest.mark.slow
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
            ("%20new", TWO, JSONL, 422),
            ("new%20", TWO, JSONL, 422),
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

    @pytest.mark.slow
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

    @pytest.mark.slow
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
