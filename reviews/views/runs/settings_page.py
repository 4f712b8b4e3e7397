"""A settings page of a run: its form, and saving it unless somebody else saved first."""

from http import HTTPStatus
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from reviews.http.places import PLACES
from reviews.http.request import Request
from reviews.models import Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.rubric.run_settings import InvalidSettings
from reviews.views.form_fields import add_problems
from reviews.views.shortcuts import form_page, load_run

SETTINGS_CHANGED = (
    "Someone else changed these settings after you opened the page. Your entries are kept; saving replaces"
    " theirs."
)


class SettingsForm(forms.Form):
    """Settings of a run as people edit them, on a page of their own with a card on the page of all settings.

    If saving must not replace the changes of somebody else, the form has a hidden field `seen`: the
    fingerprint of the settings that it began with.
    """

    use_required_attribute = False
    #: The URL name of the page. Its title is in `PLACES`.
    place: ClassVar[str]
    #: The last part of its URL.
    path: ClassVar[str]
    #: A sentence below its title; empty for none.
    intro: ClassVar[str] = ""
    template: ClassVar[str] = "runs/setting.html"
    #: The message after saving.
    saved: ClassVar[str]
    #: The URL name of the page that follows.
    next_page: ClassVar[str] = "run-settings"

    def __init__(self, data: Any, run: Run) -> None:
        super().__init__(data, initial=self.stored_values(run))

    @classmethod
    def summary(cls, run: Run) -> str:
        """Return the sentence of its card: the current setting."""
        raise NotImplementedError

    def stored_values(self, run: Run) -> dict[str, Any]:
        """Return the initial values of the fields."""
        raise NotImplementedError

    def configure(self, run: Run, actor: User) -> None:
        """Save the valid form. Raises `InvalidSettings` and `SettingsChanged`."""
        raise NotImplementedError

    def context(self, run: Run) -> dict[str, Any]:
        """Return the template's context, without `run` and `form`."""
        return {}


@form_page
def settings_page(request: Request, run_pk: int, form_class: type[SettingsForm]) -> HttpResponse:
    """Show the form; on POST save it, or answer 422 (invalid) or 409 (somebody else saved first)."""
    run = load_run(request, run_pk, "configure_run")
    form = form_class(request.POST if request.method == "POST" else None, run)
    status = HTTPStatus.OK
    if form.is_valid():
        try:
            form.configure(run, request.user)
        except InvalidSettings as invalid:
            add_problems(form, invalid)
        except SettingsChanged:
            run.refresh_from_db()
            posted = request.POST.copy()
            posted["seen"] = form.stored_values(run)["seen"]
            form = form_class(posted, run)
            form.add_error(None, SETTINGS_CHANGED)
            status = HTTPStatus.CONFLICT
        else:
            messages.success(request, form.saved)
            return redirect(form.next_page, run.pk)
    if form.errors and status == HTTPStatus.OK:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    context = {"run": run, "form": form, "title": PLACES[form.place].title, **form.context(run)}
    return render(request, form.template, context, status=status)
