"""Read a list of people to invite, one per line, such as "Ana Smith, ana@example.org, lead"."""

import re
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from reviews.accounts.permissions import ROLES
from reviews.models import OneTimeLink, User

MOST = 200
_LONGEST_ADDRESS = OneTimeLink._meta.get_field("email").max_length or 0
_LONGEST_NAME = OneTimeLink._meta.get_field("name").max_length or 0
_SEPARATOR = re.compile(r"[,;\t]")
_ROLE_NAMES = " or ".join((", ".join([*ROLES][:-1]), [*ROLES][-1]))
# "Ana Smith <ana@example.org>", as mail programs write it.
_NAME_AND_ADDRESS = re.compile(r"(?P<name>[^<>]*)<(?P<email>[^<>]*)>")


class Invitee(NamedTuple):
    """A person to invite. Name or e-mail address may be empty, but not both."""

    name: str
    email: str
    role: str


class InvalidList(Exception):
    """Lines of the list are wrong. `problems` has a sentence for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def parse_invitees(text: str, role: str, *, pending: set[str]) -> list[Invitee]:
    """Return the people of a list. `role` is for lines without one.

    `pending` has the addresses, in lower case, of pending invitations. Raises `InvalidList` with every
    problem: an unknown role, and an address that is invalid, occurs twice, is pending or has an account.
    """
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines:
        raise InvalidList(["Enter at least one name or e-mail address."])
    if len(lines) > MOST:
        raise InvalidList([f"Enter at most {MOST} lines at a time."])
    read = [(number, *_parse_line(line, role)) for number, line in lines]
    addresses = [invitee.email.lower() for _, invitee, _ in read if invitee.email]
    accounts = {
        email.lower(): name
        for email, name in User.objects.exclude(email="").values_list("email", "username")
        if email.lower() in addresses
    }
    problems, seen = [], set[str]()
    for number, invitee, found in read:
        address = invitee.email.lower()
        if address in seen:
            found.append(f"{invitee.email} is in the list twice.")
        elif address in accounts:
            found.append(f"{invitee.email} belongs to the account {accounts[address]}.")
        elif address in pending:
            found.append(f"{invitee.email} has a pending invitation. Send that one again instead.")
        seen |= {address} - {""}
        problems += [f"Line {number}: {problem}" for problem in found]
    if problems:
        raise InvalidList(problems)
    return [invitee for _, invitee, _ in read]


def _parse_line(line: str, role: str) -> tuple[Invitee, list[str]]:
    """Return the person of a line, and the problems of its parts."""
    name, email, problems = "", "", []
    if both := _NAME_AND_ADDRESS.search(line):
        name_and_address = ",".join((both["name"].strip(' "'), both["email"].strip()))
        line = line.replace(both[0], name_and_address, 1)
    for part in filter(None, (part.strip() for part in _SEPARATOR.split(line))):
        if part.lower() in ROLES:
            role = part.lower()
        elif "@" in part and not email:
            email = part
        elif not name and not email:
            name = part
        else:
            problems.append(f"{part!r} is not a role. Use {_ROLE_NAMES}.")
    if email and not _is_address(email):
        problems.append(f"{email!r} is not an e-mail address.")
    if len(name) > _LONGEST_NAME or "\0" in name:
        problems.append(f"The name is longer than {_LONGEST_NAME} characters or has invalid ones.")
    if not name and not email and not problems:
        problems.append("A name or an e-mail address is missing.")
    return Invitee(name, email, role), problems


def _is_address(email: str) -> bool:
    try:
        validate_email(email)
    except ValidationError:
        return False
    return len(email) <= _LONGEST_ADDRESS
