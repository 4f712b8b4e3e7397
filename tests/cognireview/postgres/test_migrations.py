"""Migrating a database that others use: one at a time, and nobody waits behind it for long."""

import threading
import time

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections, transaction
from django.test import Client

from cognireview.postgres import migrations
from reviews.database.statements import execute, fetch_value
from tests.support.factories import RunFactory
from tests.support.waiting import PATIENCE

_RECORD = "INSERT INTO django_migrations (app, name, applied) VALUES ('reviews', '9999_of_the_next', now())"


@pytest.mark.slow
@pytest.mark.django_db
def test_previous_version_stays_ready_after_migration(client: Client) -> None:
    execute(_RECORD)
    assert client.get("/readyz").status_code == 200
    migrations.migrate()
    call_command("migrate", verbosity=0)


@pytest.mark.slow
@pytest.mark.django_db
def test_database_of_another_version_is_reported_by_migrate() -> None:
    call_command("migrate", verbosity=0)
    execute("ALTER TABLE draft RENAME COLUMN revision TO edition")
    with pytest.raises(
        ImproperlyConfigured, match=r"lacks draft\.revision, though all migrations are applied"
    ):
        call_command("migrate", verbosity=0)


@pytest.mark.django_db(transaction=True)
class TestMigrate:
    @pytest.mark.slow
    def test_migrate_waits_for_another_migration(self) -> None:
        order = []

        def second() -> None:
            with migrations.migration_lock(connection):
                order.append("second")
            connections.close_all()

        with migrations.migration_lock(connection):
            thread = threading.Thread(target=second)
            thread.start()
            thread.join(0.3)
            order.append("first")
        thread.join(PATIENCE)
        assert order == ["first", "second"]

    @pytest.mark.slow
    def test_migrate_yields_to_table_users_and_retries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(migrations, "_SET_LOCK_TIMEOUT", "SET lock_timeout = '100ms'")
        monkeypatch.setattr(migrations, "_RETRY_SECONDS", 0.1)
        reads, may_end, said = threading.Event(), threading.Event(), []

        def read() -> None:
            execute("BEGIN; SELECT 1 FROM run")
            reads.set()
            may_end.wait(PATIENCE)
            execute("ROLLBACK")
            connections.close_all()

        def change() -> None:
            execute("LOCK TABLE run IN ACCESS EXCLUSIVE MODE")

        def say(sentence: str) -> None:
            said.append(sentence)
            if len(said) == 2:
                may_end.set()

        reader = threading.Thread(target=read)
        reader.start()
        assert reads.wait(PATIENCE)
        migrations.retry_on_lock_timeout(connection, transaction.atomic(change), say)
        reader.join(PATIENCE)
        assert len(said) >= 2
        assert "A table to be changed is in use" in said[0]
        assert fetch_value("SHOW lock_timeout") == "0"

    @pytest.mark.slow
    def test_migrate_builds_index_without_blocking_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(migrations, "_SET_LOCK_TIMEOUT", "SET lock_timeout = '100ms'")
        began, statement = threading.Event(), "CREATE INDEX CONCURRENTLY of_a_test ON run (name)"

        def write() -> None:
            with transaction.atomic():
                RunFactory.create()
                began.set()
                time.sleep(0.5)
            connections.close_all()

        def index() -> None:
            execute(statement)

        writer = threading.Thread(target=write)
        writer.start()
        assert began.wait(PATIENCE)
        migrations.retry_on_lock_timeout(connection, index, pytest.fail)
        writer.join(PATIENCE)
        assert fetch_value("SELECT indisvalid FROM pg_index WHERE indexrelid = 'of_a_test'::regclass") is True
        execute("DROP INDEX of_a_test")

    def test_migrate_fails_with_a_sentence_after_retries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(migrations, "_ATTEMPTS", 2)
        monkeypatch.setattr(time, "sleep", lambda _seconds: None)

        def fail() -> None:
            execute("DO $$ BEGIN RAISE SQLSTATE '55P03'; END $$")

        with pytest.raises(CommandError, match="A table to be changed stays in use"):
            migrations.retry_on_lock_timeout(connection, fail, lambda _sentence: None)

    def test_migrate_raises_other_errors(self) -> None:
        def fail() -> None:
            execute("DO $$ BEGIN RAISE SQLSTATE '57014'; END $$")

        with pytest.raises(OperationalError):
            migrations.retry_on_lock_timeout(connection, fail, lambda _sentence: None)
