"""A run exists only once a line was accepted, however the file came in."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
from django.db import transaction
from django.http import StreamingHttpResponse
from django.test import Client
from django.urls import reverse

from reviews.imports import importer, jobs
from reviews.imports.importer import Cancelled, NothingImported
from reviews.imports.runs import get_or_create_run
from reviews.models import AuditEvent, Import, Run, User
from reviews.records.mapping import FieldMapping, parse_mapping
from reviews.storage.errors import ImportRefused
from tests.support.commands import Capture, manage
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text

pytestmark = pytest.mark.django_db

MIXED = file_of(line("e-1"), b'{"evaluation_id": "e-2"}')
REJECTED = file_of(b"{}", b'{"evaluation_id": "e-2"}')
BLANK = b"\n \n\n"
MAPPING = b"""
[fields]
evaluation_id = "id"
judge_llm_model = "'m'"
judge_prompt_template_path = "'p'"
created_at = "'2026-01-01T00:00:00Z'"
"""


def upload(
    data: bytes,
    actor: User,
    *,
    strict: bool = False,
    run: str = "algebra",
    mapping: FieldMapping | None = None,
) -> Import:
    return jobs.enqueue_import(
        run_name=run,
        file_name="algebra.jsonl",
        blocks=[data],
        strict=strict,
        actor=actor,
        mapping=mapping,
    )


def imported(data: bytes, actor: User, *, strict: bool = False, run: str = "algebra") -> Import:
    source = upload(data, actor, strict=strict, run=run)
    jobs.import_upload(import_id=source.pk)
    source.refresh_from_db()
    return source


def streamed(client: Client, page: str, source: Import) -> list[bytes]:
    response = client.get(reverse(page, args=[source.pk]))
    assert isinstance(response, StreamingHttpResponse)
    return list(cast("Iterable[bytes]", response))


class TestUpload:
    def test_queued_import_has_no_run(self, max: User) -> None:
        source = upload(MIXED, max)
        assert (source.run, source.target_name, Run.objects.exists()) == (None, "algebra", False)

    def test_accepted_line_creates_the_run(self, max: User) -> None:
        source = imported(MIXED, max)
        assert (source.state, source.target_run.name, source.target_run.evaluations.count()) == (
            "done",
            "algebra",
            1,
        )

    @pytest.mark.parametrize(
        ("data", "strict", "error"),
        [
            (MIXED, True, "1 of 2 lines is invalid, so nothing was imported."),
            (REJECTED, False, "2 of 2 lines are invalid, so nothing was imported."),
            (BLANK, False, "The file has only blank lines, so nothing was imported."),
        ],
    )
    def test_failed_import_leaves_no_run(self, data: bytes, strict: bool, error: str, max: User) -> None:
        source = imported(data, max, strict=strict)
        assert (source.state, source.run, source.error) == ("failed", None, error)
        assert not Run.objects.exists()

    @pytest.mark.slow
    def test_failed_import_leaves_the_existing_run(self, max: User) -> None:
        run = imported(MIXED, max).target_run
        source = imported(REJECTED, max)
        assert (source.state, source.run) == ("failed", run)
        assert [kept.pk for kept in run.files] == [run.imports.order_by("pk")[0].pk]

    def test_cancelled_queued_import_leaves_no_run(self, max: User) -> None:
        source = upload(MIXED, max)
        jobs.cancel_import(import_id=source.pk, actor=max)
        jobs.import_upload(import_id=source.pk)
        source.refresh_from_db()
        assert (source.state, source.run, Run.objects.exists()) == ("cancelled", None, False)

    def test_cancelled_running_import_leaves_no_run(self, max: User) -> None:
        source = upload(MIXED, max)

        def cancel(*_: object) -> None:
            assert Run.objects.exists()
            raise Cancelled

        with pytest.raises(Cancelled), transaction.atomic():
            jobs.import_upload(import_id=source.pk, progress=cancel)
        jobs.finish_cancelled(import_id=source.pk)
        source.refresh_from_db()
        assert (source.state, source.run, Run.objects.exists()) == ("cancelled", None, False)

    def test_two_uploads_with_one_new_name_share_the_run(self, max: User) -> None:
        first, second = upload(MIXED, max), upload(file_of(line("e-3")), max)
        for source in (second, first):
            jobs.import_upload(import_id=source.pk)
            source.refresh_from_db()
        assert first.run == second.run == Run.objects.get()

    def test_failed_import_can_be_followed_by_one_of_the_same_name(self, max: User) -> None:
        failed, done = imported(REJECTED, max), imported(MIXED, max)
        failed.refresh_from_db()
        assert (failed.run, done.run) == (None, Run.objects.get())

    def test_retried_import_creates_the_run(self, max: User) -> None:
        source = upload(MIXED, max)
        jobs.fail_upload(import_id=source.pk, error="The server's disk is full.")
        jobs.retry_import(import_id=source.pk, actor=max)
        jobs.import_upload(import_id=source.pk)
        assert Run.objects.get().name == "algebra"

    def test_events_of_a_failed_import_name_the_requested_run(self, max: User) -> None:
        source = imported(REJECTED, max)
        events = AuditEvent.objects.filter(source=source).order_by("pk")
        assert [(event.action, event.run, event.run_name) for event in events] == [
            ("upload", None, "algebra"),
            ("import failed", None, "algebra"),
        ]


class TestReportOfAFailedImport:
    def test_import_page_lists_the_rejected_lines(self, as_max: Client, max: User) -> None:
        page = text(as_max.get(reverse("import", args=[imported(MIXED, max, strict=True).pk])))
        assert "1 of 2 lines is invalid, so nothing was imported." in page
        assert "into a new run, algebra" in page
        assert "judge_llm_model" in page

    def test_rejected_lines_can_be_downloaded(self, as_max: Client, max: User) -> None:
        source = imported(MIXED, max, strict=True)
        assert b"".join(streamed(as_max, "import-rejected", source)) == file_of(b'{"evaluation_id": "e-2"}')
        [listed] = streamed(as_max, "import-exceptions", source)
        assert json.loads(listed)["line"] == 2

    def test_import_page_links_to_the_failed_import(self, as_max: Client, max: User) -> None:
        source = imported(REJECTED, max)
        assert "No runs yet" in text(as_max.get(reverse("runs")))
        assert reverse("import", args=[source.pk]) in text(as_max.get(reverse("import-file")))

    def test_run_list_shows_reviewers_no_failed_import(self, as_ana: Client, max: User) -> None:
        source = imported(REJECTED, max)
        assert reverse("import", args=[source.pk]) not in text(as_ana.get(reverse("runs")))


class TestCommand:
    @pytest.mark.parametrize("data", [REJECTED, BLANK])
    def test_import_command_without_an_accepted_line_leaves_nothing(
        self, data: bytes, tmp_path: Path, capfdbinary: Capture
    ) -> None:
        path = tmp_path / "algebra.jsonl"
        path.write_bytes(data)
        finished = manage(capfdbinary, "import_run", str(path))
        assert finished.status == 2
        assert "so nothing was imported." in finished.err
        assert not Run.objects.exists()
        assert not Import.objects.exists()

    def test_refused_stream_names_its_lines(self) -> None:
        with pytest.raises(NothingImported) as caught:
            import_data(REJECTED)
        assert [found["line"] for found in caught.value.listed_exceptions()] == [1, 2]


class TestMappingOfANewRun:
    @pytest.mark.slow
    def test_mapping_creates_the_run_before_its_first_file(self, as_ana: Client, max: User) -> None:
        run = get_or_create_run(name="algebra", mapping=parse_mapping(MAPPING), actor=max)
        assert "algebra" in text(as_ana.get(reverse("runs")))
        assert imported(b'{"id": "e-1"}\n', max).run == run

    def test_mapped_run_survives_a_failed_import(self, max: User) -> None:
        run = get_or_create_run(name="algebra", mapping=parse_mapping(MAPPING), actor=max)
        source = imported(b'{"no": "id"}\n', max)
        assert (source.state, source.run, Run.objects.get()) == ("failed", run, run)

    def test_mapping_of_an_upload_becomes_that_of_the_new_run(self, max: User) -> None:
        source = upload(b'{"id": "e-1"}\n', max, mapping=parse_mapping(MAPPING))
        assert not Run.objects.exists()
        jobs.import_upload(import_id=source.pk)
        run = Run.objects.get()
        assert (run.mapping, run.evaluations.count()) == (source.mapping, 1)

    def test_mapping_of_a_failed_upload_leaves_no_run(self, max: User) -> None:
        jobs.import_upload(import_id=upload(b'{"no": "id"}\n', max, mapping=parse_mapping(MAPPING)).pk)
        assert (Import.objects.get().state, Run.objects.exists()) == ("failed", False)

    def test_uploads_with_one_mapping_share_the_new_run(self, max: User) -> None:
        sources = [upload(b'{"id": "e-%d"}\n' % n, max, mapping=parse_mapping(MAPPING)) for n in (1, 2)]
        for source in sources:
            jobs.import_upload(import_id=source.pk)
        assert Run.objects.get().evaluations.count() == 2

    def test_mapping_is_refused_while_a_file_of_the_new_run_is_imported(self, max: User) -> None:
        source = upload(MIXED, max)
        with pytest.raises(ImportRefused, match="A file is being imported into the run 'algebra'"):
            get_or_create_run(name="algebra", mapping=parse_mapping(MAPPING), actor=max)
        jobs.cancel_import(import_id=source.pk, actor=max)
        assert get_or_create_run(name="algebra", mapping=parse_mapping(MAPPING), actor=max).mapping


def test_dry_run_leaves_no_run(tmp_path: Path, capfdbinary: Capture) -> None:
    path = tmp_path / "algebra.jsonl"
    path.write_bytes(MIXED)
    assert manage(capfdbinary, "import_run", str(path), "--dry-run").status == 1
    assert not Run.objects.exists()


def test_import_stream_without_lines_is_refused(max: User) -> None:
    with pytest.raises(ImportRefused), transaction.atomic():
        importer.import_stream(blocks=[b""], run_name="algebra", file_name="a.jsonl", actor=max)
    assert not Run.objects.exists()
