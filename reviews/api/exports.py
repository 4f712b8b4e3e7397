"""Exports as jobs: request, follow, cancel, and download the file with its receipt."""

from typing import Any, Literal

from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from ninja import Field, Router, Schema

from cognireview.types import files, operations
from cognireview.types.encoding import members
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import CSV, JSON, JSONL, PARQUET, ZIP, Body
from reviews.api.lookup import get_run, load
from reviews.api.pagination import LIST_SIZE, After, Limit, list_by_key
from reviews.api.problems import invalid_field
from reviews.exports import downloads, formats, independent_reviews, jobs
from reviews.exports.documents import imported_format
from reviews.exports.output import ExportOptions
from reviews.exports.receipt import LineSource, ReceiptFilter, ReceiptInput, ReceiptOutput
from reviews.http.streaming import download
from reviews.judge import few_shot
from reviews.judge.scope import JudgeScope
from reviews.models import Export, ExportProgress, Run

router = Router(tags=["exports"])


class ExportIn(Body):
    """The options of an export."""

    only: Literal["all", "reviewed"] = "all"
    with_rejected: bool = Field(
        default=False, description="Rejected lines at their positions; not in tables, with all lines only."
    )
    import_id: int | None = Field(
        default=None, ge=1, lt=2**63, description="One file of the run instead of the whole run."
    )
    format: Literal["jsonl", "csv", "parquet"] | None = Field(default=None, description="Null: as imported.")
    compression: Literal["", "gzip", "zstd"] = ""


class ChangedLineOut(Schema):
    """A line of the file that differs from its input."""

    line: int
    evaluation_id: str
    keys: list[str]
    source: LineSource | None = Field(default=None, description="If a later file replaced the line.")


class LeftOutLinesOut(Schema):
    """Lines of an input that the file does not have."""

    import_id: int
    first_line: int
    last_line: int


class SignatureOut(Schema):
    """The site's signature of everything before it."""

    public_key: str
    ed25519: str


class ReceiptOut(Schema):
    """A receipt. docs/exports.md explains it."""

    receipt: int = Field(description="The version of this format.")
    program: str
    created_at: str
    run: str
    audit_head: str
    filter: ReceiptFilter
    inputs: list[ReceiptInput]
    output: ReceiptOutput
    lines_changed: int
    lines_left_out: int
    changed: list[ChangedLineOut]
    left_out: list[LeftOutLinesOut]
    signature: SignatureOut


@operation(router, operations.CREATE_EXPORT, scope="export", status=202)
def create_export(request: ApiRequest, run: str, sent: ExportIn | None = None) -> dict[str, Any]:
    """Enqueue an export with a receipt: poll it until its state is done, failed or cancelled.

    With all lines, it shows you the judge's scores: your later reviews in the run count as assisted.
    """
    found, wanted = get_run(run, request.user), sent or ExportIn()
    source = None
    if wanted.import_id is not None:
        source = found.files.filter(pk=wanted.import_id).first()
        if source is None:
            raise invalid_field("import_id", "The run has no import with this id.")
    options = ExportOptions(
        found,
        only=wanted.only,
        with_rejected=wanted.with_rejected,
        only_import=source,
        format=wanted.format or imported_format(found, source, wanted.only),
        compression=wanted.compression,
    )
    if not formats.is_installed(options.format):
        raise invalid_field("format", "This format is not installed on the server.")
    made = jobs.enqueue(options=options, actor=request.user)
    return _shape(load(Export, made.pk, request.user))


@operation(router, operations.EXPORTS, scope="export")
def list_exports(
    request: ApiRequest, response: HttpResponse, run: str, after: After = 0, limit: Limit = LIST_SIZE
) -> list[dict[str, Any]]:
    """List the exports of a run, the newest first. Finished ones are removed after some hours."""
    exports = get_run(run, request.user).exports.select_related("run", "created_by", "progress")
    return [_shape(one) for one in list_by_key(request, response, exports, after=after, limit=limit)]


@operation(router, operations.EXPORT, scope="export")
def get_export(request: ApiRequest, export_id: int) -> dict[str, Any]:
    """Return an export with its progress."""
    return _shape(load(Export, export_id, request.user))


@operation(router, operations.CANCEL_EXPORT, scope="export")
def cancel_export(request: ApiRequest, export_id: int) -> dict[str, Any]:
    """Cancel an export that is not finished. A running job stops soon; a finished export stays."""
    jobs.cancel(export_id=load(Export, export_id, request.user).pk, actor=request.user)
    return _shape(load(Export, export_id, request.user))


@operation(
    router,
    operations.EXPORT_FILE,
    scope="export",
    files=[JSONL, ZIP, CSV, PARQUET, "application/gzip", "application/zstd", JSON],
    problems=(503,),
)
def download_export(request: ApiRequest, export_id: int) -> HttpResponseBase:
    """Download the file of a finished export, or a part of it (`Range`, `If-Range` with its ETag)."""
    return downloads.file_response(_finished(export_id, request), request.user, request)


@operation(router, operations.RECEIPT, scope="export", response=ReceiptOut, problems=(503,))
def download_receipt(request: ApiRequest, export_id: int) -> StreamingHttpResponse:
    """Download the receipt of a finished export, for `manage.py verify_export`.

    Its signature covers its bytes: store them as they are.
    """
    return downloads.receipt_response(_finished(export_id, request))


@operation(router, operations.EXPORT_INDEPENDENT_REVIEWS, scope="export", files=[JSONL])
def export_independent_reviews(request: ApiRequest, run: str) -> StreamingHttpResponse:
    """Export the independent reviews of a run, except those that you must not see yet."""
    found = get_run(run, request.user)
    lines = independent_reviews.independent_review_lines(found, request.user)
    return download(lines, independent_reviews.independent_reviews_file_name(found))


@operation(router, operations.FEW_SHOT, scope="export", permission="lead_review", files=[JSONL])
def export_few_shot_examples(request: ApiRequest, run: str) -> StreamingHttpResponse:
    """Export corrected scores as examples, to tune a judge with. Leads and admins only."""
    found: Run = get_run(run, request.user)
    return download(few_shot.stream_examples(JudgeScope(found)), f"{found.name}-few-shot.jsonl")


def _finished(export_id: int, request: ApiRequest) -> Export:
    export = load(Export, export_id, request.user)
    if export.state != Export.State.DONE:
        raise Http404
    return export


def _shape(export: Export) -> dict[str, Any]:
    progress: ExportProgress | None = getattr(export, "progress", None)
    is_unfinished = export.state == Export.State.UNFINISHED
    return members(
        files.ExportDetails,
        export,
        import_id=export.only_import_id,
        is_being_cancelled=bool(is_unfinished and progress and progress.cancelled_by_id),
        bytes_read=progress.bytes_read if progress else None,
        bytes_to_read=progress.bytes_to_read if progress else None,
    )
