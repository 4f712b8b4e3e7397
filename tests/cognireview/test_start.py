"""The modules that a process imports before its work begins: counts, because times depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from cognireview.environment import variable_name
from cognireview.postgres import embedded, migrations
from tests.support.processes import environment

pytestmark = pytest.mark.slow

SETUP = "import django; django.setup()"
LOAD = "from django.core.management import load_command_class; load_command_class('reviews', {!r})"
# The code of the process, the number of modules that it may import, and packages that it does not need.
BUDGETS = {
    # Web processes and the worker share these. The first two modules would change the worker.
    "the supervisor": (
        "import cognireview.processes.supervisor; cognireview.processes.child_process.preload()",
        1951,
        (
            "cognireview.wsgi",
            "prometheus_client",
            "requests",
            "urllib3",
            "django.contrib.admin",
            "pydantic_settings",
        ),
    ),
    "a list": (
        f"{SETUP}; {LOAD.format('list_runs')}",
        900,
        (
            "requests",
            "urllib3",
            "pydantic",
            "ninja",
            "granian",
            "numpy",
            "rich",
            "django.contrib.admin",
            "procrastinate.migrations",
        ),
    ),
    "a worker of its own": (
        f"{SETUP}; {LOAD.format('work')}",
        916,
        (
            "requests",
            "pydantic",
            "ninja",
            "granian",
            "numpy",
            "reviews.imports.importer",
            "reviews.exports",
            "reviews.views",
        ),
    ),
}

# Code that a process runs after its modules are listed: no further process has to start for it.
NEXT = {
    "the supervisor": """
assert "reviews.http.login" in sys.modules and "reviews.accounts.authentication" in sys.modules
""",
    "a list": """
from cognireview.processes import web_server
assert "reviews.views" not in sys.modules
from django.urls import resolve, reverse
reverse("login"), resolve("/")
assert "reviews.views.review.queue" in sys.modules
assert not sys.modules.keys() & {"ninja", "reviews.api.urls"}
web_server._preload_application()
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
assert "reviews.api.decisions" in sys.modules
assert "prometheus_client" not in sys.modules
assert connection.connection is None and not DatabaseWrapper._connection_pools
""",
}


def modules_after(code: str, folder: Path, *, then: str = "") -> list[str]:
    """Run code in a process and return the modules that it has imported. Runs `then` afterwards."""
    settings = environment(COGNIREVIEW_DATA_DIR=str(folder), DJANGO_SETTINGS_MODULE="cognireview.settings")
    listing = f"{code}; import json, sys; print(json.dumps(sorted(sys.modules)))\n{then}"
    done = subprocess.run([sys.executable, "-c", listing], env=settings, check=True, capture_output=True)
    modules: list[str] = json.loads(done.stdout)
    return modules


@pytest.mark.parametrize("process", BUDGETS)
def test_process_imports_no_more_modules_than_its_budget(process: str, tmp_path: Path) -> None:
    """The process of a list then loads pages alone, and then the application of a web server."""
    code, budget, absent = BUDGETS[process]
    modules = modules_after(code, tmp_path, then=NEXT.get(process, ""))
    assert not [name for name in modules if f"{name}.".startswith(tuple(f"{one}." for one in absent))]
    assert len(modules) <= budget


def test_name_of_the_data_folder_in_its_error_is_the_setting() -> None:
    assert variable_name("data_dir") in embedded.unwritable(PermissionError(13, "Permission denied", "var"))


@pytest.mark.parametrize("modules", [{}, {"reviews": "django.contrib.auth.migrations", "auth": None}])
def test_names_of_migration_files_are_those_of_the_migrations(
    modules: dict[str, str | None], settings: LazySettings
) -> None:
    settings.MIGRATION_MODULES = modules
    loader = MigrationLoader(connection, load=False)
    loader.load_disk()
    # Not the names that are kept: those are of the usual modules.
    assert migrations._names_of_migrations.__wrapped__() == set(loader.disk_migrations)
