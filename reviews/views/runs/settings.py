"""The scoring settings of a run: its criteria, scores, verdict rule and causes."""

from collections.abc import Iterable
from typing import Any

from django import forms

from reviews.models import Run, User
from reviews.queue.claim_length import claim_length
from reviews.records.scores import Score, decode_score, encode_score
from reviews.records.verdict import LEVELS, VerdictRule
from reviews.rubric import definition
from reviews.rubric.definition import Rubric, configure_rubric, run_rubric
from reviews.views.runs.settings_page import SettingsForm

# The form field that shows the problems of a part of the rubric.
_FIELDS = {"scores": "yes", "rule": "kind"}


class LinesField(forms.CharField):
    """One value per line. Surrounding spaces and empty lines are ignored."""

    widget = forms.Textarea

    def clean(self, value: Any) -> list[str]:
        text = str(super().clean(value))
        return [line.strip() for line in text.split("\n") if line.strip()]


class ScoringForm(SettingsForm):
    """A rubric as people edit it."""

    template = "runs/settings.html"
    saved = "Saved. Verdicts follow these settings from now on."

    seen = forms.CharField(widget=forms.HiddenInput)
    criteria = LinesField(
        required=False, label="Names", help_text="One per line, in the order that reviewers see them."
    )
    yes = LinesField(required=False, label="Counts as Yes")
    partial = LinesField(required=False, label="Counts as Partial")
    no = LinesField(required=False, label="Counts as No")
    other = LinesField(required=False, label="Not scored")
    kind = forms.ChoiceField(
        label="Verdict rule",
        choices=[
            ("worst", "Worst score: any No fails, otherwise any Partial is Partial, and all Yes passes"),
            ("mean", "Mean of all scores, which must be numbers"),
        ],
        widget=forms.RadioSelect,
    )
    pass_from = forms.FloatField(required=False, label="Pass from a mean of")
    partial_from = forms.FloatField(required=False, label="Partial from a mean of")
    causes = LinesField(label="Names", help_text="One per line. The first ten get a digit key.")

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, run)
        for field in self.fields.values():
            if isinstance(field, LinesField):
                field.widget.attrs |= {"rows": 4, "spellcheck": "false"}
        for name in ("criteria", "causes"):
            self.fields[name].widget.attrs["rows"] = 8

    def stored_values(self, run: Run) -> dict[str, Any]:
        known = run_rubric(run)
        rule = known.rule
        is_mean = rule.kind == "mean"
        levels = {
            name: [] if is_mean else [s for s in known.scores if rule.level(s) == name] for name in LEVELS
        }
        others = [score for score in known.scores if is_mean or rule.level(score) is None]
        return {
            "criteria": "\n".join(known.criteria),
            **{name: _lines(scores) for name, scores in levels.items()},
            "other": _lines(others),
            "kind": rule.kind,
            "pass_from": rule.pass_from if is_mean else None,
            "partial_from": rule.partial_from if is_mean else None,
            "causes": "\n".join(cause.title for cause in known.causes),
            "seen": known.fingerprint,
        }

    def configure(self, run: Run, actor: User) -> None:
        configure_rubric(run_id=run.pk, actor=actor, rubric=self.rubric(), seen=self.cleaned_data["seen"])

    def field_of(self, setting: str) -> str:
        return _FIELDS.get(setting, setting)

    def context(self, run: Run) -> dict[str, Any]:
        return {
            "claim_minutes": round(claim_length(run).total_seconds() / 60),
            "choices": run_rubric(run).choices(),
            "groups": [self[name] for name in (*LEVELS, "other")],
        }

    def rubric(self) -> Rubric:
        """Return the rubric of the valid form."""
        said = self.cleaned_data
        yes, partial, no, other = (tuple(map(decode_score, said[name])) for name in (*LEVELS, "other"))
        rule = VerdictRule("worst", yes, partial, no)
        if said["kind"] == "mean":
            rule = VerdictRule("mean", (), (), (), _number(said["pass_from"]), _number(said["partial_from"]))
        return Rubric(
            criteria=tuple(said["criteria"]),
            scores=(*yes, *partial, *no, *other),
            rule=rule,
            causes=definition.causes_named(said["causes"]),
        )


def _lines(scores: Iterable[Score]) -> str:
    return "\n".join(map(encode_score, scores))


def _number(entered: float | None) -> float:
    """Return a whole number as an integer, and a missing number as NaN, which no rule accepts."""
    if entered is None:
        return float("nan")
    return int(entered) if entered.is_integer() else entered
