"""Commands, jobs, pages and finished exports report damaged storage."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.test import Client
from django.urls import reverse

from reviews import tasks
from reviews.database.statements import execute
from reviews.exports import jobs, stored_files
from reviews.exports.output import ExportOptions
from reviews.imports import jobs as import_jobs
from reviews.imports import uploads
from reviews.maintenance import verify_run
from reviews.maintenance.verify_run import VerificationCounts
from reviews.models import AuditEvent, Evaluation, Export, ExportPart, Import, Run, User
from reviews.storage import chunks
from reviews.storage.corruption import CorruptData
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.damage import FIRST, SECOND, first, flip, record, remove_frames, undone
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def _imported(module_world: None) -> Iterator[None]:
    """Import two files in a dozen frames, and decide four records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "BLOCK_SIZE", 3000)
        run = import_data(FIRST).target_run
        import_data(SECOND)
        import_data(FIRST[:4000], run="another")
        ana = UserFactory.create(username="ana", role="reviewer")
        for evaluation_id in ("eval_2", "eval_7", "eval_20", "eval_40"):
            decide(run.evaluations.get(evaluation_id=evaluation_id), ana)
        yield


@pytest.fixture
def ana() -> User:
    return User.objects.get(username="ana")


@pytest.fixture
def run() -> Run:
    return Run.objects.get(name="evaluations")


class TestCommand:
    @pytest.fixture(autouse=True)
    def _damaged(self, run: Run) -> None:
        remove_frames(-1)

    @pytest.mark.slow
    def test_export_command_keeps_the_previous_file(self, tmp_path: Path, capsysbinary: Capture) -> None:
        target = tmp_path / "exported.jsonl"
        target.write_bytes(b"from yesterday")
        finished = manage(capsysbinary, "export_run", "evaluations", "-o", str(target))
        assert finished.status == 2
        assert f"manage.py repair_import {first().pk} FILE" in finished.err
        assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"from yesterday"]
        assert not AuditEvent.objects.filter(action="export").exists()

    def test_export_command_reports_incomplete_standard_output(self, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "export_run", "evaluations")
        assert finished.status == 2
        assert finished.err.endswith("The output is incomplete.")
        assert FIRST.startswith(finished.out.partition(b'"Completed"')[0][:1000])

    def test_import_of_a_damaged_record_changes_nothing(self, tmp_path: Path, capsysbinary: Capture) -> None:
        file = tmp_path / "third.jsonl"
        file.write_bytes(file_of(line("eval_31", task_id="3")))
        imports = Import.objects.count()
        finished = manage(capsysbinary, "import_run", str(file), "--run", "evaluations")
        assert finished.status == 2
        assert "restore a backup" in finished.err
        assert Import.objects.count() == imports


@pytest.mark.slow
class TestJob:
    def test_export_job_of_a_damaged_run_fails_and_publishes_nothing(
        self, run: Run, lea: User, as_lea: Client
    ) -> None:
        remove_frames(-1)
        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        with pytest.raises(CorruptData):
            tasks.build_export.func(_Job(), export.pk)  # type: ignore[arg-type]
        export.refresh_from_db()
        assert export.state == Export.State.FAILED
        assert export.error.startswith("Run 'evaluations', import ")
        assert not ExportPart.objects.exists()
        assert "restore a backup" in as_lea.get(reverse("export-page", args=[export.pk])).content.decode()
        assert as_lea.get(reverse("export-file", args=[export.pk])).status_code == 404

    def test_import_job_of_a_damaged_upload_fails_and_imports_nothing(self, max: User) -> None:
        names: dict[str, Any] = {"file_name": "a.jsonl", "run_name": "upload", "strict": False, "actor": max}
        data = file_of(line("eval_1"))
        waiting = uploads.receive(**names, size=len(data), parts=[data])
        flip(waiting.chunks.get(), random.Random(0))
        with pytest.raises(CorruptData):
            import_jobs.import_upload(import_id=waiting.pk)
        assert not Evaluation.objects.filter(run__name="upload").exists()


class _Job:
    def should_abort(self) -> bool:
        return False


class TestHttp:
    @pytest.fixture(autouse=True)
    def _damaged(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        flip(first().chunks.earliest("number"), random.Random(1))

    def test_api_answers_damage_with_a_problem_before_any_byte(self, lea: User, caplog: Any) -> None:
        answer = program_of(lea).get("runs/evaluations/export")
        assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
        assert "frame 0: it does not match its checksum; restore a backup" in answer.json()["detail"]
        assert [
            entry.getMessage() for entry in caplog.records if entry.name == "reviews.storage.corruption"
        ] == [answer.json()["detail"]]

    def test_rejected_lines_of_a_damaged_file_show_the_fault(self, as_lea: Client) -> None:
        answer = as_lea.get(reverse("import-rejected", args=[first().pk]))
        assert answer.status_code == 503
        assert "does not match its checksum" in answer.content.decode()

    def test_line_page_of_a_damaged_file_shows_the_fault(self, as_ana: Client, caplog: Any) -> None:
        answer = as_ana.get(reverse("line", args=[record(2).pk]))
        assert answer.status_code == 503
        assert "does not match its checksum" in answer.content.decode()
        assert len([entry for entry in caplog.records if entry.name == "reviews.storage.corruption"]) == 1

    def test_record_of_a_damaged_file_can_be_read(self, as_ana: Client) -> None:
        assert as_ana.get(reverse("evaluation", args=[record(1).pk])).status_code == 200


class TestFinishedExport:
    @pytest.fixture
    def export(self, run: Run, lea: User, monkeypatch: pytest.MonkeyPatch) -> Export:
        monkeypatch.setattr(stored_files, "PART_SIZE", 5000)
        export = jobs.enqueue(options=ExportOptions(run), actor=lea)
        jobs.build(export_id=export.pk)
        export.refresh_from_db()
        assert export.parts.filter(kind="file").count() > 3
        return export

    HARM: ClassVar = {
        "a bit is flipped": """
            UPDATE export_part SET frame = set_bit(frame, 400, 1 - get_bit(frame, 400)) WHERE number = 1
        """,
        "two parts are swapped": """
            UPDATE export_part SET number = -number WHERE kind = 'file' AND number IN (1, 2);
            UPDATE export_part SET number = number + 3 WHERE number < 0
        """,
        "a part is gone": "DELETE FROM export_part WHERE kind = 'file' AND number = 1",
        "the last part is gone": """
            DELETE FROM export_part WHERE kind = 'file'
            AND number = (SELECT max(number) FROM export_part WHERE kind = 'file')
        """,
        "a checksum is gone": "UPDATE export_part SET digest = NULL WHERE number = 1",
        "it has no size": "UPDATE export SET size = 0; DELETE FROM export_part WHERE kind = 'file'",
        "the size is smaller": "UPDATE export SET size = size - 1",
        "the size is larger": "UPDATE export SET size = size + 1",
        "the size is much smaller": "UPDATE export SET size = 10",
    }

    @pytest.mark.slow
    def test_damaged_export_is_not_sent(self, export: Export, as_lea: Client) -> None:
        for name, harm in self.HARM.items():
            with undone():
                execute(harm)
                answer: Any = as_lea.get(reverse("export-file", args=[export.pk]))
                assert answer.status_code == 503, name
                assert f"export {export.pk}" in answer.content.decode(), name
                assert [*verify_run.verify_run(export.run, VerificationCounts())], name

    @pytest.mark.slow
    def test_export_with_a_wrong_hash_is_cut_off(self, export: Export, as_lea: Client) -> None:
        Export.objects.update(sha256="0" * 64)
        answer: Any = as_lea.get(reverse("export-file", args=[export.pk]))
        with pytest.raises(CorruptData, match="does not match its SHA-256"):
            list(answer.streaming_content)

    @pytest.mark.slow
    def test_range_of_intact_parts_is_sent(self, export: Export, as_lea: Client) -> None:
        execute("UPDATE export_part SET digest = NULL WHERE kind = 'file' AND number = 1")
        place = reverse("export-file", args=[export.pk])
        damaged = export.parts.get(kind="file", number=1)
        start, stop = damaged.start, damaged.start + damaged.size
        for begin, end, status in ((0, start - 1, 206), (start - 1, start, 503), (stop, stop + 1, 206)):
            answer = as_lea.get(place, headers={"Range": f"bytes={begin}-{end}"})
            assert answer.status_code == status

    @pytest.mark.slow
    @pytest.mark.parametrize("lost", ["the end", "everything"])
    def test_incomplete_receipt_is_reported(self, lost: str, export: Export, as_lea: Client) -> None:
        parts = export.parts.filter(kind="receipt")
        (parts.filter(number=parts.count() - 1) if lost == "the end" else parts).delete()
        assert as_lea.get(reverse("export-receipt", args=[export.pk])).status_code == 503
