"""Send a file by the tus protocol, so that an interrupted upload continues where it stopped."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace

from cognireview.client import operations
from cognireview.client.errors import Conflict, UnexpectedResponse, Unreachable
from cognireview.client.requests import Upload
from cognireview.client.responses import ImportDetails
from cognireview.client.sync.transport import Transport
from cognireview.client.sync.waiting import sleep

#: Files of at least this size are sent by the tus protocol.
RESUMABLE_BYTES = 8 * 1024 * 1024
_TUS = {"Tus-Resumable": "1.0.0"}
_KIND = "application/offset+octet-stream"


def send_resumable(transport: Transport, upload: Upload, metadata: Mapping[str, str]) -> ImportDetails:
    """Send a file, and return its import. Raises `Unreachable` if no attempt makes progress any more."""
    described = ",".join(f"{name} {b64encode(text.encode()).decode()}" for name, text in metadata.items())
    begun = {"Upload-Length": str(upload.size), "Upload-Metadata": described}
    found = transport.headers(operations.CREATE_UPLOAD, headers=_TUS | begun)
    upload_id = found["location"].rpartition("/")[2]
    offset = failures = 0
    while offset < upload.size:
        try:
            transport.headers(
                operations.APPEND,
                body=replace(upload, kind=_KIND, start=offset),
                headers=_TUS | {"Upload-Offset": str(offset)},
                upload_id=upload_id,
            )
            break
        except (Unreachable, Conflict):
            sleep(transport.retries.pause(failures))
            asked = transport.headers(operations.CHECK_UPLOAD, headers=_TUS, upload_id=upload_id)
            reached = int(asked["upload-offset"])
            failures = 0 if reached > offset else failures + 1
            if failures > transport.retries.times:
                raise
            offset = reached
    progress = transport.send(operations.UPLOAD, upload_id=upload_id)
    if progress.import_id is None:
        raise UnexpectedResponse(f"The upload {upload_id} is complete and has no import.")
    return transport.send(operations.IMPORT, import_id=str(progress.import_id))
