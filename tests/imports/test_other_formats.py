"""Files of other formats: an import is refused with the format and its columns."""

from pathlib import Path

import pytest

from reviews.imports.jobs import import_upload
from reviews.imports.rejection_limit import TooManyRejections
from reviews.models import Run, User
from tests.support.commands import Capture, manage
from tests.support.jobs import receive
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

MANY = 50_000  # more than the largest number of rejected lines
TABLE = "This is not a file of records: it is a CSV file with the columns id, score."


class TestOtherFormats:
    @pytest.mark.slow
    @pytest.mark.parametrize("rows", [1, MANY])
    @pytest.mark.parametrize("strict", [True, False])
    def test_import_of_a_table_is_refused_with_its_columns(self, rows: int, *, strict: bool) -> None:
        with pytest.raises(TooManyRejections, match=TABLE):
            import_data(b"id,score\n" + b"1,Yes\n" * rows, strict=strict)
        assert not Run.objects.exists()

    @pytest.mark.slow
    @pytest.mark.parametrize("rows", [1, MANY])
    def test_upload_of_a_table_is_refused_with_its_columns(self, rows: int, max: User) -> None:
        with pytest.raises(TooManyRejections, match=TABLE):
            receive(b"id,score\n" + b"1,Yes\n" * rows, max)
        assert not Run.objects.exists()

    def test_refused_upload_leaves_the_runs_that_exist(self, max: User) -> None:
        import_upload(import_id=receive(file_of(line()), max).pk)
        with pytest.raises(TooManyRejections, match=TABLE):
            receive(b"id,score\n1,Yes\n", max)
        assert Run.objects.get().imports.count() == 1

    def test_import_command_prints_the_format(self, tmp_path: Path, capfdbinary: Capture) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"id,score\n1,Yes\n")
        finished = manage(capfdbinary, "import_run", str(path))
        assert (finished.status, finished.out) == (2, b"")
        assert TABLE in finished.err

    def test_record_after_a_table_is_imported(self, max: User) -> None:
        kept = receive(b"id,score\n1,Yes\n" + file_of(line()), max)
        import_upload(import_id=kept.pk)
        kept.refresh_from_db()
        assert (kept.state, kept.new, kept.rejected) == ("done", 1, 2)

    @pytest.mark.slow
    def test_format_is_found_in_the_first_mebibyte(self, max: User) -> None:
        document = b'{"results": [%b{}]}' % (b'{"a": "%b"},' % (b"x" * 1_000) * 2_000)
        with pytest.raises(TooManyRejections, match=r"list of at least 1,03. objects at `results`"):
            receive(document, max)
