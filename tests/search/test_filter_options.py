"""Options of filters come from the records of the run."""

import pytest

from reviews.models import FacetCount, Run
from reviews.search import filter_options
from tests.support.factories import EvaluationFactory, RunFactory

pytestmark = pytest.mark.django_db


def test_reviewers_with_decisions_are_listed_once(run: Run) -> None:
    for name in ("kim", "ana", None, "kim", "ana"):
        EvaluationFactory.create(run=run, human_reviewer_id=name)
    EvaluationFactory.create(human_reviewer_id="of another run")
    assert filter_options.decided_by_names(run) == ["ana", "kim"]


def test_tasks_are_found_by_prefix(run: Run) -> None:
    for task in ("55", "5500", "5500", "5493", "6", None):
        EvaluationFactory.create(run=run, task_id=task)
    assert filter_options.task_ids(run, "55", 10) == ["55", "5500"]
    assert filter_options.task_ids(run, "5", 2) == ["5493", "55"]
    assert filter_options.task_ids(run, "x", 10) == []


def test_counts_are_read_of_offered_values_only(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFactory.create(blind_share=0)
    for value in ("c", "a", "b"):
        FacetCount.objects.create(run=run, name="reason", value=value, evaluations=1)
    monkeypatch.setattr(filter_options, "MAX_OPTIONS", 2)
    assert filter_options.option_counts(run)["reason"] == {"a": 1, "b": 1}
