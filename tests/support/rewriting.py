"""Rewrite the assertions of test files before pytest does, and keep the result where pytest looks for it."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_assertions(config: pytest.Config, paths: Iterable[Path]) -> None:
    """Rewrite files of which pytest has no result yet.

    In a fresh checkout, each process would otherwise rewrite all files, which takes as long as the rest of
    the collection.
    """
    for path in paths:
        folder = rewrite.get_cache_dir(path)
        result = folder / f"{path.stem}{rewrite.PYC_TAIL}"
        if not result.exists() and rewrite.try_makedirs(folder):
            digest, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, result)
