"""Sessions of tests: logins with two statements instead of a dozen, and none that a GET extends."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.test import Client

from reviews.accounts import session_store
from reviews.accounts.session_store import SessionStore
from reviews.models import User


def log_in(client: Client, user: User) -> None:
    """Log a user in, without a trace of a login: `last_login` stays as it is, and no signal is sent."""
    [backend] = settings.AUTHENTICATION_BACKENDS
    session = SessionStore().create_model_instance(
        {
            SESSION_KEY: str(user.pk),
            BACKEND_SESSION_KEY: backend,
            HASH_SESSION_KEY: user.get_session_auth_hash(),
        }
    )
    session.save(force_insert=True)
    UserSession.objects.create(user=user, ip="127.0.0.1", session_key=session.session_key)
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key


@contextmanager
def unextended_sessions() -> Iterator[None]:
    """Keep a GET from extending the session: on a slow machine, all pages take over a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_store, "_EXTENDED_EVERY", dt.timedelta(days=1))
        yield
