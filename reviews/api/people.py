"""People with their work, and invitations.

A token grants nothing that it does not allow itself, and never the admin role.
"""

from typing import Any, Literal

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Field, Router

from cognireview.types import leading, operations
from cognireview.types.encoding import members
from cognireview.types.people import Invitation, Role
from reviews.accounts import api_tokens, one_time_links, people
from reviews.accounts.invitation_list import MOST, parse_invitees
from reviews.accounts.permissions import ROLES, Denied, loaded_role, people_with_role
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.pagination import LIST_SIZE, PAGE_SIZE, After, Limit, OptionalLimit, link_next, list_by_key
from reviews.api.problems import invalid_field
from reviews.dashboard.workload import workloads
from reviews.database.pagination import split_page
from reviews.models import OneTimeLink, User
from reviews.queue.members import change_reviewer_role, deactivate_reviewer

router = Router(tags=["people"])
_STATES = {"active": True, "deactivated": False, "any": None}


class RoleIn(Body):
    """A role."""

    role: Role


class InviteeIn(Body):
    """A person to invite, by name, e-mail address or both."""

    name: str = Field(default="", max_length=150, pattern="^[^,;<>\x00-\x1f]*$")
    email: str = Field(default="", max_length=254, pattern="^[^,;<>\x00-\x20]*$")
    role: Role


class InvitationsIn(Body):
    """The people to invite. Nobody is sent an e-mail."""

    people: list[InviteeIn] = Field(min_length=1, max_length=MOST)


@operation(router, operations.PEOPLE, scope="manage", permission="manage_people")
def list_people(
    request: ApiRequest,
    response: HttpResponse,
    *,
    q: str = "",
    role: Literal["", "reviewer", "lead", "admin", "none"] = "",
    state: Literal["active", "deactivated", "any"] = "active",
    after: str = "",
    limit: Limit = PAGE_SIZE,
) -> dict[str, Any]:
    """List the accounts whose name, username or e-mail address contains the words `q`. Admins only."""
    found = people.find_people(q.replace("\0", ""), role, is_active=_STATES[state])
    rows = found.filter(username__gt=after.replace("\0", "")) if after else found
    page = split_page(rows[: limit + 1], limit, lambda person: person.username)
    return {"people": people.describe(page.rows), "next": link_next(request, response, page.next_after)}


@operation(router, operations.PERSON, scope="manage", permission="manage_people")
def get_person(request: ApiRequest, username: str) -> dict[str, Any]:
    """Return an account. Admins only."""
    return people.describe([_find(username)])[0]


@operation(router, operations.CHANGE_ROLE, scope="manage", permission="manage_people")
def change_person_role(request: ApiRequest, username: str, sent: RoleIn) -> dict[str, Any]:
    """Change a person's role. Admins are made in the browser."""
    found = _find(username)
    _check_grant(request, sent.role)
    change_reviewer_role(person=found, role=sent.role, actor=request.user)
    return get_person(request, username)


@operation(router, operations.DEACTIVATE, scope="manage", permission="manage_people")
def deactivate_person(request: ApiRequest, username: str) -> dict[str, Any]:
    """Close an account. Its decisions are kept; its sessions, tokens and claims end."""
    found = _find(username)
    deactivate_reviewer(person=found, actor=request.user)
    return get_person(request, username)


@operation(router, operations.REACTIVATE, scope="manage", permission="manage_people")
def reactivate_person(request: ApiRequest, username: str) -> dict[str, Any]:
    """Reactivate a deactivated account. Accounts of admins can only be reactivated in the browser."""
    found = _find(username)
    _check_grant(request, loaded_role(found))
    people.reactivate(person=found, actor=request.user)
    return get_person(request, username)


@operation(router, operations.WORKLOADS, scope="read", permission="lead_review")
def list_workloads(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the work of everybody with a role, the oldest account first, in runs that you may see.

    Leads and admins only.
    """
    found = list_by_key(request, response, people_with_role(), after=after, limit=limit, newest_first=False)
    return [members(leading.Workload, work) for work in workloads(found, reader=request.user)]


@operation(router, operations.INVITATIONS, scope="manage", permission="manage_people")
def list_invitations(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: OptionalLimit = None
) -> list[dict[str, Any]]:
    """List pending invitations and password links, the oldest first. Admins only."""
    pending = one_time_links.pending()
    if limit:
        pending_page = list_by_key(request, response, pending, after=after, limit=limit, newest_first=False)
        return [members(Invitation, link) for link in pending_page]
    return [members(Invitation, link) for link in pending.filter(pk__gt=after)]


@operation(router, operations.INVITE, scope="manage", permission="manage_people")
def invite_people(request: ApiRequest, sent: InvitationsIn) -> list[dict[str, Any]]:
    """Create an invitation for each person. The response contains the addresses to pass on."""
    for role in {one.role for one in sent.people}:
        _check_grant(request, role)
    if any(not (one.name.strip() or one.email) for one in sent.people):
        raise invalid_field("people", "Give each person a name or an e-mail address.")
    pending = {link.email.lower() for link in one_time_links.pending() if link.email}
    lines = "\n".join(", ".join(filter(None, (one.name, one.email, one.role))) for one in sent.people)
    invitees = parse_invitees(lines, "reviewer", pending=pending)
    return [_new_invitation(new) for new in one_time_links.invite_all(invitees=invitees, actor=request.user)]


@operation(router, operations.RENEW_INVITATION, scope="manage", permission="manage_people")
def renew_invitation(request: ApiRequest, link_id: int) -> dict[str, Any]:
    """Replace a pending invitation by a new one. Password links are renewed in the browser."""
    link = get_object_or_404(OneTimeLink, pk=link_id)
    if link.purpose != OneTimeLink.Purpose.JOIN:
        raise Denied("Password links are created in the browser only.")
    _check_grant(request, link.role)
    return _new_invitation(one_time_links.renew(link=link, actor=request.user))


@operation(router, operations.WITHDRAW_INVITATION, scope="manage", permission="manage_people")
def withdraw_invitation(request: ApiRequest, link_id: int) -> None:
    """Withdraw a pending invitation or password link. Admins only."""
    link = get_object_or_404(OneTimeLink, pk=link_id)
    one_time_links.withdraw(link_id=link.pk, actor=request.user)


def _find(username: str) -> User:
    return get_object_or_404(people.all_people(), username="" if "\0" in username else username)


def _check_grant(request: ApiRequest, role: str) -> None:
    """Raise `Denied` unless the token may do all that a role allows programs."""
    if role == "admin":
        raise Denied("The admin role is granted in the browser only.")
    if not role:
        return
    wanted = {scope for scope, permission in api_tokens.SCOPES.items() if permission in ROLES[role]}
    if missing := wanted - {"tokens"} - set(request.auth.scopes):
        named = ", ".join(scope for scope in api_tokens.SCOPES if scope in missing)
        raise Denied(f"A token can give a role only with its scopes. This one does not have: {named}.")


def _new_invitation(new: one_time_links.NewLink) -> dict[str, Any]:
    url = f"{settings.PUBLIC_URL}{reverse('join', args=[new.token])}"
    return {**members(Invitation, new.link), "url": url}
