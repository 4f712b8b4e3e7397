"""Exports of the file of one import."""

import json
from typing import Any

import pytest

from reviews.exports import output
from reviews.exports.output import ExportOptions
from reviews.models import Evaluation, Import, User
from tests.exports.test_jobs import FILE, A, B, C
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db


class TestFileOfOneImport:
    """Exports with `only_import`: the lines of one file only."""

    def file_of_import(self, source: Import, **order: Any) -> bytes:
        return b"".join(output.ExportOutput(ExportOptions(source.target_run, only_import=source, **order)))

    @pytest.mark.parametrize(
        "data",
        [
            FILE,
            FILE[:-1],
            b"\xef\xbb\xbf" + file_of(b"", A, b" ", A),
            b"%b\r\n%b\r\n" % (A, B),
        ],
    )
    def test_export_of_one_import_is_verbatim(self, data: bytes) -> None:
        assert self.file_of_import(import_data(data)) == data

    @pytest.mark.slow
    def test_export_of_one_import_has_its_own_lines_only(self) -> None:
        files = [file_of(A, B), file_of(A, B, C), file_of(line("eval_b", x=1), C)[:-1], file_of(A)]
        imports = [import_data(data) for data in files]
        assert [self.file_of_import(source) for source in imports] == files

    @pytest.mark.slow
    def test_decision_is_exported_in_every_import_with_the_record(self, ana: User) -> None:
        respelled = line("eval_a", x=1)
        imports = [import_data(file_of(A, B)), import_data(file_of(B, respelled))]
        decide(Evaluation.objects.get(evaluation_id="eval_a"), ana)
        first, second = map(self.file_of_import, imports)
        assert first.endswith(file_of(B))
        assert second.startswith(file_of(B))
        decided = [json.loads(text.splitlines()[place]) for text, place in ((first, 0), (second, 1))]
        assert [one["human_reviewer_id"] for one in decided] == ["ana", "ana"]
        assert decided[1] == decided[0] | {"x": 1}

    def test_reviewed_lines_of_one_import_can_be_exported(self, ana: User) -> None:
        source = import_data(file_of(A, b"no record", B))
        decide(Evaluation.objects.get(evaluation_id="eval_b"), ana)
        [only] = self.file_of_import(source, only="reviewed").splitlines()
        assert json.loads(only)["evaluation_id"] == "eval_b"

    def test_table_of_one_import_has_its_records(self) -> None:
        table = self.file_of_import(import_data(FILE), format="csv")
        assert [row[:8] for row in table.split(b"\r\n")[1:]] == [b'"eval_a"', b'"eval_b"', b""]
