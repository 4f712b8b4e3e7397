"""Downloads are complete, with their length, or fail as a whole."""

import hashlib
import random
from collections.abc import Iterator

import pytest

from reviews.http import streaming as module
from reviews.http.streaming import download, sha256_field
from reviews.storage.chunks import MeteredStream
from reviews.storage.decompression import decompress_zstd

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("in_memory", [0, 4 * 1024**2], ids=["in a file", "in memory"])
def test_download_has_content_and_length(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_IN_MEMORY", in_memory)
    blocks = [random.Random(number).randbytes(700_000) for number in range(4)]
    answer = download(iter(blocks), "a file.jsonl")
    assert answer.getvalue() == b"".join(blocks)
    assert answer["Content-Length"] == "2800000"
    answer.close()


@pytest.mark.parametrize("in_memory", [0, 4 * 1024**2], ids=["in a file", "in memory"])
def test_download_is_compressed_for_a_client_that_accepts_zstd_alone(
    in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_IN_MEMORY", in_memory)
    blocks = [random.Random(number).randbytes(70_000) * 10 for number in range(4)]
    answer = download(iter(blocks), "a file.jsonl", accept_encoding="zstd")
    sent, whole = answer.getvalue(), b"".join(blocks)
    assert b"".join(decompress_zstd([sent])) == whole
    assert int(answer["Content-Length"]) == len(sent) < len(whole) // 5
    assert (answer["Content-Encoding"], answer["Vary"]) == ("zstd", "Accept-Encoding")
    assert answer["Unencoded-Digest"] == sha256_field(hashlib.sha256(whole).hexdigest())
    assert "Repr-Digest" not in answer
    answer.close()


@pytest.mark.parametrize("accepted", ["", "identity", "gzip, deflate, br, zstd", "zstd, gzip", "zstd;q=0"])
def test_download_is_not_compressed_for_other_clients(accepted: str) -> None:
    answer = download(iter([b"one", b"two"]), "a file.jsonl", accept_encoding=accepted)
    assert (answer.getvalue(), answer["Content-Length"]) == (b"onetwo", "6")
    assert answer["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in answer
    answer.close()


def test_measured_blocks_are_not_hashed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = MeteredStream([b"one", b"two"])
    monkeypatch.delattr(module, "MeteredStream")
    answer = download(measured, "a file.jsonl")
    digest = sha256_field(hashlib.sha256(b"onetwo").hexdigest())
    assert (answer.getvalue(), answer["Content-Length"], answer["Repr-Digest"]) == (b"onetwo", "6", digest)
    answer.close()


def test_failure_is_raised_before_download_starts() -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        download(broken(), "a file.jsonl")


def test_download_of_known_size_is_not_spooled() -> None:
    made = []

    def blocks() -> Iterator[bytes]:
        for block in (b"one", b"two"):
            made.append(block)
            yield block

    answer = download(blocks(), "a file.jsonl", size=6)
    assert made == []
    assert (answer.getvalue(), answer["Content-Length"]) == (b"onetwo", "6")
