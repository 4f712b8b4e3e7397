"""The first start of an installation: its setup link and, with `--demo`, sample people and a sample run."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from reviews.accounts import people
from reviews.accounts.permissions import role_of
from reviews.demo import first_start
from reviews.demo.reviews import REVIEWED_RUN
from reviews.demo.run import DEMO_RUN, demo_lines
from reviews.exports import jsonl
from reviews.models import Evaluation, IndependentReview, Review, Run, TaskContext, User
from tests.support.factories import UserFactory

pytestmark = pytest.mark.django_db

URL = "https://review.example.org"


class TestStartMessage:
    def test_start_message_links_the_welcome_page_without_an_admin(self) -> None:
        assert f"{URL}/welcome/{people.welcome_token()}/" in first_start.start_message(URL)

    def test_start_message_links_the_site_with_an_admin(self, max: User) -> None:
        assert first_start.start_message(URL).endswith(f" {URL}/")


@pytest.fixture(scope="class")
def said(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[str]]:
    """The output of creating the demo. Creation takes seconds, so one class shares the result."""
    usual = override_settings(BLIND_SHARE=0, RESTRICT_NEW_RUNS=True)
    with django_db_blocker.unblock(), transaction.atomic(), usual:
        yield first_start.create_demo()
        transaction.set_rollback(True)


@pytest.mark.usefixtures("said")
class TestDemo:
    def test_demo_has_a_run_and_people_who_can_log_in(self, said: list[str]) -> None:
        passwords = [line.split()[-1] for line in said]
        people = [User.objects.get(username=name) for name in ("ana", "bo", "lea", "max")]
        assert [role_of(person) for person in people] == ["reviewer", "reviewer", "lead", "admin"]
        assert all(person.check_password(word) for person, word in zip(people, passwords, strict=True))
        assert Evaluation.objects.filter(run__name=DEMO_RUN).count() == 200
        assert TaskContext.objects.filter(run__name=DEMO_RUN).count() == 40

    def test_demo_runs_are_open_even_if_new_runs_are_restricted(self) -> None:
        assert [run.is_restricted for run in Run.objects.all()] == [False, False]

    def test_demo_is_created_only_once(self) -> None:
        before = list(User.objects.values())
        assert first_start.create_demo() == []
        assert list(User.objects.values()) == before
        assert Run.objects.get(name=DEMO_RUN).imports.count() == 1

    def test_reviewed_demo_run_has_blind_sampled_and_independent_reviews(self) -> None:
        run = Run.objects.get(name=REVIEWED_RUN)
        assert not run.evaluations.filter(human_review_status="Needs Review").exists()
        decided = Review.objects.filter(run=run)
        assert decided.filter(blind_scores__isnull=False).exists()
        assert decided.filter(is_sampled=True).exists()
        assert IndependentReview.objects.filter(review__run=run).exists()
        assert decided.filter(reviewer__username="lea").exists()

    def test_reviewed_demo_run_exports_its_file_with_decisions_only(self) -> None:
        run = Run.objects.get(name=REVIEWED_RUN)
        sent = b"".join(demo_lines(150, 8)).splitlines()
        back = b"".join(jsonl.export_lines(run)).splitlines()
        differing = [
            number for number, lines in enumerate(zip(sent, back, strict=True)) if len(set(lines)) > 1
        ]
        assert len(differing) == run.evaluations.filter(human_review_status="Completed").count()


def test_demo_leaves_an_existing_user_of_that_name_alone() -> None:
    UserFactory.create(username="Ana")
    assert [line.split()[0] for line in first_start.create_demo()] == ["bo", "lea", "max"]
    assert role_of(User.objects.get(username="Ana")) == ""
