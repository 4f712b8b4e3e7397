"""Rules for usernames, which are also the `human_reviewer_id` of every record that is exported.

A username is ASCII: no letter of another script can pass for one of these. Files keep the username, and pages
show a person's real name where the account has one, in any script.
"""

import re
from collections.abc import Iterable

LONGEST = 150
RULE = (
    "A username takes the letters a to z, digits and @ . + - _ only. It begins and ends with a letter or a "
    "digit, and has at least one letter."
)
_SHAPE = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9](?:[A-Za-z0-9@.+_-]*[A-Za-z0-9])?")
# Programs that read a table take these for a missing value or for a truth value.
_WORDS = {"na", "n.a", "nil", "none", "null", "nat", "undefined", "true", "false"}
# Characters that one cannot tell apart in some fonts. The case matters: I is like l, i and L are not.
_LOOKS_LIKE = str.maketrans("Il0oO", "11000")


def problem(username: str) -> str:
    """Return the sentence that says why a text cannot be a username, or an empty text if it can."""
    if not _SHAPE.fullmatch(username):
        return RULE
    if username.lower() in _WORDS or _is_number(username):
        return (
            f"{username} is not a username: programs that read a file take it for a number or for no value."
        )
    return ""


def _is_number(username: str) -> bool:
    """Whether a program may read a username as a number: 1e5, 0x1f, inf, nan."""
    for read in (float, lambda text: int(text, 0)):
        try:
            read(username)
        except ValueError:
            continue
        return True
    return False


def alike(username: str, others: Iterable[str]) -> str | None:
    """Return the first of the others that looks the same on a page, or is the same in another case."""
    look, folded = _look(username), username.lower()
    return next((other for other in others if other.lower() == folded or _look(other) == look), None)


def _look(username: str) -> str:
    """Return one spelling for all usernames that look the same: bill, biIl and bi1l; martin and rnartin."""
    return username.translate(_LOOKS_LIKE).replace("rn", "m").replace("vv", "w").lower()
