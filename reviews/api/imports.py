"""Import files: a request uploads a file, a job imports it, and further requests report the result."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from ninja import Router

from cognireview.types import operations
from reviews.api import shapes
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import FILE_BODY, JSON, JSONL, TOML, TOMLS, Body, check_type, parse_json, read_file
from reviews.api.lookup import get_run, load
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.problems import PREFIX, Problem, invalid_field
from reviews.exports import jsonl
from reviews.http.streaming import download
from reviews.imports import jobs, runs, uploads
from reviews.imports.recognition import ToolRecognised
from reviews.imports.shipped_mappings import BY_NAME
from reviews.models import Import, ImportLine, Run, User
from reviews.records import mapping
from reviews.records.conflicts import Conflict
from reviews.runs.reread import RereadRefused, reread_in_request

router = Router(tags=["imports"])
_INVALID = "The mapping is invalid. Nothing was saved."
_NAME = {
    "type": "object",
    "properties": {"name": {"enum": list(BY_NAME)}},
    "required": ["name"],
    "additionalProperties": False,
}
_MAPPING = {"required": True, "content": {TOML: {"schema": {"type": "string"}}, JSON: {"schema": _NAME}}}


@operation(
    router,
    operations.CREATE_IMPORT,
    scope="import",
    status=202,
    problems=(400, 411, 413, 415, 429, 507),
    requestBody=FILE_BODY,
    takes_any_run=True,
)
def create_import(
    request: ApiRequest, response: HttpResponse, run: str, file_name: str = "", *, strict: bool = False
) -> dict[str, Any]:
    """Import a file: JSONL, a JSON array, or a document or archive that the run's mapping reads.

    It may be compressed by gzip or zstd. It is stored and a job is enqueued: poll the import until its state
    is done or failed. The first accepted line of a new name creates the run. With `strict`, one invalid line
    rejects the whole file.
    """
    file = read_file(request)
    try:
        source = uploads.receive(
            file_name=file_name or f"{run}.jsonl",
            run_name=run,
            strict=strict,
            size=file.size,
            parts=file.parts,
            actor=request.user,
        )
    except ToolRecognised as refusal:
        first = f'Set it by PUT {PREFIX}runs/{{run}}/mapping with {{"name": "{refusal.shipped.name}"}}'
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            f"{refusal} {first}, and send the file again.",
            [(refusal.field, str(refusal))],
            slug="file-refused",
        ) from refusal
    response["Location"] = f"{PREFIX}imports/{source.pk}"
    return shapes.import_out(source)


@operation(
    router,
    operations.SET_MAPPING,
    scope="import",
    problems=(400, 415, 503),
    requestBody=_MAPPING,
    takes_any_run=True,
)
def set_mapping(request: ApiRequest, run: str, *, dry_run: bool = False) -> dict[str, Any]:
    """Set the mapping of a run whose files come from another tool (docs/mapping.md).

    The body is a mapping in TOML, or the name of a shipped mapping in JSON: `{"name": "promptfoo"}`. A new
    name of a run creates the run.

    The records of a run without decisions are read again from its stored files. With `dry_run`, nothing
    changes and the response says what would.
    """
    check_type(request, (*TOMLS, JSON))
    body = request.read(mapping.MOST_BYTES + 1)
    wanted = _shipped_mapping(body) if request.content_type == JSON else _own_mapping(body)
    found, report = runs.find_run(run), None
    if found and found.mapping != wanted.as_json() and found.evaluations.exists():
        report = _reread(found, wanted, request.user, is_trial=dry_run)
    elif dry_run:
        raise invalid_field("dry_run", "There are no records to read with another mapping.")
    else:
        found = runs.get_or_create_run(name=run, mapping=wanted, actor=request.user)
    return {"run": found.name, "mapping": wanted.as_json(), "reread": report}


def _reread(run: Run, wanted: mapping.FieldMapping, actor: User, *, is_trial: bool) -> dict[str, int]:
    """Read the run again. Raises `Problem` with the lines that prevent it."""
    try:
        report = reread_in_request(run_id=run.pk, mapping=wanted, actor=actor, is_trial=is_trial)
    except RereadRefused as refused:
        errors = [
            (f"{line.file_name} line {line.line}", f"{line.field} {line.reason}".strip())
            for line in refused.problems
        ]
        errors = errors or [("mapping", str(refused))]
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(refused), errors) from refused
    return asdict(report)


def _own_mapping(toml: bytes) -> mapping.FieldMapping:
    """Parse a mapping. Raises `Problem`."""
    try:
        return mapping.parse_mapping(toml)
    except mapping.MappingError as error:
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, _INVALID, error.problems) from error


def _shipped_mapping(body: bytes) -> mapping.FieldMapping:
    """Return the mapping that a JSON body names. Raises `Problem`."""
    sent = parse_json(body)
    for name, shipped in BY_NAME.items():
        if sent == {"name": name}:
            return shipped.read()
    takes = f'is not {{"name": ...}} with a shipped mapping: {", ".join(BY_NAME)}'
    raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, _INVALID, [("name", takes)])


@operation(router, operations.IMPORTS, scope="read", problems=(404,), takes_any_run=True)
def list_imports(
    request: ApiRequest, response: HttpResponse, run: str, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the imports of a run, the newest first."""
    found = get_run(run, request.user).imports.select_related("run", "progress")
    return [shapes.import_out(one) for one in list_by_key(request, response, found, after=after, limit=limit)]


@operation(router, operations.IMPORT, scope="import")
def get_import(request: ApiRequest, import_id: int) -> dict[str, Any]:
    """Return the progress of an import and the outcomes of its lines."""
    return shapes.import_out(load(Import, import_id, request.user))


@operation(router, operations.REJECTS, scope="import", files=[JSONL], problems=(503,))
def download_rejects(request: ApiRequest, import_id: int) -> StreamingHttpResponse:
    """Return the rejected lines as JSONL: number, outcome, field and reason of each."""
    source = load(Import, import_id, request.user)
    rejected = jsonl.import_exceptions(source, outcome=ImportLine.Outcome.REJECTED)
    return download(rejected, f"import-{source.pk}-rejects.jsonl")


@operation(router, operations.EXCEPTIONS, scope="import", files=[JSONL], problems=(503,))
def download_exceptions(request: ApiRequest, import_id: int) -> StreamingHttpResponse:
    """Return every line that did not become a new record, with outcome, field and reason."""
    source = load(Import, import_id, request.user)
    return download(jsonl.import_exceptions(source), f"import-{source.pk}-exceptions.jsonl")


@operation(router, operations.CANCEL_IMPORT, scope="import")
def cancel_import(request: ApiRequest, import_id: int) -> dict[str, Any]:
    """Cancel an import that is not finished. A running job stops soon; a finished import stays."""
    jobs.cancel_import(import_id=load(Import, import_id, request.user).pk, actor=request.user)
    return shapes.import_out(load(Import, import_id, request.user))


@operation(router, operations.RETRY_IMPORT, scope="import", problems=(409,))
def retry_import(request: ApiRequest, import_id: int) -> dict[str, Any]:
    """Import the stored file of a failed import again."""
    source = load(Import, import_id, request.user)
    if not jobs.can_retry(source):
        raise Conflict("This file cannot be imported as it is. Correct it and send it again.")
    jobs.retry_import(import_id=source.pk, actor=request.user)
    return shapes.import_out(load(Import, import_id, request.user))


class NewRunIn(Body):
    """The name of the new run."""

    run: str


@operation(router, operations.IMPORT_AS_NEW_RUN, scope="import", status=202, problems=(507,))
def import_as_new_run(request: ApiRequest, import_id: int, sent: NewRunIn) -> dict[str, Any]:
    """Import another judge's file again, as a run of its own."""
    source = load(Import, import_id, request.user)
    made = jobs.enqueue_as_new_run(source=source, run_name=sent.run, actor=request.user)
    return shapes.import_out(load(Import, made.pk, request.user))
