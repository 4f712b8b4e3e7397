"""Drafts: a reviewer's entries before they submit."""

from typing import Any

from ninja import Field, Router, Status

from cognireview.types import operations
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_record
from reviews.api.problems import invalid_field
from reviews.models import Draft
from reviews.review import drafts
from reviews.review.entries import MAX_CRITERIA
from reviews.review.forms.fields import FormRow, encode_fields, row_names, row_prefix

router = Router(tags=["review"])
_LONGEST = 100_000


class DraftEntryIn(Body):
    """The entries of one criterion, which need not be complete."""

    criterion: str = Field(max_length=_LONGEST)
    score: str = Field(default="", max_length=_LONGEST, description="As text; empty without one.")
    justification: str = Field(default="", max_length=_LONGEST)
    cause: str = Field(default="", max_length=1_000)
    is_excluded: bool = False


class DraftIn(Body):
    """All entries. They replace those of the revision before."""

    revision: int = Field(ge=1, le=999_999_999, description="Greater than the saved one.")
    entries: list[DraftEntryIn] = Field(max_length=MAX_CRITERIA)
    comments: str = Field(default="", max_length=_LONGEST)


@operation(router, operations.DRAFT, scope="review")
def get_draft(request: ApiRequest, run: str, evaluation_id: str) -> Status[Any]:
    """Return your draft of a record, also one begun in the browser; 204 without one."""
    found = drafts.find_draft(get_record(run, evaluation_id, request.user), request.user)
    return Status(200, _shape(found)) if found else Status(204, None)


@operation(router, operations.SAVE_DRAFT, scope="review", problems=(409,))
def save_draft(request: ApiRequest, run: str, evaluation_id: str, sent: DraftIn) -> dict[str, Any]:
    """Save a draft of a record that you have claimed or may revise. It renews your claim.

    409 if a newer revision is saved.
    """
    record = get_record(run, evaluation_id, request.user)
    names = [entry.criterion for entry in sent.entries]
    if len({*names}) < len(names):
        raise invalid_field("entries", "Name each criterion only once.")
    rows = [
        FormRow(one.criterion, one.score, one.justification, one.cause, one.is_excluded)
        for one in sent.entries
    ]
    fields = encode_fields(rows, sent.comments)
    saved = drafts.save(evaluation_id=record.pk, reviewer=request.user, fields=fields, revision=sent.revision)
    return _shape(saved)


@operation(router, operations.DISCARD_DRAFT, scope="review")
def discard_draft(request: ApiRequest, run: str, evaluation_id: str) -> None:
    """Discard your draft of a record."""
    record = get_record(run, evaluation_id, request.user)
    drafts.discard(evaluation_id=record.pk, reviewer=request.user)


def _shape(draft: Draft) -> dict[str, Any]:
    fields = {str(name): str(value) for name, value in draft.fields}
    return {
        "revision": draft.revision,
        "saved_at": draft.saved_at,
        "entries": [_entry(fields, number) for number in range(len(row_names(fields)))],
        "comments": fields.get("comments", ""),
    }


def _entry(fields: dict[str, str], number: int) -> dict[str, Any]:
    prefix = row_prefix(number)
    return {
        "criterion": fields[f"{prefix}-name"],
        **{name: fields.get(f"{prefix}-{name}", "") for name in ("score", "justification", "cause")},
        "is_excluded": f"{prefix}-removed" in fields,
    }
