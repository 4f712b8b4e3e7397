"""What is sent as a file: whole, with its length, or not at all."""

import random
from collections.abc import Iterator

import pytest

from reviews.http import streaming as module
from reviews.http.streaming import download

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("in_memory", [0, 4 * 1024**2], ids=["in a file", "in memory"])
def test_comes_as_it_was_made_with_its_length(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_IN_MEMORY", in_memory)
    blocks = [random.Random(number).randbytes(700_000) for number in range(4)]
    answer = download(iter(blocks), "a file.jsonl")
    assert answer.getvalue() == b"".join(blocks)
    assert answer["Content-Length"] == "2800000"
    answer.close()


def test_what_fails_while_it_is_made_is_raised_before_anything_is_sent() -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        download(broken(), "a file.jsonl")


def test_of_a_size_that_is_known_it_is_sent_as_it_is_made() -> None:
    made = []

    def blocks() -> Iterator[bytes]:
        for block in (b"one", b"two"):
            made.append(block)
            yield block

    answer = download(blocks(), "a file.jsonl", size=6)
    assert made == []
    assert (answer.getvalue(), answer["Content-Length"]) == (b"onetwo", "6")
