"""The people page, where admins manage accounts."""

from collections.abc import Callable
from functools import partial
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from cognireview.operations import mail
from reviews.accounts import api_tokens, one_time_links, people
from reviews.accounts.invitation_list import InvalidList, Invitee, parse_invitees
from reviews.accounts.permissions import ROLES, role_of
from reviews.database.pagination import split_page
from reviews.http.request import Request
from reviews.models import User
from reviews.queue.members import change_reviewer_role, deactivate_reviewer
from reviews.views.shortcuts import page_links, refusal_shown, render_form, requires

admins_only = requires("manage_people")
_PAGE_SIZE = 50
_STATES = {"active": True, "deactivated": False, "any": None}


def admin_action(view: Callable[[Request], HttpResponse]) -> Callable[[Request], HttpResponse]:
    """Restrict a POST view to admins who confirmed their identity recently."""
    return require_POST(admins_only(reauthentication_required(view)))


def admin_action_on_person(
    view: Callable[[Request, User], HttpResponse],
) -> Callable[[Request, int], HttpResponse]:
    """Like `admin_action`, for a view that takes a person instead of their primary key."""

    @require_POST
    @admins_only
    def loaded(request: Request, pk: int) -> HttpResponse:
        found = get_object_or_404(User, pk=pk)
        response: HttpResponse = reauthentication_required(view)(request, found)
        return response

    return loaded


class SearchForm(forms.Form):
    q = forms.CharField(
        required=False,
        label="Name, username or e-mail",
        max_length=300,
        widget=forms.TextInput(
            attrs={"type": "search", "autocomplete": "off", "placeholder": "Name, username or e-mail"}
        ),
    )
    role = forms.ChoiceField(
        required=False,
        label="Role",
        choices=[("", "Any role"), *((role, role.capitalize()) for role in ROLES), ("none", "No role")],
    )
    state = forms.ChoiceField(
        required=False, label="Account", choices=[(state, state.capitalize()) for state in _STATES]
    )


class InvitationForm(forms.Form):
    """The people to invite, and the role of those whose line has none. Mail is offered if it is set up."""

    people = forms.CharField(
        label="Names or e-mail addresses, one per line",
        max_length=50_000,
        help_text="With another role: Ana Smith, ana@example.org, lead",
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(label="Their role", choices=[(role, role) for role in ROLES])
    send = forms.BooleanField(required=False, initial=True, label="Send the invitations by e-mail")

    def __init__(self, data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        if not mail.is_set_up():
            del self.fields["send"]

    def clean(self) -> dict[str, object]:
        values = self.cleaned_data
        if {"people", "role"} <= values.keys():
            pending = {link.email.lower() for link in one_time_links.pending() if link.email}
            try:
                self.invitees = parse_invitees(values["people"], values["role"], pending=pending)
            except InvalidList as invalid:
                self.add_error("people", ValidationError(invalid.problems))
        return values

    #: The people of a valid form.
    invitees: list[Invitee]


@require_safe
@admins_only
def people_page(request: Request) -> HttpResponse:
    return render_people(request, InvitationForm())


def render_people(request: Request, form: InvitationForm) -> HttpResponse:
    """Render the people page, with status 422 for an invalid invitation."""
    search = SearchForm(request.GET if request.method == "GET" else None, auto_id="search-%s")
    chosen = search.cleaned_data if search.is_valid() else {}
    chosen = {name: value for name, value in chosen.items() if value}
    found = people.find_people(
        chosen.get("q", ""),
        chosen.get("role", ""),
        is_active=_STATES[chosen.get("state") or "active"],
    )
    after = request.GET.get("after", "").replace("\0", "")[:150]
    rows = found.filter(username__gt=after) if after else found
    page = split_page(rows[: _PAGE_SIZE + 1], _PAGE_SIZE, lambda person: person.username)
    activity = people.last_activity(page.rows)
    context = {
        "people": [(person, activity[person.pk].latest) for person in page.rows],
        "search": search,
        **page_links(reverse("people", query=chosen), after, page.next_after),
        "links": one_time_links.pending(),
        "required_roles": settings.SECOND_FACTOR_ROLES,
    }
    return render_form(request, "accounts/people/page.html", form, **context)


@require_safe
@admins_only
def person(request: Request, pk: int) -> HttpResponse:
    found: Any = get_object_or_404(people.all_people(), pk=pk)
    role = role_of(found)
    context = {
        "person": found,
        "role": role,
        "roles": list(ROLES),
        "activity": people.last_activity([found])[found.pk],
        "must_have_second_factor": role in settings.SECOND_FACTOR_ROLES and not found.is_from_provider,
        "tokens": api_tokens.valid_tokens(found),
    }
    return render(request, "accounts/people/person.html", context)


@admin_action_on_person
def change_role(request: Request, found: User) -> HttpResponse:
    role = request.POST.get("role", "")
    return _apply(request, found, partial(change_reviewer_role, role=role), f"{found.name} is now {role}.")


@admin_action_on_person
def reset_second_factor(request: Request, found: User) -> HttpResponse:
    message = f"{found.name} can sign in without a second factor until they add one."
    return _apply(request, found, people.reset_second_factor, message)


@admin_action_on_person
def deactivate(request: Request, found: User) -> HttpResponse:
    message = f"{found.name} can no longer sign in. Their decisions are kept."
    return _apply(request, found, deactivate_reviewer, message)


@admin_action_on_person
def reactivate(request: Request, found: User) -> HttpResponse:
    return _apply(request, found, people.reactivate, f"{found.name} can sign in again.")


def _apply(request: Request, found: User, change: Callable[..., None], message: str) -> HttpResponse:
    """Apply a change to a person and return to their page, with the message or the error."""
    with refusal_shown(request, people.AccountError):
        change(person=found, actor=request.user)
        messages.success(request, message)
    return redirect("person", found.pk)
