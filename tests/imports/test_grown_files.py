"""Files that have grown since their last import."""

import pytest
from django.db import transaction
from pytest_django import Settings

from reviews.models import Run
from reviews.records.schema import Limits
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.repeated_imports import THREE
from tests.support.threads import start_and_wait_for_lock

pytestmark = pytest.mark.django_db


def crlf(*lines: bytes) -> bytes:
    return b"".join(one + b"\r\n" for one in lines)


class TestGrownFile:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param(file_of(*THREE[:2]), file_of(*THREE), id="by a line"),
            pytest.param(file_of(*THREE[:2])[:-1], file_of(*THREE), id="from a last line without line end"),
            pytest.param(file_of(*THREE)[:-1], file_of(*THREE), id="by a line end"),
            pytest.param(file_of(*THREE)[:-200], file_of(*THREE), id="from a last line that was cut"),
            pytest.param(file_of(*THREE[:2]), file_of(*THREE)[:-1], id="by a line without line end"),
            pytest.param(
                file_of(THREE[0], b"", THREE[1], b""),
                file_of(THREE[0], b"", THREE[1], b"", b"", THREE[2], b""),
                id="with blank lines",
            ),
            pytest.param(file_of(b"", THREE[0]), file_of(b"", *THREE), id="from a blank first line"),
            pytest.param(crlf(*THREE[:2]), crlf(*THREE), id="with CRLF"),
            pytest.param(crlf(*THREE[:2])[:-1], crlf(*THREE), id="with CRLF, cut between the two"),
            pytest.param(crlf(*THREE[:2])[:-2], crlf(*THREE), id="with CRLF, cut before them"),
            pytest.param(
                b"\xef\xbb\xbf" + file_of(*THREE[:2]), b"\xef\xbb\xbf" + file_of(*THREE), id="with BOM"
            ),
        ],
    )
    def test_grown_file_is_exported_as_it_is_now(self, before: bytes, after: bytes) -> None:
        import_data(before)
        assert export_data() in {before, before.rpartition(b"\n")[0] + b"\n"}
        grown = import_data(after)
        assert grown.conflicts == grown.rejected == 0
        assert export_data() == after
        assert import_data(after).new == 0
        assert export_data() == after

    @pytest.mark.slow
    def test_grown_file_may_contain_a_line_rejected_by_narrower_limits(self, settings: Settings) -> None:
        lines = [THREE[0], line("x" * 60), THREE[2]]
        settings.LIMITS = Limits(id_bytes=40)
        import_data(file_of(*lines))
        settings.LIMITS = Limits()
        assert import_data(file_of(*lines)).new == 1
        assert sorted(export_data().splitlines()) == sorted(lines)

    @pytest.mark.slow
    def test_grown_file_is_recognized_after_another_file(self) -> None:
        first, second = file_of(THREE[0], b""), file_of(THREE[1], b"")
        for data in (first, second, first, second):
            import_data(data)
        assert export_data() == first + second

    @pytest.mark.slow
    def test_grown_file_keeps_rejected_lines_in_place_once(self) -> None:
        before = file_of(THREE[0], b"no record", THREE[1])
        import_data(before)
        import_data(before + file_of(THREE[2], b"none either"))
        assert export_data(with_rejected=True) == before + file_of(THREE[2], b"none either")


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_concurrent_imports_of_one_file_run_one_after_the_other() -> None:
    with transaction.atomic():
        import_data(file_of(*THREE, b""))
        second = start_and_wait_for_lock(lambda: import_data(file_of(*THREE, b"")))
    assert (second.result().new, second.result().unchanged) == (0, 3)
    assert export_data() == file_of(*THREE, b"")
    assert Run.objects.count() == 1
