"""Retention: expired rows are removed; recent rows and rows in use stay."""

import datetime as dt
from collections.abc import Callable

import pytest
from allauth.usersessions.models import UserSession
from django.conf import LazySettings
from django.conf import settings as django_settings
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateJob

from cognireview.environment import FIELDS
from reviews import tasks
from reviews.accounts import one_time_links
from reviews.database.statements import execute, fetch_all, fetch_value
from reviews.exports import jobs
from reviews.exports.output import ExportOptions
from reviews.imports import jobs as import_jobs
from reviews.imports import uploads
from reviews.maintenance import retention
from reviews.maintenance.retention import RULES
from reviews.models import AuditEvent, Export, ImportLine, OneTimeLink, Upload, UploadPart, User
from tests.support.lines import file_of, import_data, line

DAY = dt.timedelta(days=1)
pytestmark = pytest.mark.django_db


def ago(age: dt.timedelta) -> dt.datetime:
    return timezone.now() - age


def test_every_rule_has_a_setting_with_a_unit() -> None:
    for rule in RULES:
        if rule.setting:
            assert isinstance(getattr(django_settings, rule.setting), dt.timedelta)
            assert [name for name in FIELDS if name.startswith(rule.setting.lower() + "_")]


class TestSessions:
    def session(self, key: str, expires: dt.datetime, user: User, seen: dt.datetime) -> None:
        Session.objects.create(session_key=key, session_data="x", expire_date=expires)
        self.login(key, user, seen)

    def login(self, key: str, user: User, seen: dt.datetime) -> None:
        UserSession.objects.create(user=user, session_key=key, ip="127.0.0.1", last_seen_at=seen)
        UserSession.objects.filter(session_key=key).update(created_at=seen, last_seen_at=seen)

    def test_expired_sessions_are_removed_with_their_logins(self, ana: User) -> None:
        self.session("old", ago(8 * DAY), ana, ago(30 * DAY))
        self.session("young", ago(6 * DAY), ana, ago(30 * DAY))
        self.session("open", timezone.now() + DAY, ana, ago(30 * DAY))
        retention.remove_sessions()
        for model in (Session, UserSession):
            assert set(model.objects.values_list("session_key", flat=True)) == {"young", "open"}

    def test_login_without_a_saved_session_yet_stays(self, ana: User) -> None:
        self.login("old", ana, ago(8 * DAY))
        self.login("new", ana, timezone.now())
        retention.remove_sessions()
        assert UserSession.objects.get().session_key == "new"

    def test_session_retention_is_a_setting(self, ana: User, settings: LazySettings) -> None:
        settings.KEEP_SESSIONS = 30 * DAY
        self.session("old", ago(29 * DAY), ana, ago(60 * DAY))
        retention.remove_sessions()
        assert Session.objects.exists()


class TestJobs:
    def job(self, status: str, ended: dt.datetime) -> int:
        pk = fetch_value(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, status)"
            " VALUES ('q', 't', %s) RETURNING id",
            [status],
        )
        execute("UPDATE procrastinate_events SET at = %s WHERE job_id = %s", [ended - DAY, pk])
        execute("INSERT INTO procrastinate_events (job_id, type, at) VALUES (%s, 'failed', %s)", [pk, ended])
        return int(pk)

    @pytest.mark.parametrize("status", ["failed", "cancelled", "aborted", "succeeded"])
    def test_old_finished_jobs_are_removed(self, status: str) -> None:
        self.job(status, ago(31 * DAY))
        young = self.job(status, ago(29 * DAY))
        retention.remove_jobs()
        assert [job.pk for job in ProcrastinateJob.objects.all()] == [young]

    @pytest.mark.parametrize("status", ["todo", "doing"])
    def test_pending_jobs_stay_at_any_age(self, status: str) -> None:
        waiting = self.job(status, ago(400 * DAY))
        retention.remove_jobs()
        assert [job.pk for job in ProcrastinateJob.objects.all()] == [waiting]

    def test_failed_periodic_job_is_removed(self) -> None:
        pk = self.job("failed", ago(31 * DAY))
        execute(
            "INSERT INTO procrastinate_periodic_defers (task_name, defer_timestamp, job_id)"
            " VALUES ('t', 1, %s)",
            [pk],
        )
        retention.remove_jobs()
        assert not ProcrastinateJob.objects.exists()


class TestLinks:
    @pytest.mark.parametrize("column", ["used_at", "withdrawn_at", "expires_at"])
    def test_old_used_and_expired_links_are_removed(self, column: str, max: User) -> None:
        old, young = (one_time_links.invite(role="reviewer", actor=max).link for _ in range(2))
        for link, age in ((old, 366), (young, 364)):
            OneTimeLink.objects.filter(pk=link.pk).update(**{column: ago(age * DAY)})
        retention.remove_links()
        assert OneTimeLink.objects.get() == young
        assert AuditEvent.objects.filter(action="invitation").count() == 2

    def test_pending_links_stay(self, max: User) -> None:
        link = one_time_links.invite(role="reviewer", actor=max).link
        OneTimeLink.objects.update(created_at=ago(400 * DAY), expires_at=timezone.now() + DAY)
        retention.remove_links()
        assert OneTimeLink.objects.get() == link


class TestFiles:
    @pytest.mark.slow
    def test_export_retention_is_a_setting(self, max: User, settings: LazySettings) -> None:
        run = import_data(file_of(line())).target_run
        export = jobs.enqueue(options=ExportOptions(run), actor=max)
        jobs.build(export_id=export.pk)
        Export.objects.update(finished_at=ago(3 * DAY))
        settings.KEEP_EXPORTS = 4 * DAY
        retention.remove_expired_rows()
        assert Export.objects.exists()
        settings.KEEP_EXPORTS = 2 * DAY
        retention.remove_expired_rows()
        assert not Export.objects.exists()
        assert AuditEvent.objects.filter(action="export removed").exists()

    def test_upload_retention_is_a_setting(self, max: User, settings: LazySettings) -> None:
        upload = uploads.begin(file_name="a.jsonl", run_name="run", strict=False, size=10, actor=max)
        uploads.append(upload, offset=0, data=b"12345")
        Upload.objects.update(changed_at=ago(3 * DAY))
        settings.KEEP_UPLOADS = 4 * DAY
        retention.remove_expired_rows()
        assert UploadPart.objects.exists()
        settings.KEEP_UPLOADS = 2 * DAY
        retention.remove_expired_rows()
        assert not Upload.objects.exists()
        assert not UploadPart.objects.exists()

    @pytest.mark.slow
    def test_imported_file_is_never_removed(self, max: User) -> None:
        data = file_of(line("eval_1"), b"no record")
        done = import_jobs.enqueue_import(
            run_name="run", file_name="a", blocks=[data], strict=False, actor=max
        )
        import_jobs.import_upload(import_id=done.pk)
        type(done).objects.update(created_at=ago(4000 * DAY), finished_at=ago(4000 * DAY))
        events = AuditEvent.objects.count()
        retention.remove_expired_rows()
        assert (done.chunks.count(), ImportLine.objects.count()) == (1, 1)
        assert AuditEvent.objects.count() == events


class TestCache:
    def test_only_expired_cache_entries_are_removed(self) -> None:
        cache.set("waits", 1, timeout=3600)
        cache.set("over", 1, timeout=3600)
        execute("UPDATE cache SET expires = %s WHERE cache_key LIKE '%%over'", [ago(DAY)])
        retention.remove_cached()
        assert [key.rpartition(":")[2] for (key,) in fetch_all("SELECT cache_key FROM cache")] == ["waits"]


class TestRetentionJob:
    def test_retention_job_applies_every_rule(self, monkeypatch: pytest.MonkeyPatch) -> None:
        applied: list[str] = []
        monkeypatch.setattr(
            retention, "RULES", [rule._replace(remove=self.noting(applied, rule.name)) for rule in RULES]
        )
        tasks.remove_expired_rows.func(timestamp=0)
        assert applied == [rule.name for rule in RULES]

    def test_retention_job_continues_after_a_failed_rule(self, monkeypatch: pytest.MonkeyPatch) -> None:
        applied: list[str] = []

        def fail() -> None:
            execute("SELECT * FROM nowhere")

        rules = [RULES[0]._replace(remove=fail), RULES[1]._replace(remove=self.noting(applied, "uploads"))]
        monkeypatch.setattr(retention, "RULES", rules)
        with pytest.raises(Exception, match="nowhere"):
            retention.remove_expired_rows()
        assert applied == ["uploads"]

    def noting(self, applied: list[str], what: str) -> Callable[[], None]:
        return lambda: applied.append(what)
