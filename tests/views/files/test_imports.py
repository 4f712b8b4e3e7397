"""The page of a running and of a finished import."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.imports import jobs
from reviews.imports.exception_groups import MAX_GROUPS
from reviews.models import Import, ImportLine, ImportProgress, User
from tests.support.factories import ImportFactory
from tests.support.lines import file_of, line
from tests.support.pages import text

pytestmark = pytest.mark.django_db


def upload(max: User, *lines: bytes, strict: bool = False) -> Import:
    return jobs.enqueue_import(
        run_name="algebra", file_name="algebra.jsonl", blocks=[file_of(*lines)], strict=strict, actor=max
    )


def imported(max: User, *lines: bytes, strict: bool = False) -> Import:
    source = upload(max, *lines, strict=strict)
    jobs.import_upload(import_id=source.pk)
    return source


def address(source: Import) -> str:
    return reverse("import", args=[source.pk])


class TestRunningImport:
    @pytest.mark.parametrize("state", [Import.State.QUEUED, Import.State.RUNNING])
    def test_import_page_polls_while_running(self, state: str, as_ana: Client) -> None:
        source = ImportFactory.create(state=state)
        page = text(as_ana.get(address(source)))
        assert f'hx-get="{address(source)}" hx-trigger="every 0.5s"' in page

    def test_import_page_polls_less_often_the_older_the_import_is(self, as_ana: Client) -> None:
        long_ago = timezone.now() - timedelta(minutes=3)
        source = ImportFactory.create(state=Import.State.QUEUED, created_at=long_ago)
        assert 'hx-trigger="every 5s"' in text(as_ana.get(address(source)))

    def test_import_page_answers_htmx_with_the_changing_part(self, as_ana: Client) -> None:
        source = ImportFactory.create(state=Import.State.RUNNING)
        response = as_ana.get(address(source), headers={"hx-request": "true"})
        assert text(response).startswith('<div id="import-state"')
        assert "HX-Request" in response["Vary"]

    def test_import_page_stops_polling_at_the_end(self, as_max: Client, max: User) -> None:
        source = upload(max, line("e-1"))
        assert "hx-trigger" in text(as_max.get(address(source), headers={"hx-request": "true"}))
        jobs.import_upload(import_id=source.pk)
        assert "hx-trigger" not in text(as_max.get(address(source), headers={"hx-request": "true"}))

    def test_import_page_shows_progress(self, as_max: Client, max: User) -> None:
        source = upload(max, line("e-1"))
        begin = timezone.now()
        ImportProgress.objects.filter(source=source).update(
            size=4_000_000,
            bytes_done=1_000_000,
            counts={"lines": 50_000, "new": 49_990, "rejected": 10, "blank": 0},
            started_at=begin,
            reported_at=begin + timedelta(seconds=10),
        )
        page = text(as_max.get(address(source)))
        assert '<progress aria-label="Importing" max="4000000" value="1000000">' in page
        for part in ("50,000 lines", "5,000 lines/s", "30 s left", "49,990 new", "10 rejected"):
            assert part in page
        assert "0 blank" not in page

    def test_import_page_shows_that_it_is_queued(self, as_max: Client, max: User) -> None:
        assert "Waiting to start" in text(as_max.get(address(upload(max, line("e-1")))))


class TestCancelledImport:
    def test_cancelling_ends_the_import(self, as_max: Client, max: User) -> None:
        source = upload(max, line("e-1"))
        cancel = reverse("cancel-import", args=[source.pk])
        assert cancel in text(as_max.get(address(source)))
        assert as_max.post(cancel)["Location"] == address(source)
        page = text(as_max.get(address(source)))
        assert "The import was cancelled." in page
        assert cancel not in page
        assert 'hx-trigger="every' not in page

    def test_cancelling_is_shown_until_the_job_stops(self, as_max: Client, max: User) -> None:
        source = upload(max, line("e-1"))
        ImportProgress.objects.filter(source=source).update(cancelled_by=max)
        page = text(as_max.get(address(source)))
        assert "Cancelling" in page
        assert reverse("cancel-import", args=[source.pk]) not in page

    def test_cancelling_is_offered_with_permission(self, as_ana: Client, max: User) -> None:
        imported(max, line("e-0"))
        source = upload(max, line("e-1"))
        page = text(as_ana.get(address(source)))
        assert "Waiting to start" in page
        assert reverse("cancel-import", args=[source.pk]) not in page


class TestImportWithoutRun:
    @pytest.mark.slow
    def test_import_into_new_run_is_for_admins_until_a_line_is_accepted(
        self, client: Client, ana: User, max: User
    ) -> None:
        source = upload(max, line("e-1"))
        client.force_login(ana)
        assert client.get(address(source)).status_code == 404
        jobs.import_upload(import_id=source.pk)
        assert client.get(address(source)).status_code == 200


class TestFinishedImport:
    @pytest.mark.slow
    def test_finished_import_accounts_for_every_line(self, as_ana: Client, max: User) -> None:
        imported(max, line("e-1"), line("e-2"), line("e-3"))
        again = (line("e-1"), line("e-2", model_id="other"), line("e-4"), b"", b"no record", line("e-4"))
        source = imported(max, *again)
        context = as_ana.get(address(source)).context["source"]
        assert context.counts == {
            "lines": 6, "new": 1, "unchanged": 1, "updated": 1, "conflicts": 0, "rejected": 2, "blank": 1,
        }  # fmt: skip

    def test_finished_import_shows_its_counts(self, as_ana: Client, max: User) -> None:
        page = text(as_ana.get(address(imported(max, line("e-1"), b"no record"))))
        assert "1 new record." in page
        assert "1 line rejected." in page
        assert "Result of 2 lines" in page

    def test_finished_import_lists_lines_with_issues(self, as_ana: Client, max: User) -> None:
        bad = line("e-1", review_reasons="late")
        page = text(as_ana.get(address(imported(max, line("e-0"), bad))))
        assert '<td class="number">1</td>' in page
        assert '<td class="small nowrap">2</td>' in page
        assert "review_reasons" in page
        assert "is a string, but takes an array of strings" in page

    @pytest.mark.slow
    def test_finished_import_lists_issues_before_unchanged_lines(self, as_ana: Client, max: User) -> None:
        imported(max, *(line(f"e-{n}") for n in range(120)))
        source = imported(max, *(line(f"e-{n}") for n in range(120)), b"no record")
        response = as_ana.get(address(source))
        assert [group.examples for group in response.context["exception_groups"]] == [[121]]
        assert "unchanged</span>" not in text(response)

    @pytest.mark.slow
    def test_finished_import_groups_lines_with_the_same_reason(self, as_max: Client, max: User) -> None:
        page = text(as_max.get(address(imported(max, *[b"no record"] * 1_003))))
        assert page.count('class="badge fail"') == 1
        assert '<td class="number">1,003</td>' in page
        assert "1, 2, 3 and 1,000 more" in page
        assert reverse("import-exceptions", args=[Import.objects.get().pk]) in page

    def test_finished_import_counts_lines_of_groups_that_are_not_listed(
        self, as_ana: Client, max: User
    ) -> None:
        source = imported(max, line("e-1"))
        ImportLine.objects.bulk_create(
            ImportLine(source=source, line=2 + n, outcome="rejected", reason="is wrong" + n * "!")
            for n in range(MAX_GROUPS + 3)
        )
        Import.objects.filter(pk=source.pk).update(rejected=MAX_GROUPS + 3)
        page = text(as_ana.get(address(source)))
        assert page.count('class="badge fail"') == MAX_GROUPS
        assert "3 more lines with other reasons are in the full list." in page

    def test_failed_strict_import_says_that_nothing_was_imported(self, as_max: Client, max: User) -> None:
        page = text(as_max.get(address(imported(max, line("e-1"), b"no record", strict=True))))
        assert "1 of 2 lines is invalid, so nothing was imported." in page
        assert "Result of" not in page
        assert "The line is not JSON" in page

    def test_import_page_escapes_file_contents(self, as_ana: Client, max: User) -> None:
        evil = line("e-1", human_review_status="<img src=x onerror=alert(1)>")
        assert "<img src=x" not in text(as_ana.get(address(imported(max, line("e-0"), evil))))

    @pytest.mark.parametrize("count", [1, 3])
    def test_import_page_has_a_constant_number_of_queries(
        self,
        count: int,
        as_max: Client,
        max: User,
        django_assert_num_queries: Callable[[int], AbstractContextManager[Any]],
    ) -> None:
        source = imported(max, *[b"no record"] * count)
        with django_assert_num_queries(4):
            as_max.get(address(source))


class TestDownloads:
    def test_rejected_lines_are_downloaded_verbatim(self, as_max: Client, max: User) -> None:
        source = imported(max, b"no record\r", line("e-1"), b"\xff\xfe", b"cut o")
        response = as_max.get(reverse("import-rejected", args=[source.pk]))
        assert b"".join(response) == b"no record\r\n\xff\xfe\ncut o\n"
        assert response["Content-Disposition"].startswith("attachment")

    def test_rejected_lines_of_a_strict_import_are_downloaded(self, as_max: Client, max: User) -> None:
        source = imported(max, line("e-1"), b"no record", strict=True)
        assert b"".join(as_max.get(reverse("import-rejected", args=[source.pk]))) == b"no record\n"

    def test_rejected_lines_are_offered_with_permission(self, as_ana: Client, lea: User, max: User) -> None:
        source = imported(max, line("e-1"), b"no record")
        download = reverse("import-rejected", args=[source.pk])
        assert download not in text(as_ana.get(address(source)))
        as_ana.force_login(lea)
        assert download in text(as_ana.get(address(source)))

    @pytest.mark.slow
    def test_exceptions_download_has_every_line(self, as_ana: Client, max: User) -> None:
        imported(max, line("e-1"))
        source = imported(max, line("e-1"), b"no record")
        response = as_ana.get(reverse("import-exceptions", args=[source.pk]))
        listed = [orjson.loads(row) for row in b"".join(response).splitlines()]
        assert [(row["line"], row["outcome"]) for row in listed] == [
            (1, ImportLine.Outcome.UNCHANGED),
            (2, ImportLine.Outcome.REJECTED),
        ]
        assert set(listed[1]) == {"line", "outcome", "field", "reason"}
