"""Re-encryption of stored secrets after a change of the site's secret key."""

import io

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from allauth.usersessions.models import UserSession
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from cognireview import environment
from cognireview.setting_values import split_old_keys
from reviews.accounts import encryption
from reviews.maintenance import key_rotation
from reviews.models import AuditEvent, User, Webhook
from reviews.webhooks import deliveries, signing_secrets
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db
OLD, NEW, OTHER = "old key " * 8, "new key " * 8, "other key " * 8


@pytest.fixture(autouse=True)
def _under_the_old_key(settings: LazySettings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]


@pytest.fixture
def secret(ana: User, max: User) -> str:
    """Store one secret of each kind. Return the secret of ana's authenticator app."""
    secret = generate_totp_secret()
    TOTP.activate(ana, secret)
    RecoveryCodes.activate(ana)
    deliveries.add_webhook(url="https://hooks.example.org/", run=None, actor=max)
    return secret


def codes() -> list[str]:
    return list(Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes())


def rotate() -> str:
    out = io.StringIO()
    call_command("rotate_keys", stdout=out)
    return out.getvalue()


class TestRotating:
    def test_rotated_secrets_are_readable_without_the_old_key(
        self, secret: str, settings: LazySettings
    ) -> None:
        before = codes()
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OTHER, OLD]
        assert codes() == before
        assert "2 authenticator apps and sets of recovery codes, 1 webhook secrets" in rotate()
        settings.SECRET_KEY_FALLBACKS = []
        app = Authenticator.objects.get(type="totp")
        assert (
            encryption.cipher("reviews.accounts.second_factors", "second factor")
            .decrypt(app.data["secret"])
            .decode()
            == secret
        )
        assert codes() == before
        assert len(signing_secrets.readable(Webhook.objects.get())) == 1

    def test_rotation_leaves_an_event_with_counts(self, secret: str) -> None:
        rotate()
        event = AuditEvent.objects.get(action="secrets re-encrypted")
        assert event.detail == {"second_factors": 2, "webhooks": 1, "unreadable": []}

    def test_rotation_keeps_used_recovery_codes(self, secret: str, ana: User, settings: LazySettings) -> None:
        used, *unused = codes()
        assert Authenticator.objects.get(type="recovery_codes").wrap().validate_code(used)
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
        rotate()
        assert codes() == unused

    def test_rotation_names_unreadable_secrets_and_leaves_them(
        self, secret: str, settings: LazySettings
    ) -> None:
        settings.SECRET_KEY = NEW
        kept = list(Authenticator.objects.order_by("pk").values_list("data", flat=True))
        with pytest.raises(
            CommandError, match="decrypts the authenticator app of ana, the recovery codes of ana"
        ):
            rotate()
        assert list(Authenticator.objects.order_by("pk").values_list("data", flat=True)) == kept
        settings.SECRET_KEY_FALLBACKS = [OLD]
        assert "No stored secret needs an old key" in rotate()


class TestDeployCheck:
    def test_deploy_check_is_silent_without_faults(self, secret: str) -> None:
        assert key_rotation.check_secrets(None) == []

    def test_deploy_check_warns_of_secrets_with_an_old_key(self, secret: str, settings: LazySettings) -> None:
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
        [found] = key_rotation.check_secrets(None)
        assert (found.id, "authenticator app of ana" in found.msg) == ("reviews.W001", True)

    def test_deploy_check_fails_for_unreadable_secrets(self, secret: str, settings: LazySettings) -> None:
        settings.SECRET_KEY = NEW
        [found] = key_rotation.check_secrets(None)
        assert (found.id, " of webhook " in found.msg) == ("reviews.E001", True)


class TestLogin:
    @pytest.mark.slow
    def test_login_survives_a_change_of_the_key(
        self, client: Client, ana: User, settings: LazySettings
    ) -> None:
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
        assert client.get(reverse("runs")).status_code == 200
        settings.SECRET_KEY_FALLBACKS = []
        assert client.get(reverse("runs")).status_code == 200

    @pytest.mark.slow
    def test_login_is_still_listed_after_a_change_of_the_key(
        self, client: Client, ana: User, settings: LazySettings
    ) -> None:
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OLD]
        client.get(reverse("runs"))
        assert UserSession.objects.get(user=ana).session_key == client.session.session_key
        assert "This session" in client.get(reverse("account")).content.decode()

    def test_login_ends_without_the_old_key(self, client: Client, ana: User, settings: LazySettings) -> None:
        client.post(reverse("login"), {"login": "ana", "password": PASSWORD})
        settings.SECRET_KEY = NEW
        assert client.get(reverse("runs")).status_code == 302


class TestOldKeysSetting:
    @pytest.mark.parametrize(
        "given", [f"{'a' * 50},{'b' * 50}", f" {'a' * 50}\n{'b' * 50}\n", f"{'a' * 50} {'b' * 50}"]
    )
    def test_old_keys_setting_is_a_list(self, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_OLD_SECRET_KEYS", given)
        assert split_old_keys(environment.read().old_secret_keys) == ["a" * 50, "b" * 50]

    def test_old_keys_setting_refuses_a_short_key_without_showing_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_OLD_SECRET_KEYS", "hush, " + "b" * 50)
        with pytest.raises(ImproperlyConfigured, match="50 characters") as refused:
            environment.read()
        assert "hush" not in str(refused.value)
