"""The settings page of a run, with its rubric."""

import re
from copy import deepcopy
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.records.rubric import Cause, Criterion, Rubric
from reviews.records.rubric_file import MAX_CAUSES, MAX_CRITERIA, format_rubric, parse_rubric
from reviews.records.scales import PairwiseScale, RangeScale, Scale, ValueScale
from reviews.records.verdict import VerdictRule
from reviews.rubric.run_rubric import declare_rubric, run_rubric
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db
STRICT = """\
[scale]
kind = "values"
values = ["Yes", "Partial", "No"]
pass_from = "Yes"
"""
DEPTH = Rubric((Criterion("depth"), Criterion("style")))
Fields = dict[str, str | list[str]]


class _Fields(HTMLParser):
    """Collect the fields that a browser posts for the rubric form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: Fields = {}
        self._is_inside = False
        self._name = ""
        self._is_text = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_inside = known.get("id") == "rubric"
        elif not self._is_inside:
            return
        elif tag == "input" and known.get("type") == "checkbox":
            if "checked" in known:
                chosen = self.posted.setdefault(known["name"], [])
                assert isinstance(chosen, list)
                chosen.append(known.get("value", "on"))
        elif tag == "input" and "disabled" not in known:
            self.posted[known["name"]] = known.get("value", "")
        elif tag in {"select", "textarea"}:
            self._name, self._is_text = known["name"], tag == "textarea"
            self.posted[self._name] = ""
        elif tag == "option" and "selected" in known:
            self.posted[self._name] = known["value"]

    def handle_endtag(self, tag: str) -> None:
        self._is_text = self._is_text and tag != "textarea"

    def handle_data(self, data: str) -> None:
        if self._is_inside and self._is_text:
            self.posted[self._name] = data.removeprefix("\r\n").removeprefix("\n")


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="Algebra", rubric=DEPTH.as_json())


def page_of(run: Run) -> str:
    return reverse("run-settings", args=[run.pk])


def fields_of(response: Any) -> Fields:
    parser = _Fields()
    parser.feed(response.content.decode())
    assert parser.posted, "The page has no rubric form."
    return parser.posted


# The fields that a browser posts for a rubric, by its fingerprint.
_FIELDS: dict[str, Fields] = {}


def filled_in(client: Client, run: Run, **changes: str) -> Fields:
    """Return the fields that a browser posts from the current page. `a__b_c` changes the field `a-b_c`.

    The page of a rubric is opened once.
    """
    shown = judged_by(run).fingerprint
    if shown not in _FIELDS:
        _FIELDS[shown] = fields_of(client.get(page_of(run)))
    return deepcopy(_FIELDS[shown]) | renamed(changes)


def renamed(changes: dict[str, str]) -> dict[str, str]:
    return {name.replace("__", "-"): value for name, value in changes.items()}


def saved(client: Client, run: Run, **changes: str) -> Any:
    return client.post(page_of(run), filled_in(client, run, **changes))


def saved_toml(client: Client, run: Run, toml: str) -> Any:
    seen = filled_in(client, run)["seen"]
    return client.post(page_of(run), {"action": "save toml", "toml": toml, "seen": seen})


def judged_by(run: Run) -> Rubric:
    return run_rubric(Run.objects.get(pk=run.pk))


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


@pytest.mark.slow
class TestSettingsPage:
    def test_settings_page_is_linked_with_permission(self, as_ana: Client, lea: User, run: Run) -> None:
        assert page_of(run) not in text(as_ana.get(reverse("run", args=[run.pk])))
        as_ana.force_login(lea)
        assert page_of(run) in text(as_ana.get(reverse("run", args=[run.pk])))

    def test_changed_rubric_changes_shown_verdicts_and_no_record(self, as_lea: Client, run: Run) -> None:
        scores = {"a": {"score": "Yes"}, "b": {"score": "Partial"}}
        evaluation = EvaluationFactory.create(
            run=run, human_review_status="Completed", human_corrected_scores=scores
        )
        before = Evaluation.objects.filter(pk=evaluation.pk).values().get()
        assert saved(as_lea, run, scale__partial_from="").status_code == 302
        record = Evaluation.objects.select_related("run").get(pk=evaluation.pk)
        assert run_rubric(record.run).verdict(record.human_corrected_scores) == "Fail"
        assert Evaluation.objects.filter(pk=evaluation.pk).values().get() == before

    def test_preview_shows_buttons_with_their_keys(self, as_lea: Client, run: Run) -> None:
        shown = text(as_lea.get(page_of(run)))
        assert 'data-counts="yes">Yes <kbd>Y</kbd>' in shown
        assert 'data-counts="partial">Partial <kbd>P</kbd>' in shown
        response = as_lea.post(
            page_of(run),
            filled_in(as_lea, run, action="preview", scale__kind="number", scale__max="1", scale__min="0"),
        )
        assert "Enter a number from 0 to 1." in text(response)


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
            (Cause("Too strict", ("raised", "same")), Cause("Verifier wrong", needs=("verifier",))),
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

    def test_problem_of_all_criteria_is_linked_to_their_heading(self, as_lea: Client, run: Run) -> None:
        response = saved(as_lea, run, criteria__1__name="depth")
        assert response.status_code == 422
        assert '<a href="#criteria-title">Criteria</a>: “depth” is listed twice.' in text(response)

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


class TestToml:
    def test_settings_page_shows_the_rubric_as_toml(self, as_lea: Client, run: Run) -> None:
        shown = as_lea.get(page_of(run)).context["toml_form"]["toml"].value()
        assert shown == format_rubric(DEPTH)

    @pytest.mark.slow
    def test_toml_shows_the_entries(self, as_lea: Client, run: Run) -> None:
        response = as_lea.post(page_of(run), filled_in(as_lea, run, action="remove criteria 0"))
        shown = response.context["toml_form"]["toml"].value()
        assert parse_rubric(shown.encode()).names == ("style",)

    def test_rubric_is_saved_from_toml(self, as_lea: Client, run: Run) -> None:
        assert saved_toml(as_lea, run, STRICT).status_code == 302
        assert judged_by(run) == parse_rubric(STRICT.encode())

    def test_rubric_is_downloaded_as_toml(self, as_lea: Client, run: Run) -> None:
        response = as_lea.get(reverse("rubric-toml", args=[run.pk]))
        assert parse_rubric(response.content) == DEPTH
        assert response.headers["Content-Disposition"] == 'attachment; filename="rubric.toml"'

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("toml", "sentence"),
        [
            ("", "This field is required."),
            ("[scale", "rubric: The file is not TOML:"),
            ('verdict = "best"', "verdict.rule: This must be one of worst, mean, weighted, none."),
            ('[[criteria]]\nname = "a"\n[[criteria]]\nname = "a"', "criteria: “a” is listed twice."),
            ('[scale]\nkind = "integer"\nmin = 1', "scale.max: This is missing."),
        ],
    )
    def test_invalid_toml_keeps_the_entry(self, as_lea: Client, run: Run, toml: str, sentence: str) -> None:
        response = saved_toml(as_lea, run, toml)
        assert response.status_code == 422
        assert sentence in text(response)
        assert response.context["toml_form"]["toml"].value() == toml
        assert judged_by(run) == DEPTH

    def test_concurrent_change_keeps_the_toml(self, as_lea: Client, run: Run) -> None:
        seen = filled_in(as_lea, run)["seen"]
        saved(as_lea, run, criteria__0__name="theirs")
        response = as_lea.post(page_of(run), {"action": "save toml", "toml": STRICT, "seen": seen})
        assert response.status_code == 409
        assert response.context["toml_form"]["toml"].value() == STRICT
        assert judged_by(run).names == ("theirs", "style")
