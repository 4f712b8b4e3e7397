"""Records are divided by numbers, evenly, and by whole tasks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.dashboard.splitting import Share, Split, SplitRefused
from reviews.models import User

ANA, BO, CY = (User(pk=number, username=name) for number, name in enumerate(("ana", "bo", "cy"), start=1))


def sizes(*shares: Share, records: int) -> list[int]:
    return Split(shares).sizes(records)


def test_even_shares_differ_by_one_record() -> None:
    assert sizes(Share(ANA), Share(BO), Share(CY), records=120) == [40, 40, 40]
    assert sizes(Share(ANA), Share(BO), Share(CY), records=11) == [4, 4, 3]


def test_people_without_a_number_share_the_rest_evenly() -> None:
    assert sizes(Share(ANA, 50), Share(BO), Share(CY), records=120) == [50, 35, 35]


def test_numbers_may_leave_records_over() -> None:
    split = Split((Share(ANA, 2), Share(BO, 1)), keeps_tasks=False)
    assert split.divide(["1", "1", "2", "2"]) == [ANA, ANA, BO, None]


def test_numbers_above_the_records_are_refused() -> None:
    with pytest.raises(SplitRefused, match="add up to 130, but only 120 can be split"):
        sizes(Share(ANA, 100), Share(BO, 30), records=120)
    with pytest.raises(SplitRefused, match="Choose at least one person"):
        sizes(records=120)


def test_large_tasks_are_evened_out_by_small_ones() -> None:
    tasks = ["small", "large", "large", "large", "other", "third"]
    given_to = Split((Share(ANA), Share(BO))).divide(tasks)
    assert Counter(given_to) == {ANA: 3, BO: 3}
    assert len({person for person, task in zip(given_to, tasks, strict=True) if task == "large"}) == 1


def test_task_that_exceeds_every_number_is_left_over() -> None:
    assert Split((Share(ANA, 2),)).divide(["1", "1", "1", "2"]) == [None, None, None, ANA]


@given(
    tasks=st.lists(st.none() | st.sampled_from("123456"), max_size=40),
    numbers=st.lists(st.none() | st.integers(0, 15), min_size=1, max_size=3),
    keeps_tasks=st.booleans(),
)
def test_split_keeps_numbers_tasks_and_records(
    tasks: list[str | None], numbers: list[int | None], keeps_tasks: bool
) -> None:
    people = [ANA, BO, CY][: len(numbers)]
    split = Split(tuple(map(Share, people, numbers)), keeps_tasks)
    if sum(filter(None, numbers)) > len(tasks):
        with pytest.raises(SplitRefused):
            split.divide(tasks)
        return
    found = split.divide(tasks)
    counts = Counter(found)
    assert len(found) == len(tasks)
    for person, number in zip(people, numbers, strict=True):
        assert number is None or counts[person] <= number
    if None in numbers:
        assert counts[None] == 0
    if keeps_tasks:
        by_task = {(task, person) for task, person in zip(tasks, found, strict=True) if task}
        assert len(by_task) == len({task for task, _ in by_task})
    else:
        assert [counts[person] for person in people] == split.sizes(len(tasks))
