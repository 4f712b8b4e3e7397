"""The page of bulk actions previews them, applies them to a list or a selection, and undoes them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reviews.dashboard import bulk_changes
from reviews.models import BulkChange, Run, SpotCheck, User
from reviews.search.filters import Filters
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


class TestBulkChange:
    def look(self, client: Client, run: Run, **query: str) -> str:
        return text(client.get(reverse("bulk-change", args=[run.pk], query=query)))

    def test_bulk_change_preview_writes_nothing(self, as_lea: Client, run: Run, ana: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        evaluations(run, tasks=["3"], claimed_by=ana, claimed_until=timezone.now() + timedelta(hours=1))
        page = self.look(as_lea, run, kind="assign", to="bo")
        assert "This will assign 2 records to bo; 1 is claimed by someone else and stays as it is." in page
        assert not run.evaluations.filter(assigned_to=bo).exists()

    @pytest.mark.parametrize(
        ("query", "sentence"),
        [
            ({"kind": "assign", "to": "nobody"}, "No records to unassign."),
            ({"kind": "prioritise", "priority": "1"}, "This will give priority to 1 record."),
            ({"kind": "prioritise", "priority": "0"}, "No records to set to normal priority."),
            ({"kind": "release"}, "No records to release."),
        ],
    )
    def test_bulk_change_is_described_in_a_sentence(
        self, query: dict[str, str], sentence: str, as_lea: Client, run: Run
    ) -> None:
        evaluations(run, tasks=["1"])
        assert sentence in self.look(as_lea, run, **query)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "query",
        [
            {},
            {"kind": "agree"},
            {"kind": "assign", "to": "eve"},
            {"kind": "prioritise", "priority": "99999"},
            {"kind": "split"},
            {"kind": "split", "to": "eve"},
            {"kind": "split", "number:ana": "-1"},
            {"kind": "due"},
            {"kind": "due", "due": "2026-02-30"},
            {"kind": "due", "due": "0001-01-01"},
            {"kind": "escalate", "note": " "},
            {"kind": "escalate", "note": "x" * 3000},
            {"kind": "assign", "to": "ana", "record": "x"},
            {"kind": "assign", "to": "ana", "record": "9" * 30},
        ],
    )
    def test_invalid_bulk_change_has_no_preview(
        self, query: dict[str, str], as_lea: Client, run: Run, ana: User, eve: User
    ) -> None:
        evaluations(run, tasks=["1"])
        assert "Apply" not in self.look(as_lea, run, **query)

    def test_bulk_change_applies_to_the_previewed_list(self, as_lea: Client, run: Run, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        posted = {"kind": "assign", "to": "bo", "list": "task=2"}
        response = as_lea.post(reverse("bulk-change", args=[run.pk]), posted, follow=True)
        assert "Assigned 1 record to bo." in text(response)
        assert run.evaluations.get(assigned_to=bo).task_id == "2"

    @pytest.mark.slow
    def test_bulk_change_can_be_undone(self, as_lea: Client, run: Run, lea: User, bo: User) -> None:
        evaluations(run, tasks=["1", "2"])
        change = bulk_changes.apply(
            order=bulk_changes.BulkOrder(run, Filters(), bulk_changes.Kind.ASSIGN, bo), actor=lea
        )
        run.evaluations.filter(task_id="1").update(assigned_to=None)
        response = as_lea.post(reverse("undo-bulk-change", args=[change.pk]), follow=True)
        assert "Undone: 1 record restored. Changed since, not restored: 1 record." in text(response)
        again = as_lea.post(reverse("undo-bulk-change", args=[change.pk]), follow=True)
        assert "This change was already undone." in text(again)

    def test_bulk_change_page_lists_latest_changes(self, as_lea: Client, run: Run, lea: User) -> None:
        EvaluationFactory.create(run=run)
        bulk_changes.apply(
            order=bulk_changes.BulkOrder(
                run, Filters.from_query_string("verdict=Fail"), bulk_changes.Kind.PRIORITISE, priority=1
            ),
            actor=lea,
        )
        page = self.look(as_lea, run)
        assert "1 record set to priority" in page
        assert "verdict=Fail" in page

    def test_invalid_bulk_change_writes_nothing(self, as_lea: Client, run: Run) -> None:
        response = as_lea.post(reverse("bulk-change", args=[run.pk]), {"kind": "agree"})
        assert response.status_code == 422
        assert not BulkChange.objects.exists()


class TestSplit:
    @pytest.mark.slow
    def test_split_preview_shows_workload_and_shares(
        self, as_lea: Client, run: Run, ana: User, bo: User
    ) -> None:
        [done] = evaluations(run, tasks=["0"])
        decide(done, ana)
        other = RunFactory.create()
        evaluations(other, tasks=["1", "2"], assigned_to=ana, due_on=timezone.now().date() - timedelta(1))
        evaluations(run, tasks=[str(number) for number in range(1, 6)])
        query = {"kind": "split", "to": ["ana", "bo"], "number:bo": "2", "tasks": "divided"}
        page = as_lea.get(reverse("bulk-change", args=[run.pk], query=query))
        assert "This will split 5 records among 2 people." in text(page)
        by_name = {row.work.person.username: row for row in page.context["rows"]}
        ana_row, bo_row = by_name["ana"], by_name["bo"]
        assert (ana_row.work.records, ana_row.work.overdue, ana_row.work.done) == (2, 2, 1)
        assert (ana_row.given, ana_row.then, ana_row.days) == (3, 5, 5.0)
        assert (bo_row.given, bo_row.then, bo_row.days) == (2, 2, None)
        assert not by_name["lea"].is_chosen

    @pytest.mark.slow
    def test_split_is_applied_to_the_list_and_states_the_remainder(
        self, as_lea: Client, run: Run, ana: User, bo: User
    ) -> None:
        evaluations(run, tasks=[str(number) for number in range(6)])
        sent = {"kind": "split", "number:ana": "2", "number:bo": "3"}
        page = text(as_lea.get(reverse("bulk-change", args=[run.pk], query=sent)))
        assert "This will split 5 records among 2 people. 1 record stays as now." in page
        page = text(as_lea.post(reverse("bulk-change", args=[run.pk]), sent, follow=True))
        assert "Split 5 records." in page
        counts = [run.evaluations.filter(assigned_to=person).count() for person in (ana, bo, None)]
        assert counts == [2, 3, 1]

    def test_split_of_too_many_records_keeps_the_entries(self, as_lea: Client, run: Run, ana: User) -> None:
        evaluations(run, tasks=["1"])
        sent = {"kind": "split", "number:ana": "2"}
        response = as_lea.post(reverse("bulk-change", args=[run.pk]), sent)
        assert response.status_code == 422
        assert "The numbers add up to 2, but only 1 can be split." in text(response)
        assert [row.number for row in response.context["rows"] if row.is_chosen] == ["2"]
        assert not BulkChange.objects.exists()


@pytest.mark.slow
def test_selected_records_are_changed_unless_all_are_chosen(as_lea: Client, run: Run, bo: User) -> None:
    one, _, three = evaluations(run, tasks=["1", "2", "3"])
    sent = {"kind": "due", "due": "2026-12-01", "record": [one.pk, three.pk]}
    page = text(as_lea.get(reverse("bulk-change", args=[run.pk], query=sent)))
    assert "2 selected records" in page
    assert "This will set the due date 2026-12-01 for 2 records." in page
    as_lea.post(reverse("bulk-change", args=[run.pk]), sent)
    assert set(run.evaluations.filter(due_on="2026-12-01").values_list("task_id", flat=True)) == {"1", "3"}
    as_lea.post(reverse("bulk-change", args=[run.pk]), sent | {"all": "1", "due": "2026-12-02"})
    assert run.evaluations.filter(due_on="2026-12-02").count() == 3


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"kind": "unassign"}, "Unassigned 1 record."),
        ({"kind": "due", "due-none": "yes"}, "Removed the due date of 1 record."),
        ({"kind": "escalate", "note": "Which reference?"}, "Escalated 1 record."),
        ({"kind": "prioritise"}, "Gave 1 record priority."),
    ],
)
def test_applied_action_is_confirmed(
    sent: dict[str, str], sentence: str, as_lea: Client, run: Run, bo: User
) -> None:
    evaluations(run, tasks=["1"], assigned_to=bo, due_on="2026-12-01")
    assert sentence in text(as_lea.post(reverse("bulk-change", args=[run.pk]), sent, follow=True))


@pytest.mark.slow
def test_selected_decisions_are_spot_checked_one_by_one(as_lea: Client, run: Run, ana: User) -> None:
    first, waiting, second = evaluations(run, tasks=["1", "2", "3"])
    for record in (first, second):
        decide(record, ana)
    address = reverse("bulk-change", args=[run.pk])
    form = {"kind": "check", "record": [str(one.pk) for one in (second, waiting, first)]}
    assert "Check decisions" in text(as_lea.get(address, form))
    assert "Select decided records in the list first." in text(as_lea.get(address, {"kind": "check"}))
    page = text(as_lea.post(address, form, follow=True))
    assert "Selected 2 records for spot checks." in page
    assert first.title in page
    assert SpotCheck.objects.filter(is_selected=True, drawn_by__username="lea").count() == 2
    for sent in (form, {"kind": "check"}):
        assert "that was not checked before is selected" in text(as_lea.post(address, sent, follow=True))
