"""One-time links: an admin makes them, whoever gets one joins by it or chooses a new password."""

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
from reviews.views.accounts.account import NewAccountForm, PasswordForm, log_in_new_user
from reviews.views.accounts.people import (
    InvitationForm,
    changing_people,
    changing_person,
    for_admins,
    render_people,
)

_MAIL = """\
You are invited to CogniReview as {role}. Open this link to choose your name and password:

{url}

It works once, until {link.expires_at:%Y-%m-%d %H:%M} UTC.
"""


@changing_people
def invite(request: Request) -> HttpResponse:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return render_people(request, form)
    made = one_time_links.invite(**form.cleaned_data, actor=request.user)
    url = _url("join", made)
    mailed = bool(made.link.email) and settings.SENDS_MAIL and _mail(request, made.link, url)
    return render(request, "accounts/people/link.html", {"link": made.link, "url": url, "mailed": mailed})


@changing_person
def password_link(request: Request, person: User) -> HttpResponse:
    try:
        made = one_time_links.create_password_link(person=person, actor=request.user)
    except people.AccountError as refused:
        messages.error(request, refused.reason)
        return redirect("person", person.pk)
    url = _url("new-password", made)
    return render(request, "accounts/people/link.html", {"link": made.link, "url": url, "mailed": False})


@require_POST
@for_admins
def withdraw_link(request: Request, pk: int) -> HttpResponse:
    one_time_links.withdraw(link_id=get_object_or_404(OneTimeLink, pk=pk).pk, actor=request.user)
    messages.success(request, "That link no longer works.")
    return redirect("people")


@login_not_required
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Where somebody who was invited chooses name and password, and is logged in."""
    link = one_time_links.find_pending(token, OneTimeLink.Purpose.JOIN)
    if link is None:
        return render(request, "accounts/account/link_over.html", status=404)
    form = NewAccountForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        name, chosen = form.cleaned_data["username"], form.cleaned_data["password"]
        try:
            user = one_time_links.accept_invitation(token=token, username=name, password=chosen)
        except people.AccountError as refused:
            form.refuse(refused)
        else:
            return log_in_new_user(request, user, f"Welcome, {user.name}.")
    context = {"form": form, "link": link}
    return render(request, "accounts/account/join.html", context, status=422 if form.is_bound else 200)


@login_not_required
@never_cache
@sensitive_post_parameters("password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest, token: str) -> HttpResponse:
    """Where somebody who forgot their password chooses another, to log in with, second factor and all."""
    link = one_time_links.find_pending(token, OneTimeLink.Purpose.PASSWORD)
    if link is None or link.person is None:
        return render(request, "accounts/account/link_over.html", status=404)
    person = link.person
    form = PasswordForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            one_time_links.set_password_by_link(token=token, password=form.cleaned_data["password"])
        except people.AccountError as refused:
            form.refuse(refused)
        else:
            messages.success(request, "Your new password is set. Log in with it.")
            return redirect("login")
    context = {"form": form, "person": person, "tokens": api_tokens.valid_tokens(person).count()}
    return render(
        request, "accounts/account/new_password.html", context, status=422 if form.is_bound else 200
    )


def _url(name: str, made: one_time_links.NewLink) -> str:
    """The link, where the operator says that people reach the site: a Host header is anybody's to send."""
    return f"{settings.PUBLIC_URL}{reverse(name, args=[made.token])}"


def _mail(request: HttpRequest, link: OneTimeLink, url: str) -> bool:
    """Whether the mail server took it; if not, the admin is told and has the link to hand over."""
    text = _MAIL.format(role=link.role, url=url, link=link)
    try:
        send_mail("Your invitation to CogniReview", text, None, [link.email])
    except (SMTPException, OSError) as error:
        messages.error(request, f"The mail could not be sent: {error}. Hand the link over yourself.")
        return False
    return True
