"""A receiver of webhooks, and a webhook to it."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from reviews.models import User
from reviews.webhooks import deliveries
from tests.support import receiver
from tests.support.receiver import Receiver


@pytest.fixture
def there(settings: LazySettings) -> Iterator[Receiver]:
    with receiver.running() as running:
        settings.WEBHOOK_HOSTS = [running.host]
        yield running


@pytest.fixture
def made(there: Receiver, max: User) -> deliveries.NewWebhook:
    """Add a webhook to the receiver for every run."""
    return deliveries.add_webhook(url=there.url, run=None, actor=max)
