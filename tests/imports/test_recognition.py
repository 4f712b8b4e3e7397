"""Files of known tools are recognised by their content, and previewed before anything is stored."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from reviews.imports import importer
from reviews.imports.recognition import PREVIEWED, ToolRecognised, recognise_tool
from reviews.imports.shipped_mappings import BY_NAME
from reviews.models import AuditEvent, Import, Run
from reviews.storage.errors import ImportRefused
from tests.exports.test_archives import ZSTD, packed
from tests.records.test_mapping import DEEPEVAL, MT_BENCH, PROMPTFOO
from tests.support import judge_files
from tests.support.commands import Capture, manage
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

LINES = {
    "promptfoo": PROMPTFOO,
    "deepeval": DEEPEVAL,
    "mt-bench": MT_BENCH,
    "mt-bench-pair": judge_files.mt_bench_pair_lines().splitlines()[0],
    "alpaca-eval": json.dumps(json.loads(judge_files.alpaca_eval_array())[0]).encode(),
}
_SAMPLE = {
    "id": "france",
    "epoch": 1,
    "input": "What is the capital of France?",
    "target": "Paris",
    "output": {"completion": "It is Paris."},
    "scores": {"includes": {"value": "C", "explanation": "It is Paris."}},
}
DOCUMENTS = {
    "promptfoo": {"evalId": "eval-1", "results": {"version": 3, "results": [json.loads(PROMPTFOO)] * 4}},
    "inspect-ai": {
        "version": 2,
        "eval": {"eval_id": "e", "model": "mockllm/model"},
        "samples": [_SAMPLE] * 4,
    },
    "deepeval": {
        "testCases": [
            {"name": "a", "input": "Why?", "success": True, "metricsData": [{"name": "m", "score": 1}]}
        ]
        * 4
    },
}
MT_BENCH_FILE = file_of(*(MT_BENCH.replace(b'"turn": 1', b'"turn": %d' % turn) for turn in range(5)))


def refused(data: bytes) -> ToolRecognised:
    with pytest.raises(ToolRecognised) as refusal:
        import_data(data)
    assert not Run.objects.exists()
    assert not Import.objects.exists()
    return refusal.value


class TestRecognition:
    @pytest.mark.parametrize(("name", "data"), LINES.items(), ids=LINES)
    def test_line_of_a_tool_is_recognised(self, name: str, data: bytes) -> None:
        found = recognise_tool(b"\n" + file_of(data, data))
        assert found is not None
        assert (found.shipped.name, len(found.rows)) == (name, 2)

    @pytest.mark.parametrize("indent", [None, 2])
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_document_of_a_tool_is_recognised(self, name: str, indent: int | None) -> None:
        whole = json.dumps(DOCUMENTS[name], indent=indent).encode()
        for start in (whole, whole[:-20]):
            found = recognise_tool(start)
            assert found is not None
            assert found.shipped.name == name
            assert found.rows[0].scores

    def test_document_gives_values_from_outside_the_list(self) -> None:
        found = recognise_tool(json.dumps(DOCUMENTS["inspect-ai"]).encode())
        assert found is not None
        assert [row.model for row in found.rows] == ["mockllm/model"] * PREVIEWED

    def test_line_longer_than_the_beginning_is_recognised(self) -> None:
        start = json.dumps({**json.loads(MT_BENCH), "z": "x" * 2_000}).encode()[:1_000]
        found = recognise_tool(start)
        assert found is not None
        assert (found.shipped.name, found.rows) == ("mt-bench", [])

    @pytest.mark.parametrize(
        "start",
        [
            b"",
            b"{}",
            b"0",
            b'{"judge": 1}',
            line(),
            b"%PDF-1.7",
            b'{"a": "\xff',
            b"{" * 1_000,
            b'{"samples": [{"id": 1}]}',
            b'{"samples": [{"id": 1, "epoch": 1',
            b'{"samples": 0}',
            b'{"samples": [',
            b'{"samples": 0, "samples": [{"id": 1}]}',
            b'{"results": {"results": [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}]}}',
        ],
    )
    def test_other_files_are_not_recognised(self, start: bytes) -> None:
        assert recognise_tool(start) is None


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, ZSTD])
class TestArchive:
    def files(self, *samples: dict[str, Any]) -> dict[str, bytes]:
        files = {f"samples/{number}.json": json.dumps(one).encode() for number, one in enumerate(samples)}
        header = {"eval": {"eval_id": "e", "model": "mockllm/model"}, "stderr": float("nan")}
        return files | {"header.json": json.dumps(header).encode()}

    def test_archive_of_a_tool_is_refused_with_a_preview(self, method: int) -> None:
        refusal = refused(packed(self.files(*[_SAMPLE] * 5), method=method))
        assert refusal.shipped.name == "inspect-ai"
        assert [row.model for row in refusal.rows] == ["mockllm/model"] * PREVIEWED

    def test_archive_without_its_document_is_recognised(self, method: int) -> None:
        files = self.files(_SAMPLE | {"uuid": "u"})
        del files["header.json"]
        [row] = refused(packed(files, method=method)).rows
        assert (row.record, row.model) == ("u", "")

    def test_other_archives_are_not_recognised(self, method: int) -> None:
        with pytest.raises(ImportRefused, match="is a ZIP archive with files of an unknown tool: 'samples"):
            import_data(packed(self.files({"id": 1}), method=method))


class TestImport:
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    @pytest.mark.parametrize("shape", ["lines", "array"])
    def test_import_of_a_known_tool_is_refused_with_a_preview(self, shape: str, pack: type[bytes]) -> None:
        data = MT_BENCH_FILE
        if shape == "array":
            data = b"[" + b",\n".join(data.split(b"\n")[:-1]) + b"]"
        refusal = refused(pack(data))
        assert str(refusal) == (
            "The file contains MT-Bench judgments of single answers. It needs the mapping 'mt-bench'."
        )
        assert len(refusal.rows) == PREVIEWED
        row = refusal.rows[1]
        assert (row.record, row.task, row.model) == ("mt-bench/81/alpaca-13b/1", "81", "alpaca-13b")
        assert row.scores == "Rating: 2"

    @pytest.mark.parametrize("name", LINES)
    def test_preview_shows_records_of_each_tool(self, name: str) -> None:
        refusal = refused(LINES[name])
        assert refusal.shipped.name == name
        assert len(refusal.rows) == 1

    def test_preview_leaves_invalid_lines_out(self) -> None:
        bad = MT_BENCH.replace(b'"score": 2', b'"score": []')
        refusal = refused(file_of(bad, MT_BENCH))
        assert [row.record for row in refusal.rows] == ["mt-bench/81/alpaca-13b/1"]

    def test_preview_has_short_printable_texts(self) -> None:
        long = json.loads(MT_BENCH) | {"user_prompt": "a\x1b[31m\n" * 1_000}
        [row] = refused(json.dumps(long).encode()).rows
        assert row.prompt.startswith("a\ufffd[31m a\ufffd[31m")
        assert len(row.prompt) < 130

    @pytest.mark.slow
    def test_import_with_the_mapping_of_the_run_is_not_refused(self) -> None:
        for data in (MT_BENCH_FILE, MT_BENCH):
            importer.import_stream(
                blocks=[data],
                run_name="bench",
                file_name="a.jsonl",
                actor=None,
                mapping=BY_NAME["mt-bench"].read(),
            )
        assert import_data(MT_BENCH_FILE, run="bench").unchanged == 5

    def test_records_beside_lines_of_a_tool_are_imported(self) -> None:
        done = import_data(file_of(MT_BENCH, line("a")))
        assert (done.new, done.rejected) == (1, 1)


class TestCommand:
    def test_import_command_shows_records_and_imports_nothing(
        self, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        path = tmp_path / "judgments.jsonl"
        path.write_bytes(MT_BENCH_FILE)
        finished = manage(capsysbinary, "import_run", str(path))
        assert (finished.status, finished.out) == (2, b"")
        assert "It needs the mapping 'mt-bench'. Nothing was imported." in finished.err
        assert "  mt-bench/81/alpaca-13b/0\n    task: 81\n    model: alpaca-13b\n    scores: Rating: 2\n" in (
            finished.err
        )
        assert "add --map mt-bench" in finished.err
        assert not Run.objects.exists()
        assert not AuditEvent.objects.exists()

    def test_import_command_takes_the_name_of_a_shipped_mapping(
        self, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        path = tmp_path / "judgments.jsonl"
        path.write_bytes(MT_BENCH_FILE)
        assert manage(capsysbinary, "import_run", str(path), "--map", "mt-bench").status == 0
        assert Run.objects.get().evaluations.count() == 5
