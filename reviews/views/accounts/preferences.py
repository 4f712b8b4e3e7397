"""The preferences page: theme, shortcuts and notifications."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from cognireview.operations import mail
from reviews.accounts import preferences
from reviews.accounts.preferences import COMMANDS
from reviews.http.request import Request
from reviews.models import User
from reviews.notifications import event_types
from reviews.notifications.event_types import When
from reviews.views.shortcuts import form_page, render_form


class PreferencesForm(forms.Form):
    """The theme, whether shortcuts are on, and a field `key-<command>` for each command."""

    theme = forms.ChoiceField(choices=User.Theme.choices, widget=forms.RadioSelect)
    has_shortcuts = forms.BooleanField(required=False, label="Single-key shortcuts")

    def __init__(self, user: User, data: Any = None) -> None:
        keys = preferences.chosen_keys(user)
        initial: dict[str, Any] = {"theme": user.theme, "has_shortcuts": user.has_shortcuts}
        initial |= {f"key-{name}": key.upper() for name, key in keys.items()}
        super().__init__(data, initial=initial)
        for command in COMMANDS:
            widget = forms.TextInput(attrs={"maxlength": 1, "autocapitalize": "none", "spellcheck": "false"})
            self.fields[f"key-{command.name}"] = forms.CharField(
                label=command.full_title, max_length=1, required=False, widget=widget
            )

        # Without a mail server there is nothing to choose.
        self.events = list(event_types.offered_to(user)) if mail.is_set_up() else []
        if self.events:
            self.fields["email"] = forms.EmailField(
                label="E-mail address", required=False, widget=forms.EmailInput(attrs={"class": "input"})
            )
            self.initial["email"] = user.email
        for name in self.events:
            self.fields[f"event-{name}"] = forms.ChoiceField(
                label=event_types.EVENTS[name].title,
                choices=[(when.value, when.value.capitalize()) for when in When],
                initial=event_types.choice(user, name).value,
                # A form without these fields changes nothing.
                required=False,
                widget=forms.RadioSelect,
            )

    @property
    def notifications(self) -> list[forms.BoundField]:
        return [self[f"event-{name}"] for name in self.events]

    @property
    def choices(self) -> dict[str, When]:
        """The chosen times by event."""
        sent = {name: self.cleaned_data[f"event-{name}"] for name in self.events}
        return {name: When(when) for name, when in sent.items() if when}

    @property
    def keys(self) -> list[forms.BoundField]:
        return [self[f"key-{command.name}"] for command in COMMANDS]


@form_page
def preferences_page(request: Request) -> HttpResponse:
    form = PreferencesForm(request.user, request.POST if request.method == "POST" else None)
    if form.is_valid() and _save(form, request.user):
        messages.success(request, "Preferences saved.")
        return redirect("preferences")
    context = {
        "has_events": bool(event_types.offered_to(request.user)),
        "sends_mail": mail.is_set_up(),
        "digest_hour": event_types.DIGEST_HOUR,
    }
    return render_form(request, "accounts/preferences/page.html", form, **context)


@require_POST
def dismiss_key_hint(request: Request) -> HttpResponse:
    """Remove the hint of three keys from the review screen for good."""
    preferences.dismiss_key_hint(user=request.user)
    return HttpResponse() if request.htmx else redirect("preferences")


def _save(form: PreferencesForm, user: User) -> bool:
    """Save the preferences. Return whether they were saved; if not, the form has the errors."""
    values = form.cleaned_data
    keys = {command.name: values[f"key-{command.name}"] for command in COMMANDS}
    try:
        preferences.save(user=user, theme=values["theme"], has_shortcuts=values["has_shortcuts"], keys=keys)
    except preferences.InvalidShortcuts as error:
        for name, reason in error.reasons.items():
            form.add_error(f"key-{name}", reason)
        return False
    if form.choices:
        event_types.choose(person=user, choices=form.choices, email=values["email"])
    return True
