"""How a run is judged, on one page: its criteria, scores, verdict rule and causes."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from reviews.accounts.permissions import check
from reviews.http.request import Request
from reviews.models import Run
from reviews.queue.claim_length import claim_length
from reviews.records.scores import Score, decode_score, encode_score
from reviews.records.verdict import LEVELS, VerdictRule
from reviews.rubric import definition
from reviews.rubric.definition import Rubric, WrongRubric

_OUTDATED = (
    "Somebody changed these settings since you opened the page. What you entered stands below; saving it puts"
    " it in the place of theirs."
)
# Which field tells what is wrong with which part of a rubric.
_FIELDS = {"criteria": "criteria", "scores": "yes", "rule": "kind", "causes": "causes"}


class LinesField(forms.CharField):
    """One value a line; spaces around it and empty lines do not count."""

    widget = forms.Textarea

    def clean(self, value: Any) -> list[str]:
        text = str(super().clean(value))
        return [line.strip() for line in text.split("\n") if line.strip()]


class RunSettingsForm(forms.Form):
    """A rubric as people write it. `seen` is the fingerprint of the one they began with."""

    criteria = LinesField(
        required=False, label="Names", help_text="One a line, in the order reviewers see them."
    )
    yes = LinesField(required=False, label="Count as Yes")
    partial = LinesField(required=False, label="Count as Partial")
    no = LinesField(required=False, label="Count as No")
    other = LinesField(required=False, label="Count as none of these")
    kind = forms.ChoiceField(
        label="The verdict is",
        choices=[
            ("worst", "the worst score: any No is a Fail, else any Partial a Partial, and all Yes a Pass"),
            ("mean", "the mean of all scores, which have to be numbers"),
        ],
        widget=forms.RadioSelect,
    )
    pass_from = forms.FloatField(required=False, label="Pass from a mean of")
    partial_from = forms.FloatField(required=False, label="Partial from a mean of")
    causes = LinesField(help_text="One a line. The first ten have a digit for a key.")
    seen = forms.CharField(widget=forms.HiddenInput)
    use_required_attribute = False

    def __init__(self, data: Any, known: Rubric) -> None:
        super().__init__(data, initial=_initial(known))
        for field in self.fields.values():
            if isinstance(field, LinesField):
                field.widget.attrs |= {"rows": 4, "spellcheck": "false"}
        for name in ("criteria", "causes"):
            self.fields[name].widget.attrs["rows"] = 8

    def rubric(self) -> Rubric:
        """What the valid form says."""
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

    def tell(self, wrong: WrongRubric) -> None:
        for part, sentences in wrong.problems.items():
            self.add_error(_FIELDS[part], sentences)


def _initial(known: Rubric) -> dict[str, Any]:
    rule = known.rule
    is_mean = rule.kind == "mean"
    levels = {name: [] if is_mean else [s for s in known.scores if rule.level(s) == name] for name in LEVELS}
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


def _lines(scores: Iterable[Score]) -> str:
    return "\n".join(map(encode_score, scores))


def _number(entered: float | None) -> float:
    """A whole number without its ".0"; no number at all is one that no rule takes."""
    if entered is None:
        return float("nan")
    return int(entered) if entered.is_integer() else entered


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def run_settings(request: Request, run_pk: int) -> HttpResponse:
    """Show the settings of a run; a POST changes them, or says in the form why not (422, 409)."""
    check(request.user, "configure_run")
    run = get_object_or_404(Run, pk=run_pk)
    form = RunSettingsForm(request.POST if request.method == "POST" else None, definition.of(run))
    if form.is_valid():
        try:
            definition.configure(
                run_id=run.pk, actor=request.user, rubric=form.rubric(), seen=form.cleaned_data["seen"]
            )
        except WrongRubric as wrong:
            form.tell(wrong)
        except definition.Outdated:
            return _outdated(request, run)
        else:
            messages.success(request, "Saved. Verdicts are shown by these settings from now on.")
            return redirect("run-settings", run.pk)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.errors else HTTPStatus.OK
    return _page(request, run, form, status)


def _outdated(request: Request, run: Run) -> HttpResponse:
    """What was entered, on top of what is in force by now."""
    run.refresh_from_db()
    known = definition.of(run)
    data = request.POST.copy()
    data["seen"] = known.fingerprint
    form = RunSettingsForm(data, known)
    form.add_error(None, _OUTDATED)
    return _page(request, run, form, HTTPStatus.CONFLICT)


def _page(request: Request, run: Run, form: RunSettingsForm, status: HTTPStatus) -> HttpResponse:
    known = definition.of(run)
    context = {
        "run": run,
        "form": form,
        "claim_minutes": round(claim_length(run).total_seconds() / 60),
        "choices": known.choices(),
        "groups": [form[name] for name in (*LEVELS, "other")],
    }
    return render(request, "runs/settings.html", context, status=status)
