"""Decisions from the file after undo, revision, reopening and another import."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Review, User
from reviews.queue import claims
from reviews.review import decisions, undo
from tests.support.decided_files import (
    BY_CARLA,
    CORRECTED,
    JUDGED,
    entered,
    exported,
    open_record,
    record_of,
    submit,
)
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import filled_in, text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestLaterChanges:
    def test_undo_restores_the_values_of_the_file(
        self, as_ana: Client, ana: User, decided_before: Evaluation
    ) -> None:
        posted = filled_in(open_record(as_ana, decided_before, ana)) | {"comments": "Mine"}
        submit(as_ana, decided_before, posted)
        undo.undo(run=decided_before.run, actor=ana)
        record = Evaluation.objects.get()
        assert record.human_corrected_scores == CORRECTED
        assert record.human_review_comments == BY_CARLA["human_review_comments"]
        assert export_data() == file_of(line(parsed_rubric_scores=JUDGED, **BY_CARLA))
        page = as_ana.get(reverse("evaluation", args=[record.pk]))
        assert page.context["form"].comment == "Mine"
        assert "already has a decision by carla" in text(page)

    def test_revision_of_a_file_decision_is_prefilled_with_it(self, as_lea: Client) -> None:
        record = record_of(human_review_status="Completed", **BY_CARLA)
        page = as_lea.get(reverse("revise", args=[record.pk]))
        assert entered(page)[0] == ("Clarity", "No", "Step 3 is missing.")
        as_lea.post(reverse("revise", args=[record.pk]), filled_in(page))
        assert exported()["human_corrected_scores"] == CORRECTED
        assert exported()["human_review_comments"] == BY_CARLA["human_review_comments"]

    def test_revision_of_a_closed_record_keeps_its_comment(
        self, as_lea: Client, lea: User, ana: User
    ) -> None:
        record = record_of()
        claims.claim(evaluation_id=record.pk, reviewer=lea)
        decisions.close(evaluation_id=record.pk, actor=lea, comments="The response is missing.")
        page = as_lea.get(reverse("revise", args=[record.pk]))
        assert page.context["form"].comment == "The response is missing."

    def test_changed_file_decision_is_shown_with_entries(
        self, as_ana: Client, ana: User, decided_before: Evaluation
    ) -> None:
        posted = filled_in(open_record(as_ana, decided_before, ana))
        import_data(
            file_of(line(parsed_rubric_scores=JUDGED, **(BY_CARLA | {"human_review_comments": "New."})))
        )
        page = submit(as_ana, decided_before, posted)
        assert page.status_code == 409
        assert "New." in text(page)
        assert Review.objects.count() == 0
