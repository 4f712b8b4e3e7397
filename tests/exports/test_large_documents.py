"""Documents with large or deep members."""

import json
from io import BytesIO

import pytest

from reviews.exports.output import ExportOptions, ExportOutput
from reviews.storage import chunks
from tests.support.documents import AROUND, bring, document, exported, run

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_large_document_streams() -> None:
    """The members take several chunks, and no block of the export is larger than a few of them."""
    text = "x" * 100_000
    members = ",\n ".join(
        json.dumps({"id": str(number), "score": number, "why": text}) for number in range(60)
    )
    head, tail = json.dumps(AROUND).split("[]")
    data = f"{head}[{members}]{tail}".encode()
    done = bring(data)
    assert done.chunks.count() > 5
    output = ExportOutput(ExportOptions(run(), format="json"))
    blocks = list(output)
    assert b"".join(blocks) == data
    assert max(map(len, blocks)) < 3 * chunks.BLOCK_SIZE
    assert BytesIO(data).getbuffer().nbytes == output.size


def test_member_that_is_nested_too_deep_is_rejected_and_exported_as_it_came() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    data = document("a", "b").replace(b'"A, [b]"', deep, 1)
    done = bring(data)
    assert (done.new, done.rejected) == (1, 1)
    assert exported() == data
