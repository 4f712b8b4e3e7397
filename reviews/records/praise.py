"""Detect justifications that only praise. A judge that praises and scores No made one of two mistakes.

Precision comes first: a single word of fault, doubt or comparison means that the text is not praise. English
only.
"""

import re

_FAULTLESS = r"\b(?:no|without(?: any)?|free of) (?:errors?|mistakes?|flaws?|gaps?|faults?)\b"
_PRAISES = (
    r"\b(?:is|are|was|were) (?:\w+ly )?(?:correct|accurate|valid|complete|right|sound|flawless|perfect)\b",
    r"\b(?:correctly|accurately|clearly|successfully|thoroughly|properly) \w+(?:s|ed)\b",
    r"\bmatch(?:es)? the (?:correct|true) \w+",
    r"\ball (?:the )?(?:(?:necessary|required|key|essential) )?(?:steps|results|values) are\b",
    _FAULTLESS,
)
_FAULTS = (
    # against something
    r"\w+n't cannot not? nor never neither none nothing without but however although though despite yet",
    r"except while whereas unlike instead rather only should would could must if until unless otherwise too",
    r"ideal reference expected need\w* require[sd]? differ\w* diverg\w* deviat\w* mismatch\w* contradict\w*",
    r"conflict\w*",
    # less than whole
    r"nearly almost partly partially somewhat mostly limited lack\w* fail\w* miss(?:es|ed|ing)? omits?",
    r"omission\w* omitt\w+ ignor\w+ neglect\w* overlook\w* skip\w* forg[eo]t\w* absen\w+ gaps?",
    r"superficial\w* vague\w*",
    # wrong
    r"wrong\w* err(?:s|ed|ors?|oneous\w*)? mistak\w+ flaw\w* fault\w* problem\w* issues? unclear weak\w*",
    r"confus\w+ false\w* poor\w*",
    r"(?:in|im|un|il|ir|mis|non)(?:correct|accura|valid|complet|consist|suffici|precis|proper|justif)\w*",
    r"(?:in|im|un|il|ir|mis|non)(?:support|necess|sound|prov|stat|logical|relevant|interpret|calculat)\w*",
    r"(?:mis|un)(?:appl|us|identif)\w*",
)
_PRAISE = re.compile("|".join(_PRAISES), re.IGNORECASE)
# "no errors" contains a word of fault, but denies it.
_ABSENT = re.compile(_FAULTLESS, re.IGNORECASE)
_FAULT = re.compile(rf"\b(?:{'|'.join(' '.join(_FAULTS).split())})\b", re.IGNORECASE)


def is_praise(justification: str) -> bool:
    """Return whether a justification praises without naming any fault."""
    text = justification.replace("\u2019", "'")
    return bool(_PRAISE.search(text)) and not _FAULT.search(_ABSENT.sub("", text))
