"""Return a record whose id ends like the path of an operation ("task/claim") to a GET of that path."""

from dataclasses import replace
from typing import Any

from ninja import Router

from cognireview.types import operations
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.lookup import get_record


def register_ambiguous_paths(router: Router, *endings: str) -> None:
    """Register the endings of a router's record operations. Django looks a path up in one router only."""
    for ending in endings:
        _register(router, ending)


def _register(router: Router, ending: str) -> None:
    longer = replace(operations.RECORD, path=f"{operations.RECORD.path}/{ending}")

    @operation(router, longer, scope="read", is_in_schema=False)
    def read(request: ApiRequest, run: str, evaluation_id: str) -> dict[str, Any]:
        return shapes.record_out(get_record(run, f"{evaluation_id}/{ending}", request.user), request.user)
