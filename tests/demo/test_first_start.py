"""The first start of an installation: its setup link and, with `--demo`, sample people."""

import pytest

from reviews.accounts import people
from reviews.accounts.permissions import role_of
from reviews.demo import first_start
from reviews.models import User
from tests.support.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

URL = "https://review.example.org"


class TestStartMessage:
    def test_start_message_links_the_welcome_page_without_an_admin(self) -> None:
        assert f"{URL}/welcome/{people.welcome_token()}/" in first_start.start_message(URL)

    def test_start_message_links_the_site_with_an_admin(self, max: User) -> None:
        assert first_start.start_message(URL).endswith(f" {URL}/")


def test_demo_leaves_an_existing_user_of_that_name_alone() -> None:
    UserFactory.create(username="Ana")
    assert [line.split()[0] for line in first_start.create_demo()] == ["bo", "lea", "max"]
    assert role_of(User.objects.get(username="Ana")) == ""
