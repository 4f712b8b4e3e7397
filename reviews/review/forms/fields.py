"""The field names of the review form, as browsers post them and drafts keep them.

A form posts `version`, `submission`, `comments`, `active_ms`, `keys`, and for each row from 0
`criteria-0-name`, `criteria-0-score`, `criteria-0-cause`, `criteria-0-justification`, `criteria-0-removed`
and `criteria-0-seen`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reviews.models import Review
from reviews.records.scores import justification_of, score_of
from reviews.review.entries import MAX_CRITERIA, has_judges_text, same_text
from reviews.review.sheet import load_sheet

#: [[name, value], ...]
Fields = list[list[str]]

_DRAFT_FIELD = re.compile(r"comments|criteria-[0-9]{1,3}-(name|score|cause|justification|removed)")


class FormRow(NamedTuple):
    name: str
    #: Value of the chosen radio button, or the number entered.
    score: str
    #: The reviewer's words; empty for the judge's.
    justification: str = ""
    cause: str = ""
    is_removed: bool = False


def row_prefix(number: int | str) -> str:
    return f"criteria-{number}"


def row_names(data: Mapping[str, Any] | None) -> list[str]:
    """Return the criteria of the posted rows, at most `MAX_CRITERIA`."""
    names: list[str] = []
    while data and len(names) < MAX_CRITERIA and f"{row_prefix(len(names))}-name" in data:
        names.append(str(data[f"{row_prefix(len(names))}-name"]))
    return names


def has_too_many_rows(data: Mapping[str, Any]) -> bool:
    """Return whether more than `MAX_CRITERIA` rows were posted."""
    return f"{row_prefix(MAX_CRITERIA)}-name" in data


def draft_fields(posted: Mapping[str, Any]) -> Fields:
    """Return the posted fields that a draft keeps."""
    return [[name, str(value)] for name, value in posted.items() if _DRAFT_FIELD.fullmatch(name)]


def encode_fields(rows: Iterable[FormRow], comments: str) -> Fields:
    """Return the fields that a form with these rows posts."""
    fields = []
    for number, row in enumerate(rows):
        prefix = row_prefix(number)
        fields.append([f"{prefix}-name", row.name])
        if row.is_removed:
            fields.append([f"{prefix}-removed", "on"])
            if not (row.score or row.justification):
                continue
        fields.append([f"{prefix}-score", row.score])
        fields.append([f"{prefix}-justification", row.justification])
        fields.append([f"{prefix}-cause", row.cause])
    return [*fields, ["comments", comments]]


def review_fields(review: Review) -> Fields:
    """Return the fields that a form posts to submit this review again."""
    sheet, scores = load_sheet(review.evaluation), review.corrected_scores or {}
    rows = []
    for name in {**dict.fromkeys(sheet.judged_texts), **scores}:
        entry = scores.get(name)
        value, cause = sheet.input(name).encode(score_of(entry)), review.causes.get(name, "")
        text, judged = justification_of(entry), sheet.judged_texts.get(name, "")
        is_judges = has_judges_text(entry, review.origins.get(name, "")) or same_text(text, judged)
        rows.append(FormRow(name, value, "" if is_judges else text, cause, name not in scores))
    return encode_fields(rows, review.comments or "")
