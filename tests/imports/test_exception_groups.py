"""Lines of an import with one cause are one group, with a count and the first line numbers."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from reviews.imports.exception_groups import LineGroup, group_exceptions
from reviews.imports.importer import NothingImported
from reviews.models import Import, ImportLine
from tests.support.factories import ImportFactory
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db


def with_lines(*reasons: str, outcome: str = "rejected", field: str = "") -> Import:
    source = ImportFactory.create()
    ImportLine.objects.bulk_create(
        ImportLine(source=source, line=number, outcome=outcome, field=field, reason=reason)
        for number, reason in enumerate(reasons, start=1)
    )
    return source


def test_lines_with_the_same_reason_are_one_group() -> None:
    done = import_data(file_of(line("a"), *[line("a")] * 75))
    assert group_exceptions(done) == [
        LineGroup("rejected", "evaluation_id", "is already in line 1", 75, [2, 3, 4])
    ]
    assert group_exceptions(done)[0].more == 72


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("is already in line 7", "is already in line 1,024"),
        ("is 'Done', but takes A", "is 'To do', but takes A"),
        ('is "Done", but takes ISO 8601', 'is "To do", but takes ISO 8601'),
        ("has `a` and 1.5", "has `b` and -2.75"),
    ],
)
def test_reasons_that_differ_in_values_are_one_group(first: str, second: str) -> None:
    [group] = group_exceptions(with_lines(first, second, first))
    assert group == LineGroup("rejected", "", first, 3, [1, 2, 3], varies=True)
    assert group.more == 0


def test_identical_reasons_do_not_vary() -> None:
    [group] = group_exceptions(with_lines(*["is longer than 512 bytes"] * 2))
    assert (group.reason, group.varies) == ("is longer than 512 bytes", False)


def test_fields_and_outcomes_are_separate_groups() -> None:
    import_data(file_of(line("a"), line("b")))
    done = import_data(
        file_of(
            line("a", model_id="other"), line("b", model_id="other"), line(task_id=True), line(model_id=True)
        )
    )
    groups = [(group.outcome, group.field, group.examples) for group in group_exceptions(done)]
    assert groups == [
        ("rejected", "task_id", [3]),
        ("rejected", "model_id", [4]),
        ("updated", "model_id", [1, 2]),
    ]
    [updated] = group_exceptions(done, ["updated"])
    assert updated.size == 2


def test_unchanged_lines_are_in_no_group() -> None:
    import_data(file_of(line("a")))
    assert group_exceptions(import_data(file_of(line("a")))) == []


def test_lines_of_other_imports_are_in_no_group() -> None:
    with_lines("is wrong")
    assert group_exceptions(ImportFactory.create()) == []


def test_largest_groups_are_first_and_their_number_is_limited() -> None:
    source = with_lines("one", "two", "three", "two")
    groups = group_exceptions(source, most=2)
    assert [(group.reason, group.size) for group in groups] == [("two", 2), ("one", 1)]


def test_groups_are_one_query(
    django_assert_num_queries: Callable[[int], AbstractContextManager[Any]],
) -> None:
    source = with_lines(*(f"reason {chr(ord('a') + number)}" for number in range(20)))
    with django_assert_num_queries(1):
        assert len(group_exceptions(source)) == 20


def test_refused_strict_import_has_groups() -> None:
    with pytest.raises(NothingImported) as caught:
        import_data(file_of(line("a"), b"no record", b"no record"), strict=True)
    [group] = caught.value.groups
    assert (group.outcome, group.size, group.examples) == ("rejected", 2, [2, 3])
