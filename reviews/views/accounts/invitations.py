"""Create one-time links, and use them to join or to set a new password."""

from functools import partial
from smtplib import SMTPException

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from reviews.accounts import api_tokens, one_time_links, people
from reviews.http.request import Request
from reviews.models import OneTimeLink, User
from reviews.views.accounts.account import PasswordForm, create_account
from reviews.views.accounts.people import (
    InvitationForm,
    admin_action,
    admin_action_on_person,
    admins_only,
    render_people,
)

_MAIL = """\
You are invited to CogniReview as {role}. Open this link to choose your name and password:

{url}

It works once, until {link.expires_at:%Y-%m-%d %H:%M} UTC.
"""


@admin_action
def invite(request: Request) -> HttpResponse:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return render_people(request, form)
    new = one_time_links.invite(**form.cleaned_data, actor=request.user)
    url = _url("join", new)
    mailed = bool(new.link.email) and settings.SENDS_MAIL and _mail(request, new.link, url)
    return render(request, "accounts/people/link.html", {"link": new.link, "url": url, "mailed": mailed})


@admin_action_on_person
def password_link(request: Request, person: User) -> HttpResponse:
    try:
        new = one_time_links.create_password_link(person=person, actor=request.user)
    except people.AccountError as error:
        messages.error(request, error.reason)
        return redirect("person", person.pk)
    url = _url("new-password", new)
    return render(request, "accounts/people/link.html", {"link": new.link, "url": url, "mailed": False})


@require_POST
@admins_only
def withdraw_link(request: Request, pk: int) -> HttpResponse:
    one_time_links.withdraw(link_id=get_object_or_404(OneTimeLink, pk=pk).pk, actor=request.user)
    messages.success(request, "Link withdrawn.")
    return redirect("people")


@login_not_required
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of an invitation, where a new person chooses username and password."""
    link = one_time_links.find_pending(token, OneTimeLink.Purpose.JOIN)
    if link is None:
        return render(request, "accounts/account/link_over.html", status=404)
    add = partial(one_time_links.accept_invitation, token=token)
    return create_account(request, add, "accounts/account/join.html", link=link)


@login_not_required
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of a password link. The person then signs in as usual, including the second factor."""
    link = one_time_links.find_pending(token, OneTimeLink.Purpose.PASSWORD)
    if link is None or link.person is None:
        return render(request, "accounts/account/link_over.html", status=404)
    person = link.person
    form = PasswordForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            one_time_links.set_password_by_link(token=token, password=form.cleaned_data["password"])
        except people.AccountError as error:
            form.add_account_error(error)
        else:
            messages.info(request, "Password changed. Sign in with the new password.")
            return redirect("login")
    context = {"form": form, "person": person, "tokens": api_tokens.valid_tokens(person).count()}
    return render(
        request, "accounts/account/new_password.html", context, status=422 if form.is_bound else 200
    )


def _url(name: str, new: one_time_links.NewLink) -> str:
    """Return the address of a link, based on the configured site: a client can fake the Host header."""
    return f"{settings.PUBLIC_URL}{reverse(name, args=[new.token])}"


def _mail(request: HttpRequest, link: OneTimeLink, url: str) -> bool:
    """Send the invitation by e-mail. Return whether the mail server accepted it, and show an error if not."""
    text = _MAIL.format(role=link.role, url=url, link=link)
    try:
        send_mail("Your invitation to CogniReview", text, None, [link.email])
    except (SMTPException, OSError) as error:
        messages.error(request, f"The e-mail could not be sent: {error}. Send the link yourself.")
        return False
    return True
