"""A rubric as forms: its scale, criteria, verdict rule and causes, to edit with problems at their fields.

A form has only texts, as people type them, and converts them to the JSON of `rubric_file.rubric_from_json`,
which validates them. A score keeps its JSON type: 1 is a number, "1" in quotes is text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from django import forms

from reviews.records.rubric import CIRCUMSTANCES, DIRECTIONS, RULES, Cause, Criterion, Rubric, VerdictRule
from reviews.records.rubric_file import Problem, RubricError, rubric_from_json
from reviews.records.scales import PairwiseScale, Scale, ScaleKind
from reviews.records.scores import Score, decode_score, encode_score
from reviews.rubric.score_input import ScoreInput

_KINDS: dict[ScaleKind, str] = {
    "values": "Values",
    "boolean": "True or false",
    "integer": "Whole numbers",
    "number": "Numbers",
    "pairwise": "Two responses",
}
_THRESHOLDS = {"pass_from": "pass_number", "partial_from": "partial_number"}
_RANGE = {name: name for name in ("min", "max", "lower_is_better")} | _THRESHOLDS
# The members of a scale, each with the field that it is edited in.
_FIELDS: dict[ScaleKind, dict[str, str]] = {
    "values": {name: name for name in ("values", "unranked", "pass_from", "partial_from")},
    "boolean": {"best": "best"},
    "integer": _RANGE,
    "number": _RANGE | {"step": "step"},
    "pairwise": {name: name for name in ("a", "b", "tie", "both_bad")},
}
# The rules with thresholds.
MEANS = ("mean", "weighted")
_USUAL_OUTCOMES = PairwiseScale().as_json()


class PartForm(forms.Form):
    """A part of a rubric. `problems` of the rubric are shown at its fields."""

    use_required_attribute = False
    #: The field for a problem of the part as a whole.
    first_field: ClassVar[str]

    def __init__(self, data: Any, *, prefix: str, initial: Mapping[str, Any]) -> None:
        super().__init__(data, prefix=prefix, initial={**initial})

    def entries(self) -> dict[str, Any]:
        """Return the entries by field, valid or not, as initial values for another form."""
        return {name: self[name].value() for name in self.fields}

    def text(self, name: str) -> str:
        value = self[name].value()
        return value if isinstance(value, str) else ""

    def find(self, place: str) -> tuple[forms.Form, str] | None:
        """Return the form and field for a place in the part's JSON; None if it has none."""
        name = place or self.first_field
        return (self, name) if name in self.fields else None

    def as_json(self) -> dict[str, Any] | None:
        """Return the part as `rubric_from_json` reads it."""
        raise NotImplementedError

    def _score(self, name: str) -> Score | None:
        """Return the score or number of a field; None if it is empty."""
        entry = self.text(name).strip()
        return decode_score(entry) if entry else None


def _line(label: str, help_text: str = "", **attrs: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"autocomplete": "off", **attrs})
    return forms.CharField(label=label, help_text=help_text, required=False, strip=False, widget=widget)


def _lines(label: str, help_text: str, rows: int) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(label=label, help_text=help_text, required=False, strip=False, widget=widget)


class ScaleForm(PartForm):
    """A scale. Only the fields of its kind count."""

    first_field = "kind"

    kind = forms.ChoiceField(label="Scale", choices=[*_KINDS.items()])
    values = _lines("Values", "One per line, best first. Quotes make a number text.", 3)
    unranked = _lines("Unranked values", "One per line, such as N/A. Verdicts skip them.", 1)
    pass_from = _line("Pass from", "The last value that counts as Yes.")
    partial_from = _line("Partial from", "The last value that counts as Partial.")
    best = forms.ChoiceField(
        label="Better value", choices=[("true", "true"), ("false", "false")], required=False
    )
    min = _line("Lowest", inputmode="decimal")
    max = _line("Highest", inputmode="decimal")
    step = _line("Step", inputmode="decimal")
    pass_number = _line("Pass from", inputmode="decimal")
    partial_number = _line("Partial from", inputmode="decimal")
    lower_is_better = forms.BooleanField(label="Lower is better", required=False)
    a = _line("A is better")
    b = _line("B is better")
    tie = _line("Tie")
    both_bad = _line("Both bad")

    @classmethod
    def entries_of(cls, scale: Scale | None) -> dict[str, Any]:
        """Return the initial values for a scale."""
        usual = {"best": "true", **_USUAL_OUTCOMES}
        if scale is None:
            return usual | {"kind": ""}
        members = scale.as_json()
        outcomes = dict.fromkeys(_FIELDS["pairwise"], "") if scale.kind == "pairwise" else {}
        fields = {
            field: _shown(members[name]) for name, field in _FIELDS[scale.kind].items() if name in members
        }
        return usual | outcomes | fields | {"kind": scale.kind}

    def as_json(self) -> dict[str, Any] | None:
        kind = self.text("kind")
        members: dict[str, Any] = {"kind": kind}
        for name, field in self._members.items():
            if field in {"values", "unranked"}:
                lines = map(str.strip, self.text(field).splitlines())
                members[name] = [decode_score(line) for line in lines if line]
            elif field == "lower_is_better":
                members[name] = bool(self[field].value())
            else:
                members[name] = self._score(field)
        return members

    @property
    def _members(self) -> dict[str, str]:
        return next((fields for kind, fields in _FIELDS.items() if kind == self.text("kind")), {})

    def find(self, place: str) -> tuple[forms.Form, str] | None:
        return super().find(self._members.get(place, place))

    @property
    def preview(self) -> ScoreInput | None:
        """The input that reviewers get; None while the scale is invalid."""
        with suppress(RubricError):
            return ScoreInput(Rubric(scale=rubric_from_json({"scale": self.as_json()}).scale), "")
        return None


class OwnScaleForm(ScaleForm):
    """The scale of a criterion, which may be the one of the run."""

    kind = forms.ChoiceField(
        label="Scale", choices=[("", "Same as the run's default"), *_KINDS.items()], required=False
    )

    def as_json(self) -> dict[str, Any] | None:
        return super().as_json() if self.text("kind") else None


class CriterionForm(PartForm):
    first_field = "name"

    name = _line("Name", "As in the records.")
    title = _line("Title", "On pages. Empty: the name in words.")
    description = _lines("Description", "Markdown. Reviewers see it below the title.", 1)
    required = forms.BooleanField(label="Required", required=False)
    weight = _line("Weight", inputmode="decimal")

    def __init__(self, data: Any, *, prefix: str, initial: Mapping[str, Any]) -> None:
        super().__init__(data, prefix=prefix, initial=initial)
        self.scale = OwnScaleForm(data, prefix=f"{prefix}-scale", initial=initial.get("scale", {}))

    @classmethod
    def entries_of(cls, criterion: Criterion) -> dict[str, Any]:
        return {
            "name": criterion.name,
            "title": criterion.title,
            "description": criterion.description,
            "required": criterion.is_required,
            "weight": encode_score(criterion.weight),
            "scale": OwnScaleForm.entries_of(criterion.scale),
        }

    def entries(self) -> dict[str, Any]:
        return super().entries() | {"scale": self.scale.entries()}

    def as_json(self) -> dict[str, Any]:
        members = {name: self.text(name) for name in ("name", "title", "description")}
        scale = self.scale.as_json()
        weight, is_required = self._score("weight"), bool(self["required"].value())
        return members | {"required": is_required, "weight": weight, "scale": scale}

    def find(self, place: str) -> tuple[forms.Form, str] | None:
        part, _, name = place.partition(".")
        return self.scale.find(name) if part == "scale" else super().find(place)


class VerdictForm(PartForm):
    first_field = "rule"

    rule = forms.ChoiceField(label="Rule", choices=[*RULES.items()])
    pass_from = _line("Pass from", "The lowest mean that passes.", inputmode="decimal")
    partial_from = _line("Partial from", "The lowest mean of a Partial.", inputmode="decimal")

    @classmethod
    def entries_of(cls, rule: VerdictRule) -> dict[str, Any]:
        return {name: _shown(value) for name, value in rule.as_json().items()}

    def as_json(self) -> dict[str, Any]:
        rule = self.text("rule")
        limits = ("pass_from", "partial_from") if rule in MEANS else ()
        return {"rule": rule, **{name: self._score(name) for name in limits}}


class CauseForm(PartForm):
    first_field = "title"

    title = _line("Title")
    directions = forms.MultipleChoiceField(
        label="Offered if the reviewer's score is",
        help_text="None chosen: always.",
        choices=[
            (word, {"raised": "higher", "lowered": "lower", "same": "the same"}[word]) for word in DIRECTIONS
        ],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    needs = forms.MultipleChoiceField(
        label="The record must have",
        choices=[
            (word, {"reference": "a reference answer", "verifier": "a verifier's result"}[word])
            for word in CIRCUMSTANCES
        ],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    @classmethod
    def entries_of(cls, cause: Cause) -> dict[str, Any]:
        return {"title": cause.title, "directions": [*cause.directions], "needs": [*cause.needs]}

    def as_json(self) -> dict[str, Any]:
        return {
            "title": self.text("title"),
            "directions": self["directions"].value() or [],
            "needs": self["needs"].value() or [],
        }


def _shown(value: Any) -> Any:
    """Return the entry for a member: scores as text, a list of them one per line."""
    if isinstance(value, list):
        return "\n".join(map(encode_score, value))
    return value if value is None else encode_score(value)


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
