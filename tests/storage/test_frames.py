"""Streams are packed into frames."""

import random

import pytest
import zstandard

from reviews.storage.frames import compress, keep_frame, pack


@pytest.mark.parametrize("sizes", [[], [0], [1] * 250, [99, 1, 100, 3], [1000, 5], [40, 60, 130]])
def test_stream_is_packed_completely_into_frames_of_about_one_size(sizes: list[int]) -> None:
    blocks = [random.Random(number).randbytes(size) for number, size in enumerate(sizes)]
    parts = list(pack(iter(blocks), 100))
    texts = [zstandard.decompress(part.frame) for part in parts]
    assert b"".join(texts) == b"".join(blocks)
    assert [len(text) for text in texts] == [part.size for part in parts]
    assert all(part.size >= 100 for part in parts[:-1])


def test_large_text_keeps_its_frame_in_its_place_and_a_small_one_is_joined() -> None:
    texts = [random.Random(size).randbytes(size) for size in (50, 10, 49, 70, 120)]
    # A frame that differs from what the text would be compressed to.
    frames = [compress(b"") + compress(text) for text in texts]
    kept = [keep_frame(text, frame) for text, frame in zip(texts, frames, strict=True)]
    parts = list(pack([kept[0], texts[1], *kept[2:]], 100))
    assert [part.size for part in parts] == [50, 59, 70, 120]
    assert [part.frame for part in parts] == [frames[0], compress(texts[1] + texts[2]), *frames[3:]]
