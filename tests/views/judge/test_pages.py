"""Every page and every CSV file about the judge."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run
from reviews.views.judge.downloads import TABLES
from reviews.views.judge.pages import PAGES
from tests.support.factories import RunFactory, UserFactory
from tests.support.judge_pages import CLARITY, place, review
from tests.support.pages import text
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="class")
def judged(class_world: None) -> Run:
    """A run with decisions by ana, of several models, prompts and causes. The tests of a class share it."""
    run = RunFactory.create(name="Algebra", rubric=rubric_data(CLARITY))
    ana = UserFactory.create(username="ana", role="reviewer")
    for number, cause in enumerate(["too strict", "too lenient", "calculation error"] * 2):
        columns = {"model_id": f"m{number}", "judge_prompt_template_path": f"p{number}.txt"}
        review(run, ana, "Yes", "No", cause=cause, **columns)
    return run


class TestPagesOfDecisions:
    @pytest.mark.slow
    def test_judge_page_keeps_filters_in_links_and_a_plan_has_none_by_reviewer(
        self, as_lea: Client, judged: Run, django_assert_max_num_queries: Any
    ) -> None:
        for name in PAGES:
            with django_assert_max_num_queries(64, info=name):
                response = as_lea.get(place(name, judged, model="m1", reviewer="ana"))
            assert [tab.url for tab in response.context["tabs"]] == [
                place(other, judged, model="m1", reviewer="ana") for other in PAGES
            ]
            is_plan = name == "judge-plan"
            sentence = "Filters by reviewer, task and date do not apply to a plan"
            assert (sentence in text(response)) == is_plan, name
            assert ("reviewer" in {field.name for field in response.context["fields"]}) != is_plan, name
            assert response.context["kept"] == ([("reviewer", "ana")] if is_plan else []), name

    @pytest.mark.slow
    def test_judge_csv_exists_for_every_table(self, as_lea: Client, judged: Run) -> None:
        for name in TABLES:
            response = as_lea.get(reverse("judge-table", args=[judged.pk, name]))
            assert response["Content-Disposition"] == f'attachment; filename="{name}.csv"'
            header = response.getvalue().decode().splitlines()[0].split(",")
            assert len(header) == len(set(header)), name

    @pytest.mark.parametrize("said", ["nothing like it", "{", "1e999", "[" * 2000])
    def test_decision_list_with_unused_scores_is_empty(self, said: str, as_lea: Client, judged: Run) -> None:
        response = as_lea.get(place("judge-decisions", judged, criterion=CLARITY, judge_said=said))
        assert response.context["table"].lines == []
        assert "No such ratings." in text(response)
