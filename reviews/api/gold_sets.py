"""Gold sets: list, freeze, export, import, rename and delete them, and measure a run's judge against one."""

from typing import Any

from django.http import Http404, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from cognireview.types import operations
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import FILE_BODY, JSONL, Body, receive_file
from reviews.api.lookup import get_run
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.scopes import ScopeQuery
from reviews.http.streaming import download
from reviews.judge.gold import gold_file, gold_sets
from reviews.judge.gold.measurement import described, measure
from reviews.models import GoldSet, User
from reviews.storage.chunks import read_blocks

router = Router(tags=["gold sets"])


class FreezeIn(ScopeQuery, Body):
    """A gold set to freeze. Filters are those of the report."""

    name: str


class NameIn(Body):
    """The new name of a gold set."""

    name: str


@operation(router, operations.GOLD_SETS, scope="read", permission="lead_review")
def list_gold_sets(
    request: ApiRequest, response: HttpResponse, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the gold sets that you may see, newest first. Leads and admins only."""
    found = GoldSet.objects.visible_to(request.user)
    return [described(one) for one in list_by_key(request, response, found, after=after, limit=limit)]


@operation(
    router,
    operations.IMPORT_GOLD_SET,
    scope="configure",
    permission="configure_run",
    problems=(400, 411, 413, 415),
    requestBody=FILE_BODY,
)
def import_gold_set(request: ApiRequest, name: str = "") -> dict[str, Any]:
    """Import a gold set that was exported here or elsewhere. `name` replaces the name in the file."""
    with receive_file(request) as file:
        return described(gold_file.import_gold_set(blocks=read_blocks(file), actor=request.user, name=name))


@operation(router, operations.EXPORT_GOLD_SET, scope="export", permission="lead_review", files=[JSONL])
def export_gold_set(request: ApiRequest, name: str) -> StreamingHttpResponse:
    """Export a gold set as JSONL. Leads and admins only."""
    gold_set = _find(name, request.user)
    blocks = gold_file.export_gold_set(gold_set=gold_set, actor=request.user)
    return download(blocks, f"{gold_set.name}-gold-set.jsonl", content_type=JSONL)


@operation(router, operations.RENAME_GOLD_SET, scope="configure", permission="lead_review")
def rename_gold_set(request: ApiRequest, name: str, sent: NameIn) -> dict[str, Any]:
    """Rename a gold set."""
    gold_set = _find(name, request.user)
    return described(gold_sets.rename(gold_set_id=gold_set.pk, name=sent.name, actor=request.user))


@operation(router, operations.DELETE_GOLD_SET, scope="configure", permission="lead_review")
def delete_gold_set(request: ApiRequest, name: str) -> None:
    """Delete a gold set. The decisions of its run stay."""
    gold_sets.delete(gold_set_id=_find(name, request.user).pk, actor=request.user)


@operation(router, operations.FREEZE_GOLD_SET, scope="configure")
def freeze_gold_set(request: ApiRequest, run: str, sent: FreezeIn) -> dict[str, Any]:
    """Freeze the blind ratings and adjudicated decisions of a run under a name."""
    scope = sent.scope_of(get_run(run, request.user))
    frozen = gold_sets.freeze(scope=scope, name=sent.name, actor=request.user)
    return described(frozen.gold_set) | {
        "blind": frozen.blind,
        "adjudicated": frozen.adjudicated,
        "left_out": frozen.left_out,
    }


@operation(router, operations.MEASURE_GOLD_SET, scope="read", permission="lead_review")
def measure_gold_set(request: ApiRequest, run: str, name: str, filters: Query[ScopeQuery]) -> dict[str, Any]:
    """Measure the judge of a run against a gold set. Leads and admins only.

    Responses are the same if task, model and answer are equal. The figures describe the responses that are in
    both, and say nothing about other records. `judge`, `template`, `model` and `task` choose records of the
    run. The filters by reviewer and date do not apply.
    """
    scope = filters.record_scope_of(get_run(run, request.user))
    return measure(_find(name, request.user), scope).as_json()


def _find(name: str, reader: User) -> GoldSet:
    found = GoldSet.objects.visible_to(reader).filter(name=name).first() if name.isprintable() else None
    if found is None:
        raise Http404("There is no gold set with this name.")
    return found
