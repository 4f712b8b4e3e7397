"""Each tool writes its files once."""

from collections.abc import Iterator

import pytest

from tests.tools.installed import NpmInstall


@pytest.fixture(scope="session", autouse=True)
def npm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NpmInstall]:
    """Start to install promptfoo."""
    install = NpmInstall(tmp_path_factory.mktemp("promptfoo"))
    yield install
    install.stop()
