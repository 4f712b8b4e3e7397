"""Send a file by the tus protocol, so that an interrupted upload continues where it stopped."""

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from cognireview.client.errors import CogniReviewError, Conflict, Problem, UnexpectedResponse, Unreachable
from cognireview.client.requests import Upload
from cognireview.client.transport import Transport
from cognireview.types import operations
from cognireview.types.files import ImportDetails

#: Files of at least this size are sent by the tus protocol.
RESUMABLE_BYTES = 8 * 1024 * 1024
_TUS = {"Tus-Resumable": "1.0.0"}
_KIND = "application/offset+octet-stream"


async def send_resumable(
    transport: Transport[Any], upload: Upload, metadata: Mapping[str, str]
) -> ImportDetails:
    """Send a file, and return its import. Raises `Unreachable` if no attempt makes progress any more."""
    described = ",".join(f"{name} {b64encode(text.encode()).decode()}" for name, text in metadata.items())
    begun = {"Upload-Length": str(upload.size), "Upload-Metadata": described}
    found = await transport.headers(operations.CREATE_UPLOAD, headers=_TUS | begun)
    upload_id = found["location"].rpartition("/")[2]
    try:
        await _append(transport, upload, upload_id)
    except Problem:
        # An unfinished upload takes up space on the server.
        with suppress(CogniReviewError):
            await transport.headers(operations.CANCEL_UPLOAD, headers=_TUS, upload_id=upload_id)
        raise
    progress = await transport.send(operations.UPLOAD, upload_id=upload_id)
    if progress.import_id is None:
        raise UnexpectedResponse(f"The upload {upload_id} is complete and has no import.")
    return await transport.send(operations.IMPORT, import_id=progress.import_id)


async def _append(transport: Transport[Any], upload: Upload, upload_id: str) -> None:
    """Send the file from the offset that the server has, as often as needed."""
    offset = failures = 0
    while offset < upload.size:
        try:
            await transport.headers(
                operations.APPEND,
                body=replace(upload, kind=_KIND, start=offset),
                headers=_TUS | {"Upload-Offset": str(offset)},
                upload_id=upload_id,
            )
            break
        except (Unreachable, Conflict):
            await transport.backend.sleep(transport.retries.pause(failures))
            asked = await transport.headers(operations.CHECK_UPLOAD, headers=_TUS, upload_id=upload_id)
            reached = int(asked["upload-offset"])
            failures = 0 if reached > offset else failures + 1
            if failures > transport.retries.times:
                raise
            offset = reached
