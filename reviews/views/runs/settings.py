"""The settings page of a run: its rubric, in forms or as TOML, with links to the other settings."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import NamedTuple

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from reviews.http.places import PLACES
from reviews.http.request import Request
from reviews.inbox.place import place_of
from reviews.models import Run
from reviews.records.conflicts import SettingsChanged
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import MAX_BYTES, RubricError, format_rubric, parse_rubric
from reviews.review.rubric_changes import change_rubric
from reviews.rubric.run_rubric import run_rubric
from reviews.views import inbox_navigation
from reviews.views.runs.archive import RunNameForm
from reviews.views.runs.rubric_forms import RubricEditor
from reviews.views.runs.setting_forms import GuidelineForm, MembersForm, QueueForm, SamplingForm
from reviews.views.runs.settings_page import SETTINGS_CHANGED, SettingsForm
from reviews.views.shortcuts import form_page, load_run

#: The settings with a page of their own, in the order of their cards.
FORMS: tuple[type[SettingsForm], ...] = (
    SamplingForm,
    GuidelineForm,
    QueueForm,
    MembersForm,
    RunNameForm,
)


class SettingsCard(NamedTuple):
    title: str
    text: str
    url: str
    verb: str = "Change"


class TomlForm(forms.Form):
    use_required_attribute = False

    toml = forms.CharField(
        label="Rubric as TOML",
        help_text="Edit it, or paste another rubric. Saving it replaces the fields above.",
        max_length=MAX_BYTES,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "spellcheck": "false", "class": "mono"}),
    )

    def clean_toml(self) -> Rubric:
        try:
            return parse_rubric(self.cleaned_data["toml"].encode())
        except RubricError as error:
            problems = [f"{place}: {reason}" for place, reason in error.problems]
            raise forms.ValidationError([forms.ValidationError(problem) for problem in problems]) from None


@form_page
def settings(request: Request, run_pk: int) -> HttpResponse:
    """Show the settings of a run.

    A POST saves the rubric from the fields, or with the action "save toml" from the text. Other actions only
    show the page with the entries changed: see `RubricEditor.after`. Answers 422 (invalid) or 409 (somebody
    else saved first); both keep the entries.
    """
    run = load_run(request, run_pk, "configure_run")
    if request.method != "POST":
        return _page(request, run, RubricEditor.for_rubric(run_rubric(run)))
    action = request.POST.get("action", "save")
    if action == "save toml":
        return _save_toml(request, run)
    editor = RubricEditor(request.POST)
    if action != "save":
        return _page(request, run, editor.after(action))
    try:
        rubric = editor.rubric()
    except RubricError as error:
        editor.show(error)
        return _page(request, run, editor, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return _declare(request, run, rubric) or _page(request, run, editor, status=HTTPStatus.CONFLICT)


def _save_toml(request: Request, run: Run) -> HttpResponse:
    form = TomlForm(request.POST)
    editor = RubricEditor.for_rubric(run_rubric(run))
    if not form.is_valid():
        return _page(request, run, editor, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    saved = _declare(request, run, form.cleaned_data["toml"])
    return saved or _page(request, run, editor, form, status=HTTPStatus.CONFLICT)


def _declare(request: Request, run: Run, rubric: Rubric) -> HttpResponse | None:
    """Declare a valid rubric. Return None if the run has another rubric than the person saw."""
    seen = request.POST.get("seen", "")
    try:
        change_rubric(run_id=run.pk, actor=request.user, rubric=rubric, seen=seen)
    except SettingsChanged:
        run.refresh_from_db()
        return None
    messages.success(request, "Saved. Verdicts follow this rubric from now on.")
    return redirect("run-settings", run.pk)


def _page(
    request: Request,
    run: Run,
    editor: RubricEditor,
    toml_form: TomlForm | None = None,
    *,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    known = run_rubric(run)
    # The page after a button that saves nothing is still based on the rubric that it began with.
    is_shown_first = request.method != "POST" or status == HTTPStatus.CONFLICT
    context = {
        "run": run,
        "editor": editor,
        "toml_form": toml_form or TomlForm(initial={"toml": format_rubric(_entered(editor, known))}),
        "seen": known.fingerprint if is_shown_first else request.POST.get("seen", ""),
        "conflict": SETTINGS_CHANGED if status == HTTPStatus.CONFLICT else "",
        "cards": list(_cards(request, run)),
    }
    return render(request, "runs/settings.html", context, status=status)


def _cards(request: Request, run: Run) -> Iterator[SettingsCard]:
    for form in FORMS:
        yield SettingsCard(PLACES[form.place].title, form.summary(run), reverse(form.place, args=[run.pk]))
    yield SettingsCard(
        PLACES["known-answers"].title,
        "Measure how far reviewers agree with your own reviews of the same records.",
        reverse("known-answers", args=[run.pk]),
        "Open",
    )
    if request.user.has_perm("reviews.import_file"):
        text = (
            "A mapping reads the files of this run."
            if run.mapping
            else "The files of this run have records as they are."
        )
        yield SettingsCard(PLACES["run-mapping"].title, text, reverse("run-mapping", args=[run.pk]))


def _entered(editor: RubricEditor, known: Rubric) -> Rubric:
    """Return the rubric of the entries, or the known one while they are invalid."""
    try:
        return editor.rubric()
    except RubricError:
        return known


@require_safe
def rubric_toml(request: Request, run_pk: int) -> HttpResponse:
    run = load_run(request, run_pk, "configure_run")
    response = HttpResponse(format_rubric(run_rubric(run)), content_type="application/toml")
    response.headers["Content-Disposition"] = 'attachment; filename="rubric.toml"'
    return response


@require_POST
def confirm_rubric(request: Request, run_pk: int) -> HttpResponse:
    """Declare the rubric of a run as it is, unless it is another one than the person saw."""
    run = load_run(request, run_pk, "configure_run")
    seen = request.POST.get("seen", "")
    try:
        change_rubric(run_id=run.pk, actor=request.user, rubric=run_rubric(run), seen=seen)
    except SettingsChanged:
        messages.warning(request, "The rubric has changed since you opened the page. Check it again.")
        return redirect("run-settings", run.pk)
    messages.success(request, f"The rubric of {run.name} is confirmed. Imports do not change it.")
    place = place_of(request)
    return inbox_navigation.go_on(request, place) if place else redirect("run", run.pk)
