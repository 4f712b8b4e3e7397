"""Storage of unchanged lines as ranges, in which each line and record is found."""

import random

import pytest

from reviews.history import timeline
from reviews.models import Evaluation, Import, ImportLine, User
from reviews.storage import unchanged_ranges
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import agree

# Four of these exceed one chunk.
LONG = "long " * 60_000


def lines(count: int, **changes: object) -> list[bytes]:
    return [line(f"eval_{number}", **changes) for number in range(1, count + 1)]


def rows_of(source: Import) -> list[tuple[int, int, str]]:
    return list(source.exceptions.order_by("line").values_list("line", "lines", "outcome"))


def listed(source: Import) -> list[tuple[int, str, str]]:
    return [(one["line"], one["outcome"], one["reason"]) for one in source.listed_exceptions()]


@pytest.mark.django_db
class TestRanges:
    @pytest.mark.slow
    def test_unchanged_file_is_one_range(self) -> None:
        data = file_of(*lines(40))
        import_data(data)
        again = import_data(data)
        assert rows_of(again) == [(1, 40, "unchanged")]
        assert listed(again) == [(n, "unchanged", "the same bytes as before") for n in range(1, 41)]

    @pytest.mark.slow
    def test_range_continues_in_the_next_chunk(self) -> None:
        data = file_of(*lines(12, verification_message=LONG))
        first = import_data(data)
        assert first.chunks.count() > 2
        assert rows_of(import_data(data)) == [(1, 12, "unchanged")]

    @pytest.mark.slow
    def test_range_ends_at_another_outcome(self) -> None:
        before = lines(6)
        import_data(file_of(*before))
        changed = line("eval_3", verification_message="Another.")
        new = line("eval_7")
        again = import_data(file_of(*before[:2], changed, before[3], b"", b"no record", *before[4:], new))
        assert rows_of(again) == [
            (1, 2, "unchanged"),
            (3, 1, "updated"),
            (4, 1, "unchanged"),
            (6, 1, "rejected"),
            (7, 2, "unchanged"),
        ]
        counts = {"new": 1, "unchanged": 5, "updated": 1, "rejected": 1, "blank": 1}
        assert {name: count for name, count in again.counts.items() if count and name != "lines"} == counts

    @pytest.mark.slow
    def test_reordered_file_keeps_every_line(self) -> None:
        before = lines(30)
        import_data(file_of(*before))
        random.Random(1).shuffle(before)
        again = import_data(file_of(*before))
        assert [number for number, _, _ in listed(again)] == list(range(1, 31))
        for number, text in enumerate(before, start=1):
            record = Evaluation.objects.get(evaluation_id=text.split(b'"')[3].decode())
            [row] = unchanged_ranges.ranges_of_record(record)
            assert unchanged_ranges.narrow_to_record(row, record).line == number

    @pytest.mark.slow
    @pytest.mark.parametrize("message", ["short", LONG], ids=["in one chunk", "in different chunks"])
    def test_repeated_line_of_a_record_is_rejected(self, message: str) -> None:
        before = lines(9, verification_message=message)
        import_data(file_of(*before))
        again = import_data(file_of(*before, before[3]))
        assert rows_of(again) == [(1, 9, "unchanged"), (10, 1, "rejected")]
        assert again.exceptions.get(line=10).reason == "is already in line 4"

    @pytest.mark.slow
    def test_records_of_several_files_have_separate_ranges(self) -> None:
        one, two = lines(4), [line("other_1"), line("other_2")]
        import_data(file_of(*one))
        import_data(file_of(*two))
        assert rows_of(import_data(file_of(*one, *two))) == [(1, 4, "unchanged"), (5, 2, "unchanged")]

    def test_failed_strict_import_lists_its_lines(self) -> None:
        before = lines(3)
        import_data(file_of(*before))
        with pytest.raises(Exception, match="1 of 4 lines is invalid") as refused:
            import_data(file_of(*before, b"no record"), strict=True)
        found = [one["line"] for one in refused.value.listed_exceptions()]  # type: ignore[attr-defined]
        assert found == [1, 2, 3, 4]

    def test_only_unchanged_lines_form_ranges(self) -> None:
        source = import_data(file_of(*lines(1)))
        with pytest.raises(Exception, match="import_line_range_is_unchanged"):
            ImportLine.objects.create(source=source, line=1, lines=2, outcome="rejected")


@pytest.mark.django_db
class TestRecordInRange:
    @pytest.fixture
    def again(self) -> Import:
        data = file_of(*lines(5))
        import_data(data)
        return import_data(file_of(b"", *lines(5)))

    @pytest.mark.slow
    def test_decision_in_a_range_is_exported_with_its_import(self, ana: User, again: Import) -> None:
        agree(Evaluation.objects.get(evaluation_id="eval_3"), ana)
        exported = export_data(only_import=again).split(b"\n")
        assert b'"Completed"' in exported[3]
        assert [b'"Completed"' in one for one in exported].count(True) == 1
        reviewed = export_data(only_import=again, only="reviewed")
        assert reviewed == exported[3] + b"\n"

    @pytest.mark.slow
    def test_record_in_a_range_is_exported_once(self, ana: User, again: Import) -> None:
        agree(Evaluation.objects.get(evaluation_id="eval_3"), ana)
        assert export_data().count(b'"evaluation_id": "eval_3"') == 1

    def test_record_history_names_the_line_in_a_range(self, ana: User, again: Import) -> None:
        record = Evaluation.objects.get(evaluation_id="eval_3")
        page = timeline.load_page(record)
        found = [entry.what for entry in page.rows]
        assert "contains it unchanged in line 4" in found
