"""A plugin that loads pytest-playwright only if browser tests may be selected: others start sooner."""

from collections.abc import Iterable
from pathlib import Path

import pytest

_BROWSER_TESTS = Path(__file__).parents[1] / "browser"


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Load pytest-playwright, whose options the command line may have, before the options are parsed."""
    if may_select_browser_tests(early_config.known_args_namespace.file_or_dir):
        early_config.pluginmanager.import_plugin("pytest_playwright.pytest_playwright")


def may_select_browser_tests(given: Iterable[str]) -> bool:
    """Whether what the command line names may contain browser tests. No name means all tests."""
    paths = [Path(one.partition("::")[0]).resolve() for one in given]
    return not paths or any(
        path.is_relative_to(_BROWSER_TESTS) or _BROWSER_TESTS.is_relative_to(path) for path in paths
    )
