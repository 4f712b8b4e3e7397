"""Copy the tests' database from a template: the migrated database with the triggers of the audit check."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from cognireview.environment import BASE_DIR
from cognireview.postgres import embedded
from tests.support import audit_check

_TEMPLATE = "template_of_tests"
# `migrate` and the receivers of post_migrate run these files; pyproject.toml pins third-party apps.
_SOURCES = (
    "pyproject.toml",
    "cognireview/settings.py",
    "cognireview/postgres/web_role.py",
    "reviews/apps.py",
    "reviews/accounts/permissions.py",
    "reviews/models/*.py",
    "reviews/migrations/*",
    "reviews/database/sql/*.sql",
    "tests/support/audit_check.py",
)


@contextmanager
def test_database_from_template() -> Iterator[None]:
    """Make Django copy its test database from the template, which the first call makes."""

    def create(self: Any, *args: Any, **options: Any) -> str:
        name: str = self._get_test_db_name()
        with self._nodb_cursor() as cursor:
            cursor.execute("SELECT EXISTS (SELECT FROM pg_database WHERE datname = %s)", [_TEMPLATE])
            [has_template] = cursor.fetchone()
        _execute(self, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        self.connection.close()
        _copy(self, _TEMPLATE if has_template else embedded.DATABASE, name)
        settings.DATABASES[self.connection.alias]["NAME"] = name
        self.connection.settings_dict["NAME"] = name
        if not has_template:
            audit_check.install_triggers(self.connection)
            self.connection.close()
            _copy(self, name, _TEMPLATE)
        return name

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(connection.creation), "create_test_db", create)
        yield


def _copy(creation: Any, source: str, target: str) -> None:
    _execute(creation, f'CREATE DATABASE "{target}" TEMPLATE "{source}" STRATEGY FILE_COPY')


def _execute(creation: Any, statement: str) -> None:
    with creation._nodb_cursor() as cursor:
        cursor.execute(statement)


def schema_fingerprint() -> str:
    """Return a digest of all files that determine a migrated database."""
    content = hashlib.sha256()
    for pattern in _SOURCES:
        for path in sorted(BASE_DIR.glob(pattern)):
            if path.is_file():
                content.update(path.name.encode() + b"\0" + path.read_bytes())
    return content.hexdigest()[:32]
