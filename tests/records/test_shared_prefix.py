"""Files of a run with shared content: an export contains shared lines once and can be verified."""

from functools import partial
from io import BytesIO

import pytest
from django.db import transaction
from hypothesis import example, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.exports.receipt import ExportTally
from reviews.exports.verify_export import Comparison, compare
from reviews.imports import jobs
from reviews.models import Evaluation, Import, Run, User
from reviews.records.schema import Limits
from reviews.records.shared_prefix import PrefixCounter
from tests.support.factories import UserFactory
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import decide

A, B, C, OTHER_A = line("eval_a"), line("eval_b"), line("eval_c"), line("eval_a", task_id="4712")
BAD, BLANK = b"no record", b""
# Without another version of a record: verification reports it, because it is no human decision.
LINES = [A, B, C, BAD, b'{"cut', BLANK, b" ", b"\r"]
BOM = b"\xef\xbb\xbf"
# A file without an accepted line is refused.
accepted_files = st.lists(st.sampled_from(LINES), min_size=1, max_size=8).filter(
    lambda lines: not {A, B, C}.isdisjoint(lines)
)


def compared(originals: list[bytes], exported: bytes) -> Comparison:
    return compare([partial(BytesIO, original) for original in originals], BytesIO(exported))


def repeated(file: list[bytes], *earlier: list[bytes]) -> int:
    """Count the repeated lines of a file without new records. Earlier files come latest first."""
    held = {A: "a", OTHER_A: "a", B: "b", C: "c", BLANK: "", BAD: None}
    repeats = PrefixCounter(earlier, held.__getitem__)
    for one in file:
        repeats.take(one, held[one], new=False)
    return repeats.count


class TestPrefixCounter:
    def test_all_lines_of_the_same_file_repeat(self) -> None:
        assert repeated([A, BLANK, BAD, B], [A, BLANK, BAD, B]) == 4

    def test_line_of_a_changed_record_repeats(self) -> None:
        assert repeated([OTHER_A, B], [A, B]) == 2

    def test_additional_blank_line_ends_the_prefix(self) -> None:
        assert repeated([A, BLANK, B], [A, B]) == 1

    def test_additional_invalid_line_ends_the_prefix(self) -> None:
        assert repeated([A, BAD, B], [A, B]) == 1

    def test_removed_invalid_line_is_skipped(self) -> None:
        assert repeated([A, B], [A, BAD, B]) == 2

    def test_end_of_the_earlier_file_ends_the_prefix(self) -> None:
        assert repeated([A, B, C], [A, B]) == 2

    def test_latest_file_with_the_same_beginning_counts(self) -> None:
        assert repeated([A, B], [B], [A], [A, B]) == 1

    def test_nothing_repeats_without_an_earlier_file(self) -> None:
        assert repeated([A, BLANK]) == 0

    def test_new_line_ends_the_prefix(self) -> None:
        repeats = PrefixCounter([[A, B]], {A: "a", B: "b"}.__getitem__)
        assert [repeats.take(A, "a", new=True), repeats.take(B, "b", new=False)] == [False, False]


@pytest.mark.slow
@pytest.mark.django_db
class TestExport:
    @pytest.mark.slow
    @examples(max_examples=4)
    @given(
        st.lists(
            st.tuples(st.booleans(), accepted_files, st.booleans()),
            min_size=1,
            max_size=4,
        ),
        st.booleans(),
    )
    @example([(True, [BAD, B], True), (False, [A], True)], False)
    @example([(True, [BAD, BLANK, B], True)], False)
    @example([(False, [A, BLANK, B], True)] * 2, False)
    @example([(False, [A, BLANK, B], False)] * 3, False)
    @example([(False, [A, B], False), (False, [A, BLANK, B, BLANK, C], True)], True)
    @example([(False, [A], True), (True, [BLANK, A], False), (False, [A, BLANK], True)], False)
    def test_export_of_any_files_is_verified(
        self, shapes: list[tuple[bool, list[bytes], bool]], with_rejected: bool
    ) -> None:
        files = [BOM * bom + file_of(*lines)[: None if ended else -1] for bom, lines, ended in shapes]
        with transaction.atomic():
            lines = sum(import_data(file).lines for file in files)
            ana = UserFactory.create(role="reviewer")
            for evaluation in Evaluation.objects.filter(evaluation_id="eval_a"):
                decide(evaluation, ana)
            tally = ExportTally()
            exported = export_data(with_rejected=with_rejected, tally=tally)
            transaction.set_rollback(True)
        result = compared(files, exported)
        assert tally.lines + tally.lines_left_out == lines
        assert result.problems == []
        assert result.changed == any(A in lines for _, lines, _ in shapes)

    def test_export_of_a_file_imported_twice_is_that_file(self) -> None:
        data = file_of(A, BLANK, BAD, B, BLANK)
        for _ in range(2):
            import_data(data)
        assert export_data(with_rejected=True) == data

    def test_export_contains_lines_too_long_to_compare(self, settings: pytest.FixtureRequest) -> None:
        settings.LIMITS = Limits(line_bytes=2_000)  # type: ignore[attr-defined]
        files = [file_of(A, end * 3_000, BLANK) for end in (b"x", b"y")]
        for file in files:
            import_data(file)
        exported = export_data(with_rejected=True)
        assert exported == file_of(A, b"x" * 3_000, BLANK, b"y" * 3_000, BLANK)
        originals = [partial(BytesIO, file) for file in files]
        assert compare(originals, BytesIO(exported), Limits(line_bytes=2_000)).holds

    def test_export_has_files_in_the_order_of_finished_imports(self, max: User) -> None:
        slow, quick = file_of(A, BLANK, B), file_of(A, BLANK, C)
        with transaction.atomic():
            sent_first = jobs.enqueue_import(
                run_name="evaluations", file_name="slow.jsonl", blocks=[slow], strict=False, actor=max
            )
        import_data(quick)
        jobs.import_upload(import_id=sent_first.pk)
        assert [done.file_name for done in Run.objects.get().files] == ["evaluations.jsonl", "slow.jsonl"]
        assert Import.objects.get(pk=sent_first.pk).repeated_lines == 2
        exported = export_data()
        assert exported == file_of(A, BLANK, C, B)
        assert compared([quick, slow], exported).problems == []


class TestVerification:
    def test_line_of_maximum_length_is_compared(self) -> None:
        file = file_of(A, b"x" * 3_000, BLANK)
        result = compare([partial(BytesIO, file)] * 2, BytesIO(file_of(A, BLANK)), Limits(line_bytes=3_000))
        assert result.problems == []

    def test_verification_without_originals_reports_every_line(self) -> None:
        assert compared([], file_of(A)).problems == ["line 1 of the export is not in the original"]

    def test_missing_new_blank_line_is_reported(self) -> None:
        result = compared([file_of(A, B), file_of(A, BLANK, C)], file_of(A, B, C))
        assert result.problems == ["line 4 of the original is blank and missing in the export"]

    def test_missing_blank_line_of_the_earlier_file_is_reported(self) -> None:
        file = file_of(A, BLANK, B)
        result = compared([file, file], file_of(A, B))
        assert result.problems == ["line 2 of the original is blank and missing in the export"]

    def test_duplicate_blank_line_is_reported(self) -> None:
        file = file_of(A, BLANK)
        result = compared([file, file], file_of(A, BLANK, BLANK))
        assert result.problems == ["line 3 of the export is not in the original"]

    def test_line_end_before_the_next_file_is_ignored(self) -> None:
        assert compared([A, B], A + b"\n" + B).holds
        assert not compared([A, B], A + b"\n" + B + b"\n").holds
        assert compared([A, A], A).holds
