"""The people page: who has an account, and what an admin does about it."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from reviews.accounts import api_tokens, one_time_links, people
from reviews.accounts.permissions import ROLES, check, role_of
from reviews.http.request import Request
from reviews.models import User
from reviews.queue.deactivation import deactivate_reviewer

P = ParamSpec("P")


def for_admins(
    view: Callable[Concatenate[Request, P], HttpResponse],
) -> Callable[Concatenate[Request, P], HttpResponse]:
    """Only an admin gets this view."""

    @never_cache
    @wraps(view)
    def checked(request: Request, *args: P.args, **options: P.kwargs) -> HttpResponse:
        check(request.user, "manage_people")
        return view(request, *args, **options)

    return cast("Callable[Concatenate[Request, P], HttpResponse]", checked)


def changing_people(view: Callable[[Request], HttpResponse]) -> Callable[[Request], HttpResponse]:
    """Only an admin who proved who they are in the last minutes gets this view, by POST."""
    return require_POST(for_admins(reauthentication_required(view)))


def changing_person(view: Callable[[Request, User], HttpResponse]) -> Callable[[Request, int], HttpResponse]:
    """The same for a view about one person, whom it is given."""

    @require_POST
    @for_admins
    def loaded(request: Request, pk: int) -> HttpResponse:
        found = get_object_or_404(User, pk=pk)
        response: HttpResponse = reauthentication_required(view)(request, found)
        return response

    return loaded


class InvitationForm(forms.Form):
    """The role of whoever will join, and where to send the link."""

    role = forms.ChoiceField(choices=[(role, role) for role in ROLES])
    email = forms.EmailField(
        required=False,
        label="E-mail (optional)",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )


@require_safe
@for_admins
def people_page(request: Request) -> HttpResponse:
    return render_people(request, InvitationForm())


def render_people(request: Request, form: InvitationForm) -> HttpResponse:
    """The page as it stands; 422 with a form that was refused."""
    context = {"people": people.all_people(), "links": one_time_links.pending(), "form": form}
    return render(request, "accounts/people/page.html", context, status=422 if form.is_bound else 200)


@require_safe
@for_admins
def person(request: Request, pk: int) -> HttpResponse:
    found = get_object_or_404(people.all_people(), pk=pk)
    context = {
        "person": found,
        "role": role_of(found),
        "roles": list(ROLES),
        "tokens": api_tokens.valid_tokens(found),
    }
    return render(request, "accounts/people/person.html", context)


@changing_person
def change_role(request: Request, found: User) -> HttpResponse:
    role = request.POST.get("role", "")
    return _after(
        request,
        found,
        lambda: people.change_role(person=found, role=role, actor=request.user),
        f"{found.name} is {role} from now on.",
    )


@changing_person
def reset_second_factor(request: Request, found: User) -> HttpResponse:
    return _after(
        request,
        found,
        lambda: people.reset_second_factor(person=found, actor=request.user),
        f"{found.name} logs in without a second factor until they set one up again.",
    )


@changing_person
def deactivate(request: Request, found: User) -> HttpResponse:
    return _after(
        request,
        found,
        lambda: deactivate_reviewer(person=found, actor=request.user),
        f"{found.name} is logged out everywhere and cannot log in. What they decided stays.",
    )


@changing_person
def reactivate(request: Request, found: User) -> HttpResponse:
    return _after(
        request,
        found,
        lambda: people.reactivate(person=found, actor=request.user),
        f"{found.name} can log in again.",
    )


def _after(request: Request, found: User, change: Callable[[], None], sentence: str) -> HttpResponse:
    """Do it and go back to the person, with what was done or why it was not."""
    try:
        change()
    except people.AccountError as refused:
        messages.error(request, refused.reason)
    else:
        messages.success(request, sentence)
    return redirect("person", found.pk)
