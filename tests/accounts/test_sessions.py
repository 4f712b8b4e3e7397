"""Where somebody is signed in: as they read it, and ended for good."""

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.backends.db import SessionStore

from reviews.accounts import sessions
from reviews.models import User

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


def log_in(user: User, user_agent: str = FIREFOX) -> UserSession:
    store = SessionStore()
    store.create()
    values = {"session_key": store.session_key, "user_agent": user_agent, "ip": "192.0.2.7"}
    return UserSession.objects.create(user=user, **values)


class TestActiveSessions:
    @pytest.mark.parametrize(
        ("user_agent", "words"),
        [
            (FIREFOX, "Firefox on Linux"),
            ("Mozilla/5.0 (Windows NT 10.0) Chrome/142.0.0.0 Safari/537.36 Edg/142.0", "Edge on Windows"),
            ("Mozilla/5.0 (Linux; Android 16) Chrome/142.0.0.0 Mobile Safari/537.36", "Chrome on Android"),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Safari/604.1", "Safari on iOS"),
            ("curl", "Unknown browser on unknown system"),
        ],
    )
    def test_session_names_browser_and_system(self, user_agent: str, words: str, ana: User) -> None:
        log_in(ana, user_agent)
        assert [place.browser for place in sessions.active_sessions(ana, None)] == [words]

    def test_sessions_start_with_latest_and_mark_current(self, ana: User, bo: User) -> None:
        first, latest = log_in(ana), log_in(ana)
        log_in(bo)
        places = sessions.active_sessions(ana, first.session_key)
        assert [(place.pk, place.is_this) for place in places] == [(latest.pk, False), (first.pk, True)]

    def test_ended_sessions_are_not_listed(self, ana: User) -> None:
        SessionStore(log_in(ana).session_key).delete()
        assert sessions.active_sessions(ana, None) == []


class TestEndSession:
    def test_ending_one_session_keeps_others(self, ana: User) -> None:
        ended, kept = log_in(ana), log_in(ana)
        sessions.end(user=ana, session_id=ended.pk)
        assert [place.pk for place in sessions.active_sessions(ana, None)] == [kept.pk]
        assert not SessionStore().exists(ended.session_key)

    def test_session_of_other_person_cannot_be_ended(self, ana: User, bo: User) -> None:
        session = log_in(bo)
        with pytest.raises(UserSession.DoesNotExist):
            sessions.end(user=ana, session_id=session.pk)
        assert SessionStore().exists(session.session_key)

    def test_ending_other_sessions_keeps_current(self, ana: User, bo: User) -> None:
        this, _, _ = log_in(ana), log_in(ana), log_in(ana)
        of_bo = log_in(bo)
        assert sessions.end_others(user=ana, current_key=this.session_key) == 2
        assert [place.pk for place in sessions.active_sessions(ana, None)] == [this.pk]
        assert SessionStore().exists(of_bo.session_key)
