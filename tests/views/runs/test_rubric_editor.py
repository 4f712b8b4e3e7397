"""The buttons of the rubric editor, and changes by several people."""

import re

import pytest
from django.test import Client

from reviews.models import Run
from reviews.records.rubric import Cause, Rubric
from tests.support.factories import RunFactory
from tests.support.pages import text
from tests.support.rubric_form import DEPTH, fields_of, filled_in, judged_by, page_of, saved

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", rubric=DEPTH.as_json())


class TestButtons:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("action", "names"),
        [
            ("add criteria", ["depth", "style", ""]),
            ("remove criteria 0", ["style"]),
            ("up criteria 1", ["style", "depth"]),
            ("down criteria 0", ["style", "depth"]),
            ("up criteria 0", ["depth", "style"]),
            ("down criteria 1", ["depth", "style"]),
            ("remove criteria 7", ["depth", "style"]),
            ("up criteria 7", ["depth", "style"]),
            ("down criteria ²", ["depth", "style"]),
            ("explode", ["depth", "style"]),
        ],
    )
    def test_button_changes_the_form_and_saves_nothing(
        self, as_lea: Client, run: Run, action: str, names: list[str]
    ) -> None:
        response = as_lea.post(page_of(run), filled_in(as_lea, run, action=action, verdict__rule="none"))
        assert response.status_code == 200
        shown = fields_of(response)
        assert [value for name, value in shown.items() if re.fullmatch(r"criteria-\d+-name", name)] == names
        assert shown["verdict-rule"] == "none"
        assert judged_by(run) == DEPTH

    @pytest.mark.slow
    def test_moved_criterion_takes_its_scale_along(self, as_lea: Client, run: Run) -> None:
        changes = {
            f"criteria__1__scale__{name}": value
            for name, value in {"kind": "integer", "min": "1", "max": "x"}.items()
        }
        response = as_lea.post(page_of(run), filled_in(as_lea, run, action="up criteria 1", **changes))
        shown = fields_of(response)
        assert (shown["criteria-0-scale-kind"], shown["criteria-0-scale-max"]) == ("integer", "x")
        assert shown["criteria-1-scale-kind"] == ""

    @pytest.mark.slow
    def test_added_cause_is_saved_with_its_conditions(self, as_lea: Client, run: Run) -> None:
        entered = fields_of(as_lea.post(page_of(run), filled_in(as_lea, run, action="add causes")))
        place = len(Rubric().causes)
        entered |= {f"causes-{place}-title": "Units", f"causes-{place}-directions": ["raised", "lowered"]}
        assert as_lea.post(page_of(run), entered).status_code == 302
        assert judged_by(run).causes == (*Rubric().causes, Cause("Units", ("raised", "lowered")))

    @pytest.mark.slow
    def test_concurrent_change_keeps_entries(self, as_lea: Client, run: Run) -> None:
        mine = filled_in(as_lea, run, criteria__0__name="mine")
        saved(as_lea, run, criteria__0__name="theirs")
        response = as_lea.post(page_of(run), mine)
        assert response.status_code == 409
        assert "Someone else changed these settings after you opened the page." in text(response)
        assert judged_by(run).names == ("theirs", "style")
        again = fields_of(response)
        assert as_lea.post(page_of(run), again).status_code == 302
        assert judged_by(run).names == ("mine", "style")

    @pytest.mark.slow
    def test_button_does_not_hide_a_concurrent_change(self, as_lea: Client, run: Run) -> None:
        mine = filled_in(as_lea, run, action="add criteria")
        saved(as_lea, run, criteria__0__name="theirs")
        entered = fields_of(as_lea.post(page_of(run), mine)) | {"criteria-2-name": "new"}
        assert as_lea.post(page_of(run), entered).status_code == 409
