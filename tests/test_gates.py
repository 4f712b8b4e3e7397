"""Checks that apply to every test."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from django.template import Context, Template
from hypothesis import settings as examples

from cognireview.environment import BASE_DIR
from reviews.accounts import people
from reviews.models import AuditEvent
from tests.support.browser_plugin import may_select_browser_tests
from tests.support.factories import PASSWORD


@pytest.mark.slow
def test_undefined_template_variable_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="nothing"):
        Template("{{ nothing }}").render(Context())


def test_warning_fails() -> None:
    with pytest.raises(UserWarning):
        warnings.warn("a warning", stacklevel=1)


def test_random_examples_follow_a_profile() -> None:
    assert examples.get_current_profile_name() in ("short", "thorough")


@pytest.mark.slow
def test_file_without_random_examples_and_browser_starts_without_hypothesis_and_playwright() -> None:
    program = """if True:
        import sys, pytest
        pytest.main(["--collect-only", "-q", "tests/test_days.py"])
        print(sys.modules.keys() & {"hypothesis", "playwright"})
    """
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.slow
def test_bytecode_is_written_even_if_the_environment_forbids_it(tmp_path: Path) -> None:
    """That of modules before the plugin, such as pytest's own, and after it."""
    forbidding = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    program = "import wave; import tests.support.first_plugin; import timeit"
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | forbidding)
    written = {path.name.split(".")[0] for path in tmp_path.rglob("*.pyc")}
    assert {"wave", "first_plugin", "timeit"} <= written


@pytest.mark.parametrize(
    ("given", "may"),
    [
        ([], True),
        (["tests"], True),
        (["tests/queue", "tests/browser"], True),
        (["tests/browser/test_theme.py::test_chosen_theme_applies_at_first_paint"], True),
        (["tests/test_days.py", "tests/queue"], False),
    ],
)
def test_playwright_is_loaded_if_browser_tests_may_be_selected(given: list[str], may: bool) -> None:
    names = [str(BASE_DIR / name) for name in given]
    assert may_select_browser_tests(names) is may


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("time", ["first", "second"])
def test_rows_of_append_only_tables_are_removed_between_tests(time: str) -> None:
    assert not AuditEvent.objects.exists()
    people.add_user(username="ana", password=PASSWORD, role="reviewer", actor=None)
