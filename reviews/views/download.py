"""JSONL sent as a file."""

import re
from collections.abc import Iterator

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header


def download(blocks: Iterator[bytes], name: str) -> StreamingHttpResponse:
    """Stream blocks of JSONL as a file of that name.

    The name may come from a person: whatever a file system or a shell could take amiss becomes `_`.
    """
    safe = re.sub(r"[^\w.-]+", "_", name).lstrip(".-")
    return StreamingHttpResponse(
        blocks,
        content_type="application/x-ndjson",
        headers={
            "Content-Disposition": content_disposition_header(True, safe),  # noqa: FBT003 (its only form)
            "Cache-Control": "no-store",
        },
    )
