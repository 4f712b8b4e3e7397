"""Records in the queue with a human decision from the file: reviewers see it before they replace it."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Run, User
from reviews.review import independent_reviews
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
from tests.support.pages import filled_in, text
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestForm:
    def test_form_has_the_file_decision_and_names_its_source(
        self, as_ana: Client, ana: User, decided_before: Evaluation
    ) -> None:
        page = open_record(as_ana, decided_before, ana)
        assert entered(page) == [
            ("Clarity", "No", "Step 3 is missing."),
            ("Rigour", "Yes", ""),
            ("Style", "Partial", "Terse."),
        ]
        assert page.context["form"].comment == "Checked twice.\nSee step 3."
        assert page.context["form"].submit_label == "Submit 2 changes"
        shown = text(page)
        assert "evaluations.jsonl already has a decision by carla (2025-05-12 10:00 UTC)." in shown
        assert "The form is prefilled with it." in shown
        assert "The decision in the file" in shown

    def test_form_without_file_decision_names_no_file(self, as_ana: Client, ana: User) -> None:
        page = open_record(as_ana, record_of(), ana)
        assert "already has a decision" not in text(page)
        assert page.context["form"].submit_label == "Agree & next"

    @pytest.mark.parametrize("status", ["Needs Review", "Pending"])
    def test_unchanged_file_decision_can_be_submitted(self, status: str, as_ana: Client, ana: User) -> None:
        record = record_of(human_review_status=status, **BY_CARLA)
        submit(as_ana, record, filled_in(open_record(as_ana, record, ana)))
        found = exported()
        assert found["human_review_status"] == "Completed"
        assert found["human_reviewer_id"] == "ana"
        assert found["human_corrected_scores"] == CORRECTED
        assert found["human_review_comments"] == BY_CARLA["human_review_comments"]

    def test_file_comment_remains_with_changed_scores(
        self, as_ana: Client, ana: User, decided_before: Evaluation
    ) -> None:
        posted = filled_in(open_record(as_ana, decided_before, ana)) | {"criteria-0-score": "Partial"}
        submit(as_ana, decided_before, posted)
        found = exported()
        assert found["human_corrected_scores"]["Clarity"] == {
            "score": "Partial",
            "justification": "Step 3 is missing.",
            "justification_by": "reviewer",
        }
        assert found["human_review_comments"] == BY_CARLA["human_review_comments"]

    def test_file_comment_can_be_removed(self, as_ana: Client, ana: User, decided_before: Evaluation) -> None:
        submit(as_ana, decided_before, filled_in(open_record(as_ana, decided_before, ana)) | {"comments": ""})
        assert exported()["human_review_comments"] is None

    @pytest.mark.parametrize(
        ("human", "comment", "clarity"),
        [
            ({"human_review_comments": "Only this."}, "Only this.", "Yes"),
            ({"human_corrected_scores": {"Clarity": {"score": "No"}}}, "", "No"),
            ({"human_reviewer_id": "carla"}, "", "Yes"),
        ],
    )
    def test_incomplete_file_decision_fills_part_of_the_form(
        self, human: dict[str, Any], comment: str, clarity: str, as_ana: Client, ana: User
    ) -> None:
        record = record_of(**human)
        page = open_record(as_ana, record, ana)
        assert "already has a decision" in text(page)
        assert (page.context["form"].comment, page.context["form"].rows[0].value) == (comment, clarity)
        submit(as_ana, record, filled_in(page))
        found = exported()
        assert found["human_review_comments"] == (comment or None)
        assert found["human_corrected_scores"]["Clarity"]["score"] == clarity

    def test_file_decision_is_shown_next_to_a_draft(
        self, as_ana: Client, ana: User, decided_before: Evaluation
    ) -> None:
        page = open_record(as_ana, decided_before, ana)
        fields = {
            "revision": "1",
            "comments": "Mine",
            "criteria-0-name": "Clarity",
            "criteria-0-score": "Yes",
        }
        as_ana.post(reverse("draft", args=[decided_before.pk]), fields)
        page = as_ana.get(reverse("evaluation", args=[decided_before.pk]))
        assert page.context["form"].comment == "Mine"
        assert "The form has other scores." in text(page)
        assert "Step 3 is missing." in text(page)

    def test_file_decision_is_shown_to_adjudicating_lead(
        self, as_lea: Client, lea: User, ana: User, bo: User, decided_before: Evaluation
    ) -> None:
        Run.objects.update(overlap_share=1, overlap=2)
        for reviewer, score in ((ana, "Yes"), (bo, "No")):
            scores = JUDGED | {"Clarity": {"score": score, "justification": ""}}
            decide(Evaluation.objects.get(), reviewer, scores=scores)
        page = open_record(as_lea, decided_before, lea)
        assert [row.value for row in page.context["form"].rows] == ["", "Yes"]
        assert "The form has other scores." in text(page)


class TestBlindRecord:
    @pytest.fixture
    def blind_record(self) -> Evaluation:
        record = record_of(**BY_CARLA)
        Run.objects.update(blind_share=1)
        return record

    def test_blind_record_hides_file_decision_before_lock_in(
        self, as_ana: Client, ana: User, blind_record: Evaluation
    ) -> None:
        page = open_record(as_ana, blind_record, ana)
        assert page.context["form"].is_blind
        assert [row.value for row in page.context["form"].rows] == ["", ""]
        assert page.context["form"].comment == ""
        for telling in ("already holds", "Checked twice", "Step 3", "Terse", ">Style", "carla"):
            assert telling not in text(page), telling

    def test_blind_record_shows_file_decision_after_lock_in(
        self, as_ana: Client, ana: User, blind_record: Evaluation
    ) -> None:
        posted = filled_in(open_record(as_ana, blind_record, ana))
        posted |= {"criteria-0-score": "Partial", "criteria-1-score": "Yes", "blind": "yes"}
        as_ana.post(reverse("lock-in", args=[blind_record.pk]), posted)
        page = as_ana.get(reverse("evaluation", args=[blind_record.pk]))
        assert [row.value for row in page.context["form"].rows] == ["Partial", "Yes"]
        assert page.context["form"].comment == BY_CARLA["human_review_comments"]
        assert "evaluations.jsonl already has a decision by carla" in text(page)
        assert "Step 3 is missing." in text(page)
        submit(as_ana, blind_record, filled_in(page))
        assert exported()["human_review_comments"] == BY_CARLA["human_review_comments"]

    def test_blind_record_keeps_the_blind_comment(
        self, as_ana: Client, ana: User, blind_record: Evaluation
    ) -> None:
        posted = filled_in(open_record(as_ana, blind_record, ana))
        posted |= {"criteria-0-score": "No", "criteria-1-score": "No", "comments": "Mine", "blind": "yes"}
        as_ana.post(reverse("lock-in", args=[blind_record.pk]), posted)
        page = as_ana.get(reverse("evaluation", args=[blind_record.pk]))
        assert page.context["form"].comment == "Mine"


def test_file_decision_is_shown_to_each_independent_reviewer(
    as_ana: Client, ana: User, as_bo: Client, bo: User, decided_before: Evaluation
) -> None:
    Run.objects.update(overlap_share=1, overlap=2)
    for client, reviewer in ((as_ana, ana), (as_bo, bo)):
        page = open_record(client, decided_before, reviewer)
        assert "already has a decision by carla" in text(page)
        submit(client, decided_before, filled_in(page))
    record = Evaluation.objects.get()
    assert not record.is_escalated
    assert independent_reviews.open_reviews(record) == []
    assert exported()["human_corrected_scores"] == CORRECTED
