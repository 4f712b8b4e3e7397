"""The list of runs, the upload, and the export."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from reviews.models import Draft, Import, Run, User
from reviews.queue import claims
from reviews.review import escalations
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import file_of, line
from tests.support.pages import jsonl, text
from tests.support.work import decide

pytestmark = pytest.mark.django_db
RUNS = "/"


def started(client: Client) -> str:
    """The name of the run that the key starts."""
    return str(client.get(RUNS).context["landing"].run)


class TestRunList:
    def test_run_list_without_runs_invites_admin_to_import(self, as_max: Client) -> None:
        page = text(as_max.get(RUNS))
        assert "No runs yet: import a file, and its flagged records are queued for reviewers." in page
        assert "Import JSONL" in page
        assert 'type="file"' in page

    def test_run_list_without_runs_asks_reviewer_to_wait(self, as_ana: Client) -> None:
        page = text(as_ana.get(RUNS))
        assert "No runs yet: runs appear here once an admin imports a file." in page
        assert 'type="file"' not in page

    def test_run_list_shows_progress(self, as_ana: Client) -> None:
        run = RunFactory.create(name="Algebra")
        for status in ("Needs Review", "Pending", "Completed", "Not Required"):
            EvaluationFactory.create(run=run, human_review_status=status)
        page = text(as_ana.get(RUNS))
        assert '<progress max="3" value="1"' in page
        assert "<strong>1</strong> of 3 reviewed" in page
        assert "2 waiting" in page
        assert "1 not flagged" in page

    def test_run_list_offers_review_only_for_waiting_records(self, as_ana: Client) -> None:
        done = EvaluationFactory.create(human_review_status="Completed").run
        waiting = EvaluationFactory.create().run
        page = text(as_ana.get(RUNS))
        assert reverse("claim-next", args=[waiting.pk]) in page
        assert reverse("claim-next", args=[done.pk]) not in page

    def test_run_list_offers_export_with_permission(self, as_ana: Client, lea: User) -> None:
        export = f'action="{reverse("export", args=[EvaluationFactory.create().run.pk])}"'
        assert export not in text(as_ana.get(RUNS))
        as_ana.force_login(lea)
        assert export in text(as_ana.get(RUNS))

    def test_run_list_escapes_names(self, as_ana: Client) -> None:
        RunFactory.create(name="<script>alert(1)</script>")
        assert "<script>alert" not in text(as_ana.get(RUNS))

    @pytest.mark.parametrize("count", [1, 3])
    def test_run_list_query_count_is_constant(
        self,
        count: int,
        as_max: Client,
        django_assert_num_queries: Callable[[int], AbstractContextManager[Any]],
    ) -> None:
        EvaluationFactory.create_batch(count)
        with django_assert_num_queries(16):
            as_max.get(RUNS)

    def test_long_list_of_runs_has_pages(self, as_ana: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("reviews.views.runs.home.SHOWN_RUNS", 2)
        made = RunFactory.create_batch(5)[::-1]
        seen, address = [], RUNS
        while address:
            response = as_ana.get(address)
            seen += [run for run, _ in response.context["runs"]]
            following = response.context["next_run"]
            address = f"{RUNS}?from={following.pk}" if following else ""
        assert seen == made
        assert "First page" in text(response)
        assert as_ana.get(f"{RUNS}?from=none").context["is_first_page"]


class TestOwnWork:
    def test_unfinished_records_can_be_continued(self, as_ana: Client, ana: User) -> None:
        claimed, drafted = EvaluationFactory.create_batch(2)
        claims.claim(evaluation_id=claimed.pk, reviewer=ana)
        Draft.objects.create(evaluation=drafted, reviewer=ana, fields=[])
        page = text(as_ana.get(RUNS))
        assert f'href="{reverse("evaluation", args=[claimed.pk])}">Continue' in page
        assert f'action="{reverse("claim", args=[drafted.pk])}"' in page
        assert as_ana.post(reverse("claim", args=[drafted.pk]), follow=True).status_code == 200

    def test_key_starts_the_run_worked_on_last(self, as_ana: Client, ana: User) -> None:
        older = RunFactory.create(name="Older")
        first, *_ = EvaluationFactory.create_batch(2, run=older)
        EvaluationFactory.create(run=RunFactory.create(name="Newer"))
        assert started(as_ana) == "Newer"
        decide(first, ana)
        assert started(as_ana) == "Older"
        older.evaluations.update(human_review_status="Completed")
        assert started(as_ana) == "Newer"

    def test_work_of_archived_and_hidden_runs_is_left_out(self, as_ana: Client, ana: User) -> None:
        archived, hidden, shown = EvaluationFactory.create_batch(3)
        for record in (archived, hidden, shown):
            Draft.objects.create(evaluation=record, reviewer=ana, fields=[])
        Run.objects.filter(pk=archived.run_id).update(archived_at=timezone.now())
        Run.objects.filter(pk=hidden.run_id).update(is_restricted=True)
        landing = as_ana.get(RUNS).context["landing"]
        assert [one.evaluation for one in landing.unfinished] == [shown]

    def test_caught_up_reviewer_has_one_sentence(self, as_ana: Client) -> None:
        EvaluationFactory.create(human_review_status="Completed")
        assert "All caught up: nothing waits for a review." in text(as_ana.get(RUNS))

    def test_leads_see_runs_with_open_escalations(self, as_lea: Client, ana: User, bo: User) -> None:
        record = EvaluationFactory.create()
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        escalations.escalate(evaluation_id=record.pk, reviewer=ana, kind="question", reason="", note="Which?")
        address = reverse("open-escalations", args=[record.run_id])
        assert f'href="{address}">1 escalated' in text(as_lea.get(RUNS))
        as_lea.force_login(bo)
        assert address not in text(as_lea.get(RUNS))

    @pytest.mark.parametrize("zone", ["Asia/Tokyo", "UTC", "", "../x", "America", "\0", "x" * 5000])
    def test_any_time_zone_of_the_browser_gives_a_page(self, as_ana: Client, zone: str) -> None:
        EvaluationFactory.create()
        as_ana.cookies["timezone"] = zone
        assert as_ana.get(RUNS).status_code == 200


class TestUpload:
    def test_upload_redirects_to_its_import(self, as_max: Client, max: User) -> None:
        response = as_max.post(RUNS, {"file": jsonl(line("e-1")), "run_name": "Algebra"})
        upload = Import.objects.get()
        assert response.status_code == 302
        assert response["Location"] == reverse("import", args=[upload.pk])
        assert (upload.target_name, upload.file_name, upload.created_by) == ("Algebra", "algebra.jsonl", max)

    def test_upload_enqueues_a_job(self, as_max: Client) -> None:
        as_max.post(RUNS, {"file": jsonl(line("e-1"))})
        upload = Import.objects.get()
        assert upload.state == Import.State.QUEUED
        assert ProcrastinateJob.objects.get().args == {"import_id": upload.pk}

    def test_upload_without_name_names_the_run_after_the_file(self, as_max: Client) -> None:
        as_max.post(RUNS, {"file": jsonl(line("e-1"), name="Set 2.final.jsonl")})
        assert Import.objects.get().run_name == "Set 2.final"

    def test_upload_sanitizes_the_file_name(self, as_max: Client) -> None:
        as_max.post(RUNS, {"file": jsonl(line("e-1"), name="../../etc/passwd")})
        assert Import.objects.get().file_name == "passwd"

    @pytest.mark.parametrize(
        ("file", "run_name", "sentence"),
        [
            (None, "Algebra", "Choose a file."),
            (jsonl(), "Algebra", "The submitted file is empty."),
            (jsonl(b"\xff\xfe{\0}\0"), "Algebra", "The file is UTF-16."),
            (jsonl(b"\x89PNG\r\n\x1a\n\0"), "Algebra", "it is a PNG image."),
            (jsonl(line("e-1")), "x" * 201, "at most 200 characters"),
            (jsonl(line("e-1")), "a\0b", "Null characters are not allowed."),
            (jsonl(line("e-1")), "a\u202eb", "printable characters"),
        ],
    )
    def test_rejected_upload_shows_the_reason_and_stores_nothing(
        self, file: SimpleUploadedFile | None, run_name: str, sentence: str, as_max: Client
    ) -> None:
        posted = {"run_name": run_name} | ({"file": file} if file else {})
        if file:
            file.seek(0)
        response = as_max.post(RUNS, posted)
        assert response.status_code == 422
        assert sentence in text(response)
        assert not Import.objects.exists()
        assert not Run.objects.exists()

    def test_interrupted_upload_is_rejected(self, as_max: Client) -> None:
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
        response = as_max.generic(
            "POST", RUNS, head + file_of(line("e-1")), content_type="multipart/form-data; boundary=x"
        )
        assert response.status_code == 422
        assert "the upload was interrupted" in text(response)
        assert not Import.objects.exists()

    def test_upload_is_denied_for_reviewers(self, as_ana: Client) -> None:
        response = as_ana.post(RUNS, {"file": jsonl(line("e-1"))})
        assert response.status_code == 403
        assert "Only an admin can import files." in text(response)
        assert not Import.objects.exists()
