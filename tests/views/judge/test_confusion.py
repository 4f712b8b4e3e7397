"""Confusion matrices: links from their cells to decisions."""

import pytest
from django.test import Client

from reviews.models import Run, User
from tests.support.judge_pages import CLARITY, confusions, place, review
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db


@pytest.mark.slow
class TestConfusionTableCell:
    def cell(self, client: Client, run: Run, label: str, **query: str) -> tuple[int, list[str]]:
        """Return the count in a cell about Clarity, and the records it links to."""
        response = client.get(place("judge-errors", run, **query))
        crossings = [
            crossing
            for confusion in confusions(response)
            if confusion.title == CLARITY
            for line in confusion.lines
            for crossing in line.crossings
            if crossing.label == label
        ]
        [found] = [one.cell for one in crossings if one.cell.url]
        assert isinstance(found.value, int)
        listed = client.get(found.url)
        return found.value, [line[0][1].text for line in listed.context["table"].lines]

    def test_confusion_cell_links_to_its_decisions(self, as_lea: Client, ana: User, algebra: Run) -> None:
        review(algebra, ana, "Yes", "No", model_id="o1")
        review(algebra, ana, "Yes", "Yes", model_id="o2")
        review(algebra, ana, "No", "No", model_id="o3")
        assert self.cell(as_lea, algebra, "judge Yes, human No") == (1, ["Task 1 · o1"])

    def test_confusion_cell_of_blind_reviews_uses_locked_in_scores(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "Yes", blind="No", model_id="o1")
        review(algebra, ana, "Yes", "No", blind="Yes", model_id="o2")
        assert self.cell(as_lea, algebra, "judge Yes, human No") == (1, ["Task 1 · o1"])

    def test_confusion_cell_of_sampled_records_excludes_flagged_ones(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", blind="No", model_id="o1")
        review(
            algebra, ana, "Yes", "Yes", blind="Yes", model_id="o2", needs_human_review=False, is_sampled=True
        )
        listed = as_lea.get(
            place("judge-decisions", algebra, criterion=CLARITY, judge_said='"Yes"', part="unflagged")
        )
        assert [line[0][1].text for line in listed.context["table"].lines] == ["Task 1 · o2"]

    def test_confusion_cell_distinguishes_numbers_from_texts(
        self, as_lea: Client, ana: User, algebra: Run
    ) -> None:
        algebra.rubric = rubric_data(CLARITY, values=(4, 3, "4"))
        algebra.save()
        review(algebra, ana, 4, 3, model_id="o1")
        review(algebra, ana, 4.0, 3, model_id="o2")
        review(algebra, ana, "4", "4", model_id="o3")
        count, records = self.cell(as_lea, algebra, "judge 4, human 3")
        assert (count, sorted(records)) == (2, ["Task 1 · o1", "Task 1 · o2"])

    def test_confusion_cell_follows_the_filters(
        self, as_lea: Client, ana: User, bo: User, algebra: Run
    ) -> None:
        review(algebra, ana, "Yes", "No", model_id="o1")
        review(algebra, bo, "Yes", "No", model_id="o2")
        narrowed = self.cell(as_lea, algebra, "judge Yes, human No", reviewer="bo")
        assert narrowed == (1, ["Task 1 · o2"])
        assert self.cell(as_lea, algebra, "judge Yes, human No", model="o1") == (1, ["Task 1 · o1"])
