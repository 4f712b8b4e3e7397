"""The pages on which admins manage webhooks."""

import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from reviews.models import User, Webhook
from reviews.webhooks import deliveries, signing_secrets
from tests.support.factories import PASSWORD, RunFactory
from tests.support.pages import text

pytestmark = pytest.mark.django_db

URL = "https://hooks.example.org/reviewed?team=a"


@pytest.fixture(autouse=True)
def _hosts(settings: LazySettings) -> None:
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]


@pytest.fixture
def proven(as_max: Client, max: User) -> Client:
    """Sign in max, recently reauthenticated."""
    as_max.post(reverse("reauthenticate"), {"password": PASSWORD})
    return as_max


@pytest.fixture
def webhook(max: User) -> Webhook:
    return deliveries.add_webhook(url=URL, run=None, actor=max).webhook


class TestWebhooksPage:
    def test_webhooks_page_says_how_to_turn_webhooks_on(self, as_max: Client, settings: LazySettings) -> None:
        assert "Webhooks are off" not in text(as_max.get(reverse("webhooks")))
        settings.WEBHOOK_HOSTS = []
        page = text(as_max.get(reverse("webhooks")))
        assert "Webhooks are off. Set <code>COGNIREVIEW_WEBHOOK_HOSTS" in page

    def test_webhooks_page_is_linked_for_admins(self, as_max: Client, as_lea: Client) -> None:
        assert reverse("webhooks") in text(as_max.get(reverse("runs")))
        assert reverse("webhooks") not in text(as_lea.get(reverse("runs")))

    @pytest.mark.slow
    def test_webhooks_page_has_a_constant_number_of_queries(
        self,
        as_max: Client,
        max: User,
        webhook: Webhook,
        django_assert_num_queries: DjangoAssertNumQueries,
    ) -> None:
        deliveries.send_test(webhook=webhook, actor=max)
        as_max.get(reverse("webhooks"))
        queries = 5
        with django_assert_num_queries(queries):
            as_max.get(reverse("webhooks"))
        for _ in range(3):
            more = deliveries.add_webhook(url=URL, run=RunFactory.create(), actor=max).webhook
            deliveries.send_test(webhook=more, actor=max)
        with django_assert_num_queries(queries):
            page = text(as_max.get(reverse("webhooks")))
        assert page.count("waiting") == 4


class TestAddWebhook:
    @pytest.mark.slow
    def test_adding_a_webhook_reauthenticates_and_shows_the_secret_once(
        self, as_max: Client, max: User
    ) -> None:
        run = RunFactory.create(name="nightly")
        sent = {"url": URL, "run": run.pk, "events": ["run.reviewed", "import.failed"]}
        assert as_max.post(reverse("add-webhook"), sent)["Location"].startswith(reverse("reauthenticate"))
        assert not Webhook.objects.exists()
        as_max.post(reverse("reauthenticate"), {"password": PASSWORD})
        page = text(as_max.post(reverse("add-webhook"), sent))
        made = Webhook.objects.get()
        assert (made.url, made.run, made.created_by) == (URL, run, max)
        assert made.events == ["run.reviewed", "import.failed"]
        assert re.search(r'value="whsec_[A-Za-z0-9+/]{43}="', page)
        for name, arguments in (("webhooks", []), ("webhook", [made.pk])):
            assert "whsec_" not in text(as_max.get(reverse(name, args=arguments)))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("sent", "why"),
        [
            ({"url": ""}, "This field is required"),
            (
                {"url": "https://elsewhere.org/"},
                "with port 443 is not in COGNIREVIEW_WEBHOOK_HOSTS",
            ),
            ({"url": "http://hooks.example.org/"}, "The URL must begin with https://"),
            ({"url": "https://hooks.example.org/\0"}, "Null characters are not allowed"),
            ({"url": "https://hooks.example.org/" + "x" * 2000}, "at most 2000 characters"),
            ({"url": URL, "run": "0"}, "Select a valid choice"),
            ({"url": URL, "run": "x"}, "Select a valid choice"),
            ({"url": URL, "events": []}, "Choose at least one event."),
            ({"url": URL, "events": ["x"]}, "Select a valid choice"),
        ],
    )
    def test_adding_a_disallowed_webhook_shows_the_reason(
        self, sent: dict[str, Any], why: str, proven: Client
    ) -> None:
        answer = proven.post(reverse("add-webhook"), {"events": ["run.reviewed"], **sent})
        assert answer.status_code == 422
        assert why in text(answer)
        assert not Webhook.objects.exists()


@pytest.mark.slow
class TestWebhookPage:
    def test_webhook_page_shows_each_attempt(
        self, as_max: Client, webhook: Webhook, max: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent = deliveries.send_test(webhook=webhook, actor=max)
        sent.attempts.create(number=1, status=500, reason="Internal Server Error")
        sent.attempts.create(number=2, reason="No response in time.")
        page = text(as_max.get(reverse("webhook", args=[webhook.pk])))
        assert "<strong>500</strong> Internal Server Error" in page
        assert page.index("500") < page.index("No response in time.")
        assert "next attempt" in page

    def test_webhook_page_sends_a_test(self, as_max: Client, webhook: Webhook) -> None:
        answer = as_max.post(reverse("test-webhook", args=[webhook.pk]), follow=True)
        assert "Test message queued" in text(answer)
        assert webhook.deliveries.get().event == "test"

    def test_removed_webhook_is_gone_and_its_deliveries_stay(
        self, as_max: Client, webhook: Webhook, max: User
    ) -> None:
        deliveries.send_test(webhook=webhook, actor=max)
        assert URL not in text(as_max.post(reverse("remove-webhook", args=[webhook.pk]), follow=True))
        assert as_max.get(reverse("webhook", args=[webhook.pk])).status_code == 404
        assert webhook.deliveries.get().state == "given up"

    def test_secret_is_added_shown_once_and_removed(self, proven: Client, webhook: Webhook) -> None:
        page = reverse("webhook", args=[webhook.pk])
        [first] = webhook.secrets.all()
        assert "Remove this secret?" not in text(proven.get(page))
        shown = text(proven.post(reverse("add-webhook-secret", args=[webhook.pk])))
        assert re.search(r'value="whsec_[A-Za-z0-9+/]{43}="', shown)
        listed = text(proven.get(page))
        assert (listed.count("Remove this secret?"), "whsec_" in listed) == (2, False)
        answer = proven.post(reverse("remove-webhook-secret", args=[webhook.pk, first.pk]), follow=True)
        assert "Secret removed" in text(answer)
        [last] = webhook.secrets.all()
        answer = proven.post(reverse("remove-webhook-secret", args=[webhook.pk, last.pk]), follow=True)
        assert "This is the only secret of the webhook" in text(answer)

    def test_adding_a_secret_reauthenticates(self, as_max: Client, webhook: Webhook) -> None:
        answer = as_max.post(reverse("add-webhook-secret", args=[webhook.pk]))
        assert answer["Location"].startswith(reverse("reauthenticate"))
        assert webhook.secrets.count() == 1

    def test_sixth_secret_is_refused(self, proven: Client, webhook: Webhook) -> None:
        for _ in range(4):
            proven.post(reverse("add-webhook-secret", args=[webhook.pk]))
        assert "Add a secret" not in text(proven.get(reverse("webhook", args=[webhook.pk])))
        answer = proven.post(reverse("add-webhook-secret", args=[webhook.pk]), follow=True)
        assert "A webhook has at most 5 secrets" in text(answer)

    def test_finished_message_is_sent_again(self, as_max: Client, webhook: Webhook, max: User) -> None:
        sent = deliveries.send_test(webhook=webhook, actor=max)
        page, again = reverse("webhook", args=[webhook.pk]), ("resend-webhook-message", webhook.pk, sent.pk)
        assert "Send again" not in text(as_max.get(page))
        path = reverse(again[0], args=again[1:])
        assert "still being sent" in text(as_max.post(path, follow=True))
        webhook.deliveries.update(state="delivered")
        assert "Send again" in text(as_max.get(page))
        assert "Message queued" in text(as_max.post(path, follow=True))
        assert webhook.deliveries.get().state == "waiting"

    def test_webhook_page_has_a_constant_number_of_queries(
        self,
        as_max: Client,
        max: User,
        webhook: Webhook,
        django_assert_num_queries: DjangoAssertNumQueries,
    ) -> None:
        page = reverse("webhook", args=[webhook.pk])
        for _ in range(3):
            as_max.get(page)
            sent = deliveries.send_test(webhook=webhook, actor=max)
            sent.attempts.create(number=1, reason="No response in time.")
            signing_secrets.add(webhook=webhook, actor=max)
            with django_assert_num_queries(6):
                as_max.get(page)
