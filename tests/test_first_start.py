"""What a new installation gets: the way in, and with `--demo` people and a run to try."""

import pytest

from reviews import first_start, people
from reviews.demo import DEMO_RUN
from reviews.models import Evaluation, Run, TaskContext, User
from reviews.permissions import role_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

URL = "https://review.example.org"


class TestTheAddress:
    def test_is_the_welcome_page_until_there_is_an_admin(self) -> None:
        assert f"{URL}/welcome/{people.welcome_token()}/" in first_start.address(URL)

    def test_is_the_site_from_then_on(self, max: User) -> None:
        assert first_start.address(URL).endswith(f" {URL}/")


class TestTheDemonstration:
    def test_brings_a_run_and_one_person_for_each_role_with_a_password_that_opens(self) -> None:
        passwords = [line.split()[-1] for line in first_start.demonstrate()]
        people = [User.objects.get(username=name) for name in ("ana", "lea", "max")]
        assert [role_of(person) for person in people] == ["reviewer", "lead", "admin"]
        assert all(person.check_password(word) for person, word in zip(people, passwords, strict=True))
        assert Evaluation.objects.filter(run__name=DEMO_RUN).count() == 200
        assert TaskContext.objects.filter(run__name=DEMO_RUN).count() == 40

    def test_changes_nothing_the_second_time(self) -> None:
        first_start.demonstrate()
        before = list(User.objects.values())
        assert first_start.demonstrate() == []
        assert list(User.objects.values()) == before
        assert Run.objects.get(name=DEMO_RUN).imports.count() == 1

    def test_leaves_somebody_of_that_name_alone(self) -> None:
        UserFactory.create(username="Ana")
        assert [line.split()[0] for line in first_start.demonstrate()] == ["lea", "max"]
        assert role_of(User.objects.get(username="Ana")) == ""
