"""The form that sends a record to a lead."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django import forms

from reviews.models import Escalation
from reviews.review.escalations import REASONS


class RadioOption(NamedTuple):
    value: str
    label: str
    checked: bool


class EscalationForm(forms.Form):
    """An escalation needs a reason or a note; a question needs a note."""

    CANNOT_JUDGE, QUESTION = Escalation.Kind.CANNOT_JUDGE.value, Escalation.Kind.QUESTION.value
    KINDS = ((CANNOT_JUDGE, "I can't judge this"), (QUESTION, "I have a question"))
    PRESETS = tuple((word, title) for word, title in REASONS.items() if word != "question")

    kind = forms.ChoiceField(choices=KINDS, initial=CANNOT_JUDGE)
    reason = forms.ChoiceField(choices=[("", ""), *PRESETS], required=False)
    note = forms.CharField(required=False, max_length=5_000)

    def clean(self) -> dict[str, Any]:
        values = dict(self.cleaned_data)
        note = values.get("note", "")
        if values.get("kind") == self.QUESTION:
            values["reason"] = "question"
            if not note and "note" not in self.errors:
                self.add_error("note", "Write your question.")
        elif not values.get("reason") and not note and not self.errors:
            self.add_error("reason", "Choose a reason, or write one.")
        return values

    @property
    def kinds(self) -> tuple[RadioOption, ...]:
        return self._options("kind", self.KINDS)

    @property
    def reasons(self) -> tuple[RadioOption, ...]:
        return self._options("reason", self.PRESETS)

    @property
    def typed_note(self) -> str:
        return str(self["note"].value() or "")

    def _options(self, name: str, choices: Iterable[tuple[str, str]]) -> tuple[RadioOption, ...]:
        chosen = self[name].value()
        return tuple(RadioOption(value, label, value == chosen) for value, label in choices)
