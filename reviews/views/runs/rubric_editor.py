"""A rubric as forms: add, remove and move its criteria and causes, and show problems at their fields."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

from django import forms

from reviews.records.rubric import Cause, Criterion, Rubric
from reviews.records.rubric_file import Problem, RubricError, rubric_from_json
from reviews.views.runs.rubric_forms import CauseForm, CriterionForm, PartForm, ScaleForm, VerdictForm

Row = TypeVar("Row", bound=PartForm)

_PLACE = re.compile(r"(scale|verdict|criteria|causes)(?:\[(\d+)\])?(?:\.(.+))?")
_ACTION = re.compile(r"(add|remove|up|down) (criteria|causes)(?: (\d{1,4}))?")
_TITLES = {"scale": "Default scale", "verdict": "Verdict", "criteria": "Criterion", "causes": "Cause"}


class LinkedProblem(NamedTuple):
    #: The id of the field or section.
    anchor: str
    #: The part of the rubric, for people.
    title: str
    reason: str


class RubricEditor:
    """The forms of a rubric. Bound forms have posted data; other forms have initial entries."""

    def __init__(self, data: Any = None, entries: Mapping[str, Any] | None = None) -> None:
        known = entries or {}
        self.verdict = VerdictForm(data, prefix="verdict", initial=known.get("verdict", {}))
        self.scale = ScaleForm(data, prefix="scale", initial=known.get("scale", {}))
        self.criteria = _rows(CriterionForm, "criteria", data, known.get("criteria", []))
        self.causes = _rows(CauseForm, "causes", data, known.get("causes", []))
        #: The problems shown, for the list above the fields.
        self.problems: list[LinkedProblem] = []

    @classmethod
    def for_rubric(cls, rubric: Rubric) -> Self:
        return cls(
            entries={
                "verdict": VerdictForm.entries_of(rubric.rule),
                "scale": ScaleForm.entries_of(rubric.scale),
                "criteria": [*map(CriterionForm.entries_of, rubric.criteria)],
                "causes": [*map(CauseForm.entries_of, rubric.causes)],
            }
        )

    def rubric(self) -> Rubric:
        """Return the rubric that the entries make. Raises `RubricError` with every problem."""
        return rubric_from_json(self._parts(lambda form: form.as_json()))

    def after(self, action: str) -> Self:
        """Return the editor after an action: "add criteria", "remove criteria 2", or with "up" or "down".

        Places count from 0. An unknown action or place changes nothing.
        """
        entries = self._parts(lambda form: form.entries())
        if found := _ACTION.fullmatch(action):
            verb, part, place = found.groups()
            _change(entries[part], verb, part, int(place or 0))
        return type(self)(entries=entries)

    def _parts(self, read: Callable[[PartForm], Any]) -> dict[str, Any]:
        return {
            "verdict": read(self.verdict),
            "scale": read(self.scale),
            "criteria": [*map(read, self.criteria)],
            "causes": [*map(read, self.causes)],
        }

    def show(self, error: RubricError) -> None:
        """Show problems at the fields of bound forms."""
        for problem in error.problems:
            self.problems.append(self._linked(problem))

    def _linked(self, problem: Problem) -> LinkedProblem:
        found = _PLACE.fullmatch(problem.place)
        if not found:
            return LinkedProblem("rubric-title", problem.place, problem.reason)
        part, number, name = found.groups()
        if part in {"criteria", "causes"} and not number:
            return LinkedProblem(f"{part}-title", part.capitalize(), problem.reason)
        field = self._field(part, int(number or 0), name or "")
        title = f"{_TITLES[part]} {number}" if number else _TITLES[part]
        if field is None:
            return LinkedProblem("rubric-title", f"{title} {name}", problem.reason)
        form, name = field
        form.add_error(name, problem.reason)
        bound = form[name]
        return LinkedProblem(bound.id_for_label or bound.auto_id, f"{title}, {bound.label}", problem.reason)

    def _field(self, part: str, number: int, name: str) -> tuple[forms.Form, str] | None:
        if part == "scale":
            return self.scale.find(name)
        if part == "verdict":
            return self.verdict.find(name)
        rows: Sequence[PartForm] = self.criteria if part == "criteria" else self.causes
        return rows[number - 1].find(name)


def _rows(form_class: type[Row], part: str, data: Any, entries: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the forms of posted rows, which end before the first missing number, or those of entries."""
    if data is None:
        return [form_class(None, prefix=f"{part}-{place}", initial=row) for place, row in enumerate(entries)]
    rows: list[Row] = []
    while f"{part}-{len(rows)}-{form_class.first_field}" in data:
        rows.append(form_class(data, prefix=f"{part}-{len(rows)}", initial={}))
    return rows


def _change(rows: list[dict[str, Any]], verb: str, part: str, place: int) -> None:
    if verb == "add":
        blank = (
            CriterionForm.entries_of(Criterion("")) if part == "criteria" else CauseForm.entries_of(Cause(""))
        )
        rows.append(blank)
    elif place < len(rows) and verb == "remove":
        del rows[place]
    elif 0 <= (other := place + (1 if verb == "down" else -1)) < len(rows) and place < len(rows):
        rows[place], rows[other] = rows[other], rows[place]
