"""The values of the menu stay in memory until an import, a rubric or the index job may have changed them."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from reviews.judge import figure_cache
from reviews.models import Run, UnindexedImport, User
from reviews.queue.members import configure_members
from reviews.queue.progress import run_progress
from reviews.records.scales import RangeScale
from reviews.review.rubric_changes import change_rubric
from reviews.search import indexing
from reviews.views.runs import filter_menu
from reviews.views.runs.filter_menu import MenuFilter
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_of
from tests.support.work import decide

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _empty_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_cache, "_cache", figure_cache._Cache())


def shown_menu() -> tuple[MenuFilter, ...]:
    """Return the menu of the only run with a filter by model."""
    run, reader = Run.objects.get(), User.objects.get(username="ana")
    entered = filter_menu.read(run, reader, QueryDict("model=o1"))
    return filter_menu.menu(run, run_progress(run), entered.view)


def bring(name: str, **values: Any) -> Run:
    return import_data(file_of(line(name, **values)), run="monday").target_run


@pytest.mark.slow
def test_menu_is_right_in_each_process_after_each_change(
    ana: User, bo: User, lea: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_rubric_in_a_job() -> None:
        monkeypatch.setattr(indexing, "MAX_LINES_IN_REQUEST", 0)
        change_rubric(run_id=run.pk, actor=lea, rubric=rubric_of("Clarity", scale=RangeScale(1, 5)))

    run = bring("a", model_id="o1")
    Run.objects.update(blind_share=0)
    changes: list[Callable[[], object]] = [
        lambda: decide(run.evaluations.get(), ana),
        lambda: bring("b", model_id="gpt-4o", review_reasons=["It is long."]),
        lambda: configure_members(run_id=run.pk, actor=lea, members=["ana", "lea"]),
        lambda: Run.objects.update(blind_share=0.5),
        lambda: Run.objects.update(blind_share=0, sample_share=0.5),
        change_rubric_in_a_job,
        lambda: [*iter(indexing.index_next_chunk, False)],
    ]
    processes, menus = (figure_cache._Cache(), figure_cache._Cache()), []
    for number, change in enumerate(changes):
        change()
        monkeypatch.setattr(figure_cache, "_cache", figure_cache._Cache())
        menus.append(shown_menu())
        for process in processes[: 1 + number % 2]:
            monkeypatch.setattr(figure_cache, "_cache", process)
            assert shown_menu() == menus[-1]
    assert all(menu != later for menu, later in pairwise(menus))


@pytest.mark.slow
def test_values_are_kept_after_decisions_but_not_while_records_wait_for_the_index(ana: User) -> None:
    def loads() -> int:
        with CaptureQueriesContext(connection) as queries:
            shown_menu()
        return sum("run_facet" in query["sql"] for query in queries)

    run = bring("a")
    assert (loads(), loads()) == (1, 0)
    decide(run.evaluations.get(), ana)
    assert loads() == 0
    bring("b")
    assert (loads(), loads()) == (1, 0)
    UnindexedImport.objects.create(source=run.imports.all()[0], evaluations=1)
    assert (loads(), loads()) == (1, 1)
