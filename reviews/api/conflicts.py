"""Conflicts between decisions in imported files and decisions made here."""

from typing import Any, Literal

from django.http import HttpResponse
from ninja import Field, P, QueryEx, Router

from cognireview.types import files, operations
from cognireview.types.encoding import members
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_run
from reviews.api.pagination import Limit, link_next
from reviews.history import file_conflicts
from reviews.history.file_conflicts import ConflictComparison

router = Router(tags=["conflicts"])
_MOST_AT_ONCE = 1_000


class WhichIn(Body):
    """A conflict as it was read."""

    id: int = Field(ge=1, lt=2**63)
    version: int = Field(ge=1, lt=2**31)


class ResolveConflictsIn(Body):
    """Which decision to keep, and for which conflicts."""

    keep: Literal["ours", "theirs"]
    conflicts: list[WhichIn] = Field(min_length=1, max_length=_MOST_AT_ONCE)


@operation(router, operations.CONFLICTS, scope="read", permission="resolve_conflict")
def list_conflicts(
    request: ApiRequest,
    response: HttpResponse,
    run: str,
    after: QueryEx[int, P(ge=0, lt=2**63)] = 0,
    limit: Limit = file_conflicts.PAGE_SIZE,
) -> dict[str, Any]:
    """List open conflicts of a run, the oldest first. Leads and admins only."""
    found = get_run(run, request.user)
    page = file_conflicts.load_page(found, after=str(after) if after else "", size=limit)
    return {
        "conflicts": [_shape(one) for one in page.rows],
        "total": file_conflicts.count_open(found),
        "next": link_next(request, response, page.next_after),
    }


@operation(router, operations.RESOLVE_CONFLICTS, scope="configure", permission="resolve_conflict")
def resolve_conflicts(request: ApiRequest, run: str, sent: ResolveConflictsIn) -> dict[str, Any]:
    """Keep the decision made here (`ours`) or the imported one (`theirs`), for each of the conflicts.

    A conflict whose record has changed since you read it is refused, and the others are resolved.
    """
    refused = file_conflicts.resolve_all(
        run=get_run(run, request.user),
        conflicts=[(one.id, one.version) for one in sent.conflicts],
        theirs=sent.keep == "theirs",
        actor=request.user,
    )
    listed = [{"id": key, "reason": reason} for key, reason in refused]
    return {"resolved": len(sent.conflicts) - len(refused), "refused": listed}


def _shape(one: ConflictComparison) -> dict[str, Any]:
    return members(
        files.FileConflict,
        one,
        id=one.conflict.pk,
        evaluation_id=one.evaluation.evaluation_id,
        version=one.evaluation.version,
        file_name=one.conflict.source.file_name,
        line=one.conflict.line,
    )
