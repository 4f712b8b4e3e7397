"""Which texts may be usernames, at every way in."""

import io
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from reviews.accounts import one_time_links, people
from reviews.models import User, usernames
from tests.support.factories import UserFactory

GOOD = "eleven purple oxen dance"
REFUSED = [
    "",
    " ana",
    "ana banana",
    "ana\n",
    "ana\0",
    "\u0430na",  # a Cyrillic letter
    "an\u0251",
    "ana\u0301",
    "\uff41na",
    "Jos\u00e9",
    "\uae40",
    "a\u200bna",
    "\u202eana",
    "-1",
    "+1",
    "=1",
    "@SUM",
    "\uff20SUM",
    "-ana",
    ".ana",
    "_ana",
    "ana-",
    "ana.",
    "ana@",
    "1",
    "007",
    "2024-01-01",
    "1.5",
    "1e5",
    "0x1f",
    "inf",
    "NaN",
    "null",
    "None",
    "true",
    "ana;bo",
    "ana,bo",
    "ana/bo",
    "<b>",
    "ana'",
    "a" * 151,
]


def add(username: str) -> User:
    return people.add_user(username=username, password=GOOD, role="reviewer", actor=None)


def by_command(username: str) -> object:
    stdin = pytest.MonkeyPatch()
    stdin.setattr("sys.stdin", io.StringIO(GOOD))
    try:
        return call_command("add_user", "--role", "reviewer", "--password-stdin", "--", username)
    finally:
        stdin.undo()


def by_django_command(username: str) -> object:
    return call_command("createsuperuser", "--noinput", username=username, email="", stdout=io.StringIO())


class TestUsername:
    @pytest.mark.parametrize("username", [name for name in REFUSED if len(name) <= usernames.LONGEST])
    def test_username_with_lookalikes_signs_or_numbers_is_refused(self, username: str) -> None:
        assert usernames.problem(username)

    @pytest.mark.parametrize(
        "username",
        [
            "ana",
            "a",
            "Ana-Lena",
            "ana.b",
            "ana_2",
            "ana@example.org",
            "ana+cr@example.org",
            "0123abc",
            "4d-x",
        ],
    )
    def test_username_of_ascii_letters_and_digits_is_accepted(self, username: str) -> None:
        assert usernames.problem(username) == ""

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Ian", "lan"),
            ("bill", "biIl"),
            ("ana1", "anal"),
            ("bob", "b0b"),
            ("martin", "rnartin"),
            ("ANA", "ana"),
        ],
    )
    def test_lookalike_of_another_username_is_found(self, one: str, other: str) -> None:
        assert usernames.alike(other, ["eve", one]) == one
        assert usernames.alike(one, ["eve", other]) == other

    @pytest.mark.parametrize(
        ("one", "other"), [("ian", "lan"), ("ana1", "ana2"), ("ana", "anna"), ("a-b", "a_b"), ("r1", "r10")]
    )
    def test_distinct_usernames_are_no_lookalikes(self, one: str, other: str) -> None:
        assert usernames.alike(one, [other]) is None


@pytest.mark.django_db
class TestAccountCreation:
    @pytest.mark.parametrize("username", ["\u0430na", "-1", "@SUM", "1e5"])
    @pytest.mark.parametrize("way_in", [add, by_command, by_django_command])
    def test_invalid_username_is_refused(self, way_in: Callable[[str], object], username: str) -> None:
        with pytest.raises((people.AccountError, CommandError)):
            way_in(username)
        assert not User.objects.exists()

    @pytest.mark.parametrize("username", ["\u0430na", "-1", "@SUM", "1e5"])
    def test_join_page_shows_the_reason_at_the_username(self, username: str, client: Client) -> None:
        posted = {"username": username, "password": GOOD, "password_again": GOOD}
        made = one_time_links.invite(role="lead", actor=UserFactory.create(username="max", role="admin"))
        response = client.post(reverse("join", args=[made.token]), posted)
        assert response.status_code == 422
        assert "username" in response.content.decode()
        assert User.objects.count() == 1

    def test_welcome_page_refuses_an_invalid_username(self, client: Client) -> None:
        posted = {"username": "m\u0430x", "password": GOOD, "password_again": GOOD}
        response = client.post(reverse("welcome", args=[people.welcome_token()]), posted)
        assert response.status_code == 422
        assert "letters a to z" in response.content.decode()
        assert not User.objects.exists()

    def test_error_names_the_account_that_looks_the_same(self) -> None:
        add("Ian")
        with pytest.raises(people.AccountError, match="looks the same as Ian"):
            add("lan")

    def test_existing_person_with_an_invalid_username_can_still_work(self, client: Client) -> None:
        person = UserFactory.create(username="\u0430na", role="reviewer")
        client.force_login(person)
        assert client.get(reverse("runs")).status_code == 200
