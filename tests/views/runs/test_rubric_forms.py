"""The fields of a rubric on the settings page: their values, and problems at their fields."""

import re
from typing import Any

import pytest
from django.test import Client

from reviews.models import AuditEvent, Run, User
from reviews.records.rubric import Cause, Criterion, Rubric, VerdictRule
from reviews.records.rubric_file import MAX_CAUSES, MAX_CRITERIA
from reviews.records.scales import PairwiseScale, RangeScale, Scale, ValueScale
from reviews.rubric.run_rubric import declare_rubric
from tests.support.factories import RunFactory
from tests.support.pages import text
from tests.support.rubric_form import DEPTH, fields_of, filled_in, judged_by, page_of, renamed, saved

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", rubric=DEPTH.as_json())


def field_with_error(response: Any, name: str) -> str:
    """Return the errors that the page links to a field."""
    page = response.content.decode()
    field = re.search(rf'<(?:input|textarea|select)[^>]*name="{name}"[^>]*>', page)
    assert field, name
    assert 'aria-invalid="true"' in field[0], field[0]
    described = re.search(r'aria-describedby="([^"]*)"', field[0])
    assert described
    errors = re.search(rf'<ul class="errorlist" id="{described[1].split()[-1]}">(.*?)</ul>', page)
    assert errors
    return re.sub(r"<[^>]*>", "", errors[1])


class TestFields:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "scale",
        [
            None,
            ValueScale(("Yes", "Partial", "No"), "Yes", "Partial", ("N/A",)),
            ValueScale((1, "1", True, 1.5, "true", " padded"), "1"),
            ValueScale((False, True), False),
            ValueScale((True, False)),
            RangeScale(1, 10, pass_from=7, partial_from=4),
            RangeScale(0.5, 1, is_integer=False, step=0.25, pass_from=0.75),
            PairwiseScale(),
            PairwiseScale("[[A]]", "[[B]]", None, None),
            PairwiseScale(1, 2, 3, 0),
        ],
    )
    def test_unchanged_form_saves_the_same_rubric(
        self, as_lea: Client, run: Run, scale: Scale | None
    ) -> None:
        rubric = Rubric(
            (Criterion("a", "The A", "First.\n\nSecond.", is_required=False, weight=2.5, scale=scale),),
            scale or ValueScale(("good", "bad"), "good"),
            VerdictRule("weighted", 0.75, 0.5),
            (Cause("Too strict", ("raised", "same")), Cause("Verifier error", needs=("verifier",))),
        )
        declare_rubric(run_id=run.pk, actor=None, rubric=rubric)
        assert saved(as_lea, run).status_code == 302
        assert judged_by(run).as_json() == rubric.as_json()
        assert repr(judged_by(run)) == repr(rubric)

    @pytest.mark.parametrize(
        ("changes", "scale"),
        [
            (
                {"kind": "values", "values": '1\r\n\r\n "1" \r\ntrue', "unranked": "N/A", "pass_from": "1"},
                ValueScale((1, "1", True), 1, None, ("N/A",)),
            ),
            ({"kind": "boolean", "best": "false"}, ValueScale((False, True), False)),
            (
                {"kind": "integer", "min": "1", "max": "5", "pass_number": "2", "lower_is_better": "on"},
                RangeScale(1, 5, pass_from=2, lower_is_better=True),
            ),
            (
                {
                    "kind": "number",
                    "min": "0",
                    "max": "1",
                    "step": "0.1",
                    "partial_number": "",
                    "values": "x",
                },
                RangeScale(0, 1, is_integer=False, step=0.1),
            ),
            ({"kind": "pairwise", "both_bad": "neither"}, PairwiseScale(both_bad="neither")),
            ({"kind": ""}, None),
        ],
    )
    def test_each_kind_of_scale_is_saved_with_its_types(
        self, as_lea: Client, run: Run, changes: dict[str, str], scale: Scale | None
    ) -> None:
        entered = {f"criteria__1__scale__{name}": value for name, value in changes.items()}
        assert saved(as_lea, run, **entered).status_code == 302
        assert repr(judged_by(run).criteria[1].scale) == repr(scale)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("changes", "field", "sentence"),
        [
            ({"verdict__rule": "mean"}, "verdict-pass_from", "Enter the lowest mean that passes."),
            ({"verdict__rule": "best"}, "verdict-rule", "This must be one of worst, mean, weighted, none."),
            (
                {"scale__kind": ""},
                "scale-kind",
                "This must be one of values, boolean, integer, number, pairwise.",
            ),
            ({"scale__values": "Yes"}, "scale-values", "A scale has 2 to 15 values, not 1."),
            ({"scale__pass_from": "Maybe"}, "scale-pass_from", "“Maybe” is not one of the values."),
            ({"criteria__1__name": " "}, "criteria-1-name", "A name has 1 to 200 characters"),
            ({"criteria__0__title": "x" * 201}, "criteria-0-title", "A title has at most 200 characters"),
            (
                {"criteria__0__description": "x" * 10_001},
                "criteria-0-description",
                "A description has at most 10,000 characters",
            ),
            ({"criteria__0__weight": "heavy"}, "criteria-0-weight", "but takes a number."),
            ({"criteria__0__scale__kind": "integer"}, "criteria-0-scale-max", "This is missing."),
            (
                {
                    "criteria__0__scale__kind": "number",
                    "criteria__0__scale__min": "1",
                    "criteria__0__scale__max": "9",
                    "criteria__0__scale__pass_number": "10",
                },
                "criteria-0-scale-pass_number",
                "This must be from 1 to 9.",
            ),
            (
                {"criteria__1__scale__kind": "pairwise", "criteria__1__scale__b": "a"},
                "criteria-1-scale-a",
                "The values of the outcomes must differ.",
            ),
            ({"causes__0__title": ""}, "causes-0-title", "A name has 1 to 60 characters"),
        ],
    )
    def test_problem_is_shown_at_its_field(
        self, as_lea: Client, run: Run, changes: dict[str, str], field: str, sentence: str
    ) -> None:
        entered = filled_in(as_lea, run, **changes)
        response = as_lea.post(page_of(run), entered)
        assert response.status_code == 422
        assert sentence in field_with_error(response, field)
        assert "Not saved. Correct" in text(response)
        assert judged_by(run) == DEPTH
        if field not in {"verdict-rule", "scale-kind"}:
            problems = {problem.anchor for problem in response.context["editor"].problems}
            assert text(response).count('class="errorlist"') == len(problems)
        if field != "verdict-rule":
            kept = fields_of(response)
            assert {name: kept[name] for name in renamed(changes)} == renamed(changes)

    @pytest.mark.slow
    def test_problem_of_all_criteria_is_linked_to_their_heading(self, as_lea: Client, run: Run) -> None:
        response = saved(as_lea, run, criteria__1__name="depth")
        assert response.status_code == 422
        assert '<a href="#criteria-title">Criteria</a>: “depth” is listed twice.' in text(response)

    @pytest.mark.exhaustive
    def test_largest_rubric_is_saved(self, as_lea: Client, run: Run) -> None:
        causes = tuple(
            Cause(f"cause {n}", ("raised", "lowered", "same"), ("reference", "verifier"))
            for n in range(MAX_CAUSES)
        )
        largest = Rubric(
            tuple(
                Criterion(f"criterion {n}", scale=RangeScale(0, 9, lower_is_better=True))
                for n in range(MAX_CRITERIA)
            ),
            causes=causes,
        )
        declare_rubric(run_id=run.pk, actor=None, rubric=largest)
        assert saved(as_lea, run, criteria__99__name="last").status_code == 302
        assert judged_by(run).names[-1] == "last"

    def test_saving_declares_the_rubric(self, as_lea: Client, run: Run, lea: User) -> None:
        assert saved(as_lea, run).status_code == 302
        assert Run.objects.get().is_rubric_declared
        event = AuditEvent.objects.get()
        assert (event.action, event.actor) == ("declare rubric", lea)
