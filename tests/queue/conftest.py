"""A webhook for reviewed runs."""

import pytest
from django.conf import LazySettings

from reviews.models import User
from reviews.webhooks import deliveries


@pytest.fixture
def called(settings: LazySettings, max: User) -> None:
    """Let a webhook be called when a run is reviewed."""
    settings.WEBHOOK_HOSTS = ["hooks.example.org"]
    deliveries.add_webhook(url="https://hooks.example.org/", run=None, actor=max)
