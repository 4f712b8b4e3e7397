"""Group flag reasons into families by removing particulars.

"LLM response parsing failed: Invalid JSON format in extracted block: Expecting value: line 2 column 109
(char 110)" is in the family "Invalid JSON format in extracted block: Expecting value".
"""

import re
from functools import lru_cache
from typing import NamedTuple

LONGEST_TITLE = 120
LONGEST_KEY = 60
# Replaces a removed particular.
LEFT_OUT = "…"
NOTHING_SAID = "No reason given"


class ReasonFamily(NamedTuple):
    #: For URLs.
    key: str
    #: The common part of the reasons.
    title: str


# Patterns of particulars and their replacements, in the order of application.
_PARTICULARS = [
    # Prefixes that the pipeline adds.
    (r"^\s*(?:LLM response parsing failed|parsing error)\s*:", ""),
    # Positions in a text.
    (r":?\s*\(?\b(?:(?:at|in|on)\s+)?(?:line|column|char|position)\s+\d+\b[\s,)]*", " "),
    # Ids and paths.
    (r"\b(?:eval_)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b", LEFT_OUT),
    (r"(?<![\w/])(?:[\w.~-]*/){2,}[\w.-]*", LEFT_OUT),
    # Names of criteria.
    (r"(?<=\bin criteria: ).+|(?<=\bin criterion: ).+", LEFT_OUT),
    # Quotes. A quotation mark before a letter is an apostrophe.
    (r"(?<!\w)(?:'(?:[^']|'(?=\w))*'|\"[^\"]*\"|“[^”]*”|`[^`]*`)(?!\w)", LEFT_OUT),
    (r"(?<![\w.])[-+]?\d+(?:[.,]\d+)*%?(?!\w)", LEFT_OUT),
    (rf"{LEFT_OUT}(?:[\s,;/]*{LEFT_OUT})+", LEFT_OUT),
    (r"\s+", " "),
    (rf"[\s.:;,{LEFT_OUT}]+$|^\s+", ""),
]
_PATTERNS = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), instead) for pattern, instead in _PARTICULARS]
# Short words without particulars: all patterns leave them as they are.
_PLAIN = re.compile(r"[A-Za-z()-]{1,15}(?: [A-Za-z()-]{1,15})*")
_NO_KEY = re.compile(r"[\W_]+")


def reason_family(reason: str) -> ReasonFamily:
    """Return the family of a reason. The title of a family is in the same family."""
    return _family(reason[: 10 * LONGEST_TITLE])


# Many records have the same reasons.
@lru_cache(maxsize=1_000)
def _family(title: str) -> ReasonFamily:
    before = None
    while title != before:
        before, title = title, _without_particulars(title)
    title = title or NOTHING_SAID
    return ReasonFamily(_NO_KEY.sub("-", title.casefold())[:LONGEST_KEY].strip("-") or "other", title)


def _without_particulars(text: str) -> str:
    for pattern, instead in () if _PLAIN.fullmatch(text) else _PATTERNS:
        text = pattern.sub(instead, text)
    return text[:LONGEST_TITLE].strip()
