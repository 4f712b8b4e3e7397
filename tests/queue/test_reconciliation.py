"""The numbers of records add up and are the same everywhere, after random histories of a run.

`pytest tests/queue/test_reconciliation.py --hypothesis-profile=thorough` tries many more histories.
"""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.models import User
from reviews.queue.progress import run_progress
from tests.support.run_history import STEPS, History, check_places, check_sums, check_webhook

pytestmark = pytest.mark.django_db


NUMBER = st.integers(0, 11)


# Each example ends with requests for ten pages, and takes a second.
_PROFILE = examples.default or examples()
HISTORIES = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2), NUMBER), max_size=25)
KEEPS_PEOPLE = [HealthCheck.function_scoped_fixture]


@pytest.mark.slow
@examples(max_examples=max(3, _PROFILE.max_examples // 8), suppress_health_check=KEEPS_PEOPLE)
@given(steps=HISTORIES)
def test_numbers_add_up_after_every_step_and_agree_everywhere(
    steps: list[tuple[str, int, int]], called: None, ana: User, bo: User, lea: User
) -> None:
    check_history(steps, [ana, bo, lea])


@pytest.mark.exhaustive
@examples(max_examples=max(12, _PROFILE.max_examples // 4), suppress_health_check=KEEPS_PEOPLE)
@given(steps=HISTORIES)
def test_numbers_add_up_after_many_histories(
    steps: list[tuple[str, int, int]], called: None, ana: User, bo: User, lea: User
) -> None:
    check_history(steps, [ana, bo, lea])


def check_history(steps: list[tuple[str, int, int]], people: list[User]) -> None:
    """Compare the numbers after each step of a history, then undo it."""
    with transaction.atomic():
        history = History(people)
        check_sums(history.run)
        for step in steps:
            history.step(*step)
            check_sums(history.run)
        check_places(history.run, run_progress(history.run), history.lead)
        check_webhook(history)
        transaction.set_rollback(True)
