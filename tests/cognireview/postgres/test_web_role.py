"""A server install: web servers and workers connect as a role that owns nothing."""

import os
from collections.abc import Iterator
from itertools import product
from typing import Any

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import override_settings
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from cognireview.postgres import web_role
from reviews.accounts import people
from reviews.audit import log
from reviews.audit.hash_chain import ChainVerifier
from reviews.database.statements import execute
from reviews.exports import jobs
from reviews.exports.output import ExportOptions
from reviews.imports import jobs as import_jobs
from reviews.models import AuditEvent, AuditSeal, Export, Run, User
from reviews.queue import claims
from reviews.review import undo
from reviews.runs import changes
from reviews.webhooks import deliveries
from tests.support.factories import PASSWORD, EvaluationFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import decide

# Roles are of the whole server: each process that runs tests has its own.
ROLE = "cognireview_test_web" + os.environ.get("PYTEST_XDIST_WORKER", "")
SECRET = "only the tests know it"


def make_role() -> None:
    """The role, with what `migrate` gives it."""
    execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{SECRET}'")
    with override_settings(WEB_ROLE=ROLE):
        web_role.grant_privileges(using="default")


class TestWebRole:
    @pytest.mark.slow
    def test_web_role_can_do_all_work_of_people_and_jobs(self, ana: User, lea: User, max: User) -> None:
        """Their ways into most tables, and the seals at the end."""
        make_role()
        execute(f"SET LOCAL ROLE {ROLE}")
        import_data(file_of(line("eval_a"), line("eval_b")))
        run = Run.objects.get()
        import_jobs.enqueue_import(
            run_name="more", file_name="more.jsonl", blocks=[line("eval_c")], strict=False, actor=max
        )
        decide(claims.claim_next(run=run, reviewer=ana) or EvaluationFactory.build(), ana)
        undo.undo(run=run, actor=ana)
        decide(claims.claim_next(run=run, reviewer=ana) or EvaluationFactory.build(), ana)
        deliveries.notify_reviewed_runs()
        skipped = claims.claim_next(run=run, reviewer=ana)
        assert skipped
        claims.skip(evaluation_id=skipped.pk, reviewer=ana)
        jobs.build(export_id=jobs.enqueue(options=ExportOptions(run), actor=lea).pk)
        people.add_user(username="eve", password=PASSWORD, role="reviewer", actor=max)
        execute("SET CONSTRAINTS ALL IMMEDIATE")
        assert Export.objects.get().state == Export.State.DONE
        assert b'"Completed"' in export_data()
        assert AuditSeal.objects.count() == AuditEvent.objects.count() > 5
        assert list(log.verify(ChainVerifier())) == []
        changes.request_deletion(run_id=run.pk, actor=max, confirmation=run.name)
        while changes.delete_next_part():
            pass
        assert not Run.objects.exists()


@pytest.fixture
def web(transactional_db: None) -> Iterator[psycopg.Connection[Any]]:
    """A connection of that role, to a database that holds an audit event."""
    make_role()
    try:
        execute(
            "INSERT INTO audit_event (action, actor_name, run_name, record, detail) "
            "VALUES ('look', '', '', '', '{}')"
        )
        place = connection.get_connection_params()
        with psycopg.connect(
            dbname=place["dbname"], user=ROLE, password=SECRET, host=place["host"], port=place["port"]
        ) as opened:
            yield opened
    finally:
        execute(f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}")


REFUSED = {
    "UPDATE": "UPDATE {table} SET {key} = {key}",
    "DELETE": "DELETE FROM {table}",
    "TRUNCATE": "TRUNCATE {table} CASCADE",
    "DISABLE TRIGGER": "ALTER TABLE {table} DISABLE TRIGGER ALL",
    "DROP": "DROP TABLE {table} CASCADE",
    "SET ROLE": "SET ROLE {owner}",
}


BYPASSES = (
    "INSERT INTO audit_seal (position, event_id, previous, hash) VALUES (2, 2, '', '')",
    "SET session_replication_role = replica",
    "ALTER FUNCTION seal_audit_event() RENAME TO sealed",
    "CREATE OR REPLACE FUNCTION seal_audit_event() RETURNS trigger LANGUAGE sql AS ''",
    "DROP TRIGGER audit_event_is_sealed ON audit_event",
    "CREATE TRIGGER mine BEFORE INSERT ON audit_event EXECUTE FUNCTION refuse_change()",
    "CREATE TABLE public.audit (id int)",
    """
    CREATE TEMPORARY TABLE mine (LIKE audit_event);
    CREATE TRIGGER mine AFTER INSERT ON mine FOR EACH ROW EXECUTE FUNCTION seal_audit_event()
    """,
    "DELETE FROM django_migrations",
    "DELETE FROM reveal",
)


def is_denied(web: psycopg.Connection[Any], statement: str | sql.Composed) -> bool:
    """Return whether the role lacks the right to execute the statement, which is rolled back."""
    try:
        web.execute(statement)
    except InsufficientPrivilege:
        return True
    finally:
        web.rollback()
    return False


class TestWebRoleDenial:
    def test_web_role_cannot_change_append_only_data(self, web: psycopg.Connection[Any]) -> None:
        owner = sql.Identifier(str(connection.settings_dict["USER"]))
        for table, (what, statement) in product(("audit_event", "audit_seal", "review"), REFUSED.items()):
            key = sql.Identifier("position" if table == "audit_seal" else "id")
            names = {"table": sql.Identifier(table), "key": key, "owner": owner}
            assert is_denied(web, sql.SQL(statement).format(**names)), (what, table)

    def test_web_role_cannot_bypass_append_only_rules(self, web: psycopg.Connection[Any]) -> None:
        assert [statement for statement in BYPASSES if not is_denied(web, statement)] == []

    @pytest.mark.slow
    def test_web_role_cannot_forge_hash_chain(self, web: psycopg.Connection[Any]) -> None:
        """A temporary table of that name is passed over."""
        web.execute("CREATE TEMPORARY TABLE audit_seal (LIKE audit_seal)")
        web.execute(
            "INSERT INTO audit_event (action, actor_name, run_name, record, detail) "
            "VALUES ('look', '', '', '', '{}')"
        )
        web.commit()
        assert AuditSeal.objects.count() == 2
        assert list(log.verify(ChainVerifier())) == []


class TestMigrate:
    def test_migrate_without_web_role_changes_nothing(self, db: None) -> None:
        web_role.grant_privileges(using="default")

    @override_settings(WEB_ROLE="nobody's")
    def test_migrate_reports_missing_web_role(self, db: None) -> None:
        with pytest.raises(ImproperlyConfigured, match='PostgreSQL has no role "nobody\'s"'):
            web_role.grant_privileges(using="default")

    def test_migrate_rejects_web_role_with_owner_rights(self, db: None) -> None:
        execute(f"CREATE ROLE {ROLE} SUPERUSER")
        with (
            override_settings(WEB_ROLE=ROLE),
            pytest.raises(ImproperlyConfigured, match="can act as the owner"),
        ):
            web_role.grant_privileges(using="default")

    def test_migrate_as_the_web_role_says_which_role_to_use(self, db: None) -> None:
        with (
            override_settings(WEB_ROLE=connection.settings_dict["USER"]),
            pytest.raises(ImproperlyConfigured, match=r"Migrate with the role that owns the tables\."),
        ):
            web_role.grant_privileges(using="default")
