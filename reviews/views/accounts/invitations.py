"""Create one-time links, and use them to join or to set a new password."""

from dataclasses import dataclass
from functools import partial

from allauth.account.decorators import reauthentication_required
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from cognireview.operations import mail
from cognireview.operations.mail import MailServer
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
from reviews.views.form_fields import refusal_in
from reviews.views.shortcuts import form_page, refusal_shown, render_form

_MAIL = """\
{link.created_by.name} invites you to CogniReview as {role}. Open this link to choose your name and password:

{url}

It works once, until {link.expires_at:%Y-%m-%d %H:%M} UTC.
"""


@dataclass
class ShownLink:
    """A new link and its address, which is shown once."""

    link: OneTimeLink
    url: str
    #: Whether the mail server has accepted the invitation.
    mailed: bool = False

    @property
    def whom(self) -> str:
        """The name or e-mail address of the person that the link is for."""
        return self.link.person.name if self.link.person else self.link.name or self.link.email

    def __str__(self) -> str:
        return f"{self.whom}: {self.url}"


@admin_action
def invite(request: Request) -> HttpResponse:
    """Create an invitation for each person of the form, and show the links."""
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return render_people(request, form)
    made = one_time_links.invite_all(invitees=form.invitees, actor=request.user)
    return _show_links(request, made, sends=form.cleaned_data.get("send", False))


@require_POST
@admins_only
def renew_link(request: Request, pk: int) -> HttpResponse:
    """Replace a pending link, and send the new one where the old one may have been sent."""
    link = get_object_or_404(OneTimeLink.objects.select_related("person"), pk=pk)
    response: HttpResponse = reauthentication_required(_renew)(request, link)
    return response


def _renew(request: Request, link: OneTimeLink) -> HttpResponse:
    with refusal_shown(request, people.AccountError):
        new = one_time_links.renew(link=link, actor=request.user)
        return _show_links(request, [new], sends=link.purpose == OneTimeLink.Purpose.JOIN)
    return redirect("people")


@admin_action_on_person
def password_link(request: Request, person: User) -> HttpResponse:
    with refusal_shown(request, people.AccountError):
        new = one_time_links.create_password_link(person=person, actor=request.user)
        return _show_links(request, [new], sends=False)
    return redirect("person", person.pk)


def _show_links(request: Request, made: list[one_time_links.NewLink], *, sends: bool) -> HttpResponse:
    """Show new links, after sending those with an e-mail address if mail is wanted and set up."""
    pages = {OneTimeLink.Purpose.JOIN: "join", OneTimeLink.Purpose.PASSWORD: "new-password"}
    shown = [ShownLink(new.link, _url(pages[OneTimeLink.Purpose(new.link.purpose)], new)) for new in made]
    error = _mail(shown) if sends and mail.is_set_up() else ""
    person = shown[0].link.person
    context = {"links": shown, "person": person, "mail_error": error}
    return render(request, "accounts/people/links.html", context)


@require_POST
@admins_only
def withdraw_link(request: Request, pk: int) -> HttpResponse:
    one_time_links.withdraw(link_id=get_object_or_404(OneTimeLink, pk=pk).pk, actor=request.user)
    messages.success(request, "Link withdrawn.")
    return redirect("people")


@login_not_required
@sensitive_post_parameters("password", "password_again")
@form_page
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of an invitation, where a new person chooses username and password."""
    link = one_time_links.find_pending(token, OneTimeLink.Purpose.JOIN)
    if link is None:
        return render(request, "accounts/account/link_over.html", status=404)
    add = partial(one_time_links.accept_invitation, token=token)
    return create_account(request, add, "accounts/account/join.html", link=link)


@login_not_required
@sensitive_post_parameters("password", "password_again")
@form_page
def new_password(request: HttpRequest, token: str) -> HttpResponse:
    """Show the page of a password link. The person then signs in as usual, including the second factor."""
    link = one_time_links.find_pending(token, OneTimeLink.Purpose.PASSWORD)
    if link is None or link.person is None:
        return render(request, "accounts/account/link_over.html", status=404)
    person = link.person
    form = PasswordForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with refusal_in(form, people.AccountError):
            one_time_links.set_password_by_link(token=token, password=form.cleaned_data["password"])
            messages.info(request, "Password changed. Sign in with the new password.")
            return redirect("login")
    tokens = api_tokens.valid_tokens(person).count()
    return render_form(request, "accounts/account/new_password.html", form, person=person, tokens=tokens)


def _url(name: str, new: one_time_links.NewLink) -> str:
    """Return the address of a link, based on the configured site: a client can fake the Host header."""
    return f"{settings.PUBLIC_URL}{reverse(name, args=[new.token])}"


def _mail(shown: list[ShownLink]) -> str:
    """Send invitations by e-mail, and mark those that the server accepted. Return the error that ended it.

    An address that the server refuses does not keep the others from being sent.
    """
    with MailServer() as server:
        for one in shown:
            text = _MAIL.format(role=one.link.role, url=one.url, link=one.link)
            email = one.link.email
            one.mailed = bool(email) and not server.send("Your invitation to CogniReview", text, email)
    return server.failure
