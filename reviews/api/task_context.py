"""Import files of task context: the request takes the whole file and returns the report."""

from typing import Any

from ninja import Router

from cognireview.types import operations
from reviews.accounts.permissions import check
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import FILE_BODY, receive_file
from reviews.api.lookup import get_run
from reviews.imports.task_context import import_context
from reviews.storage.chunks import read_blocks

router = Router(tags=["task context"])
_PROBLEMS = (400, 411, 413, 415, 507)


@operation(router, operations.IMPORT_CONTEXT, scope="import", problems=_PROBLEMS, requestBody=FILE_BODY)
def import_run_context(request: ApiRequest, run: str, file_name: str = "") -> dict[str, Any]:
    """Import task context for one run: prompts, reference answers and model responses.

    The file is a JSON array or JSONL, optionally compressed by gzip or zstd (docs/task-context.md). Invalid
    entries are listed, and the others are imported.
    """
    return _import(request, file_name, get_run(run, request.user).name)


@operation(
    router, operations.IMPORT_SHARED_CONTEXT, scope="import", problems=_PROBLEMS, requestBody=FILE_BODY
)
def import_shared_context(request: ApiRequest, file_name: str = "") -> dict[str, Any]:
    """Import task context for every run that has none of its own for a task."""
    return _import(request, file_name, None)


def _import(request: ApiRequest, file_name: str, run_name: str | None) -> dict[str, Any]:
    check(request.user, "import_context")
    with receive_file(request) as file:
        return import_context(
            blocks=read_blocks(file),
            file_name=file_name or "tasks.jsonl",
            run_name=run_name,
            actor=request.user,
        ).report
