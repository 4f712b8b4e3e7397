"""The people page, where admins manage accounts."""

from collections.abc import Callable
from functools import partial

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts import api_tokens, one_time_links, people
from reviews.accounts.permissions import ROLES, role_of
from reviews.http.request import Request
from reviews.models import User
from reviews.queue.deactivation import change_reviewer_role, deactivate_reviewer
from reviews.views.access import requires

admins_only = requires("manage_people")


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


class InvitationForm(forms.Form):
    """The role of the new person, and the address for the link."""

    role = forms.ChoiceField(choices=[(role, role) for role in ROLES])
    email = forms.EmailField(
        required=False,
        label="E-mail (optional)",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )


@require_safe
@admins_only
def people_page(request: Request) -> HttpResponse:
    return render_people(request, InvitationForm())


def render_people(request: Request, form: InvitationForm) -> HttpResponse:
    """Render the people page, with status 422 for an invalid form."""
    context = {"people": people.all_people(), "links": one_time_links.pending(), "form": form}
    return render(request, "accounts/people/page.html", context, status=422 if form.is_bound else 200)


@require_safe
@admins_only
def person(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(people.all_people(), pk=pk)
    context = {
        "person": found,
        "role": role_of(found),
        "roles": list(ROLES),
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
    try:
        change(person=found, actor=request.user)
    except people.AccountError as error:
        messages.error(request, error.reason)
    else:
        messages.success(request, message)
    return redirect("person", found.pk)
