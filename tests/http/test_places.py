"""The tree of pages behind the navigation and the breadcrumb."""

import pytest
from django.urls import reverse

from reviews.http import places
from reviews.urls import pages
from tests.browser.sights import NO_PAGES
from tests.support.factories import EvaluationFactory

# Pages about signing in.
OUTSIDE = {
    "join",
    "login",
    "new-password",
    "reauthenticate",
    "second-factor",
    "session",
    "signed-in",
    "welcome",
}
# These show the page of a record, which names its own place.
OF_A_RECORD = {"revise", "claim", "peek"}


def test_every_page_has_a_place() -> None:
    names = {page.name for page in pages} - NO_PAGES - OUTSIDE - OF_A_RECORD
    assert names - set(places.PLACES) == set()


def test_every_place_is_a_page_below_known_places() -> None:
    assert set(places.PLACES) - {page.name for page in pages} == {places.ADMIN}
    assert {place.parent for place in places.PLACES.values()} - {""} <= set(places.PLACES)


@pytest.mark.parametrize(
    ("name", "area"),
    [("evaluation", "start"), ("run-guideline", "runs"), ("person", "admin"), ("unknown", "")],
)
def test_area_of_a_page_is_its_entry_in_the_navigation(name: str, area: str) -> None:
    assert places.area_of(name) == area


@pytest.mark.django_db
def test_breadcrumb_names_the_pages_above_and_the_current_one() -> None:
    record = EvaluationFactory.create(run__name="Algebra", task_id="7", model_id="o1")
    crumbs = places.breadcrumb("record-history", {"evaluation": record})
    assert crumbs == [
        ("Runs", "/"),
        ("Algebra", reverse("run", args=[record.run_id])),
        (record.title, reverse("evaluation", args=[record.pk])),
        ("Record history", ""),
    ]


@pytest.mark.django_db
def test_breadcrumb_leaves_out_a_missing_run() -> None:
    assert places.breadcrumb("conflicts", {"run": None})[0].title == "Runs"


def test_page_of_an_unknown_subject_has_no_breadcrumb() -> None:
    assert places.breadcrumb("import", {"source": None}) == []


def test_top_level_page_has_no_breadcrumb() -> None:
    assert places.breadcrumb("runs", {}) == []
    assert places.breadcrumb("unknown", {}) == []
