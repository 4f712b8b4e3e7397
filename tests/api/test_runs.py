"""Runs over the API: counts, exports and reports."""

import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import urlencode

import pytest
from django.db import OperationalError

from reviews.exports import jsonl
from reviews.models import AuditEvent
from reviews.storage.decompression import decompress_zstd
from tests.api.test_imports import JSONL, TWO
from tests.support.api_requests import Program
from tests.support.commands import Capture, manage
from tests.support.lines import export_data, file_of, import_data, line

pytestmark = pytest.mark.django_db


class TestRuns:
    @pytest.mark.slow
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
    @pytest.mark.slow
    def test_export_has_length_and_audit_events(self, of_lea: Program) -> None:
        import_data(TWO)
        answer = of_lea.get("runs/evaluations/export")
        assert answer.getvalue() == export_data() == TWO
        assert answer["Content-Length"] == str(len(TWO))
        assert answer["Repr-Digest"] == f"sha-256=:{b64encode(sha256(TWO).digest()).decode()}:"
        whole, begun = AuditEvent.objects.filter(action__startswith="export")
        assert (whole.action, whole.detail["lines"], begun.actor_name) == ("export", 2, "lea")
        compressed = of_lea.ask("GET", "runs/evaluations/export", Accept_Encoding="zstd")
        assert b"".join(decompress_zstd([compressed.getvalue()])) == TWO
        assert (compressed["Content-Encoding"], compressed["Content-Type"]) == ("zstd", JSONL)

    @pytest.mark.slow
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
    def test_report_equals_output_of_command(self, of_lea: Program, capfdbinary: Capture) -> None:
        import_data(TWO)
        answer = of_lea.get("runs/evaluations/report").json()
        printed = json.loads(manage(capfdbinary, "judge_report", "evaluations", "--json").out)
        assert answer.pop("at") <= printed.pop("at")
        assert answer == printed
        assert answer["requirements"] == []

    @pytest.mark.slow
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

    def test_report_names_each_filter_that_it_cannot_apply(self, of_lea: Program) -> None:
        import_data(TWO)
        answer = of_lea.get("runs/evaluations/report?since=2026-02-30&model=none")
        assert answer.status_code == 422
        assert answer.json()["errors"] == [
            {"field": "model", "reason": "No rating has the model “none”."},
            {"field": "since", "reason": "From: “2026-02-30” is not a date. Write it as 2026-11-21."},
        ]

    @pytest.mark.slow
    @pytest.mark.parametrize("query", ["require=kappa", "require=" + "&require=" * 50])
    def test_report_rejects_invalid_requirement(self, query: str, of_lea: Program) -> None:
        import_data(TWO)
        answer = of_lea.get(f"runs/evaluations/report?{query}")
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "require"
