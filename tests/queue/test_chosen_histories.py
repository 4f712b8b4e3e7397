"""The numbers of records add up and are the same everywhere, after chosen histories of a run."""

from itertools import pairwise, product

import pytest
from django.test import Client

from reviews.judge import planning
from reviews.models import KnownAnswer, User
from reviews.queue.progress import run_progress
from tests.support.run_history import History, check_dashboard, check_places, check_sums, check_webhook

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_every_kind_of_step_changes_something(called: None, ana: User, bo: User, lea: User) -> None:
    history = History([ana, bo, lea])
    steps: list[tuple[str, int, int]] = [
        ("submit", 0, 0),
        ("undo", 0, 0),
        ("sample", 0, 2),
        ("submit", 0, 5),
        ("escalate", 1, 1),
        ("claim_next", 1, 0),
        ("reopen", 0, 5),
        ("answer", 2, 1),
        ("import", 0, 3),
    ]
    seen = [run_progress(history.run)]
    for step in steps:
        history.step(*step)
        seen.append(check_sums(history.run))
    assert all(before != after for before, after in pairwise(seen)), seen
    history.step("sample", 0, 0)
    history.step("serve_plan", 2, 2)
    seen.append(check_sums(history.run))
    assert planning.served_plan(history.run)
    check_places(history.run, seen[-1], lea)
    check_webhook(history)


@pytest.mark.exhaustive
def test_numbers_add_up_during_and_after_a_check_with_known_answers(ana: User, bo: User, lea: User) -> None:
    history = History([ana, bo, lea])
    history.step("overlap", 0, 1)
    history.step("start_check", 0, 11)
    before = check_sums(history.run)
    assert KnownAnswer.objects.count() == 5
    for record, who in product(range(4), range(3)):
        history.step("submit", who, record)
    # Four records have three reviews each, and none is done.
    assert check_sums(history.run) == before
    check_places(history.run, before, lea)
    history.step("end_check", 0, 0)
    after = check_sums(history.run)
    assert (after.done, after.waiting) == (before.done + 4, before.waiting - 4)
    client = Client()
    client.force_login(lea)
    check_dashboard(client, history.run, after)
