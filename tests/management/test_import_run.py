"""`manage.py import_run`: its output, stored rows and exit status."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from reviews.management.commands import import_run
from reviews.models import AuditEvent, Evaluation, Import, Run
from tests.support import judge_files
from tests.support.commands import Capture, Finished, manage
from tests.support.lines import file_of, line

pytestmark = pytest.mark.django_db

GOOD = file_of(line("eval_a"), line("eval_b"))
MIXED = file_of(line("eval_a"), b"", b"no record", line("eval_b"), line("eval_a"))
COUNTS = ("new", "unchanged", "updated", "conflicts", "rejected", "blank")


@pytest.fixture
def good(tmp_path: Path) -> str:
    return written(tmp_path / "good.jsonl", GOOD)


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    return written(tmp_path / "mixed.jsonl", MIXED)


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def json_reports(finished: Finished) -> list[dict[str, Any]]:
    """The JSON objects a command printed, one for each file."""
    return [json.loads(one) for one in finished.out.splitlines()]


class TestExitStatus:
    def test_exit_status_is_0_if_all_lines_are_accepted(self, good: str, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "import_run", good)
        assert (finished.status, finished.err) == (0, "")
        assert Run.objects.get().name == "good"
        assert Evaluation.objects.count() == 2

    def test_exit_status_is_1_if_some_lines_are_rejected(self, mixed: str, capsysbinary: Capture) -> None:
        assert manage(capsysbinary, "import_run", mixed).status == 1
        assert Evaluation.objects.count() == 2

    def test_exit_status_is_2_if_nothing_is_imported(self, tmp_path: Path, capsysbinary: Capture) -> None:
        missing = str(tmp_path / "missing.jsonl")
        utf_16 = written(tmp_path / "utf-16.jsonl", GOOD.decode().encode("utf-16"))
        finished = manage(capsysbinary, "import_run", missing, utf_16, str(tmp_path))
        assert (finished.status, finished.out) == (2, b"")
        assert "No such file" in finished.err
        assert "The file is UTF-16. Save it as UTF-8 and import it again." in finished.err
        assert not Run.objects.exists()

    def test_exit_status_is_1_if_one_of_several_files_cannot_be_read(
        self, good: str, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "import_run", str(tmp_path / "missing.jsonl"), good)
        assert finished.status == 1
        assert Evaluation.objects.count() == 2

    @pytest.mark.slow
    def test_exit_status_is_0_if_the_same_file_is_imported_again(
        self, good: str, capsysbinary: Capture
    ) -> None:
        manage(capsysbinary, "import_run", good)
        before = list(Evaluation.objects.values())
        assert manage(capsysbinary, "import_run", good).status == 0
        assert list(Evaluation.objects.values()) == before


class TestReport:
    def test_report_has_counts_and_invalid_lines(self, mixed: str, capsysbinary: Capture) -> None:
        out = manage(capsysbinary, "import_run", mixed).out.decode()
        assert out == (
            f"mixed.jsonl: 5 lines (run 'mixed', import {Import.objects.get().pk}): "
            "2 new, 0 unchanged, 0 updated, 0 conflicts, 2 rejected, 1 blank\n"
            "  line 3: rejected: is not JSON: Expecting value, at character 1\n"
            "  line 5: rejected: evaluation_id is already in line 1\n"
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("options", [[], ["--dry-run"], ["--strict"]])
    def test_report_groups_invalid_lines_with_the_same_reason(
        self, options: list[str], tmp_path: Path, capsysbinary: Capture
    ) -> None:
        name = written(tmp_path / "bad.jsonl", b"no record\n" * 1234 + line(task_id=True))
        out = manage(capsysbinary, "import_run", name, *options).out.decode()
        assert out.splitlines()[1:] == [
            "  1,234 lines (1, 2, 3, …): rejected: is not JSON: Expecting value, at character 1",
            "  line 1235: rejected: task_id is a boolean, but takes a string or a number",
        ]

    def test_report_says_that_lines_of_a_group_differ_in_values(
        self, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        name = written(tmp_path / "bad.jsonl", file_of(line("a"), line("b"), line("a"), line("b")))
        out = manage(capsysbinary, "import_run", name).out.decode()
        assert out.splitlines()[1:] == [
            "  2 lines (3, 4): rejected: evaluation_id is already in line 1 (and similar)"
        ]

    def test_report_counts_lines_of_groups_that_are_not_shown(
        self, tmp_path: Path, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(import_run, "SHOWN_GROUPS", 1)
        bad = (*[b"no record"] * 4, line(task_id=True), line(model_id=True), line())
        out = manage(capsysbinary, "import_run", written(tmp_path / "bad.jsonl", file_of(*bad))).out
        assert out.decode().splitlines()[1:] == [
            "  4 lines (1, 2, 3, …): rejected: is not JSON: Expecting value, at character 1",
            "  and 2 more lines with other reasons (--json lists all)",
        ]

    def test_json_report_has_the_documented_shape(self, mixed: str, capsysbinary: Capture) -> None:
        [report] = json_reports(manage(capsysbinary, "import_run", mixed, "--json"))
        assert report == {
            "run": "mixed",
            "import": Import.objects.get().pk,
            "lines": 5,
            "new": 2,
            "unchanged": 0,
            "updated": 0,
            "conflicts": 0,
            "rejected": 2,
            "blank": 1,
            "exceptions": [
                {
                    "line": 3,
                    "outcome": "rejected",
                    "field": "",
                    "reason": "is not JSON: Expecting value, at character 1",
                },
                {
                    "line": 5,
                    "outcome": "rejected",
                    "field": "evaluation_id",
                    "reason": "is already in line 1",
                },
            ],
        }

    @pytest.mark.slow
    def test_json_report_lists_every_line_that_is_not_new_or_blank(
        self, mixed: str, capsysbinary: Capture
    ) -> None:
        manage(capsysbinary, "import_run", mixed)
        [report] = json_reports(manage(capsysbinary, "import_run", mixed, "--json"))
        assert [(one["line"], one["outcome"]) for one in report["exceptions"]] == [
            (1, "unchanged"),
            (3, "rejected"),
            (4, "unchanged"),
            (5, "rejected"),
        ]
        assert sum(report[name] for name in COUNTS) == report["lines"] == 5

    @pytest.mark.slow
    def test_json_report_is_one_object_per_file(self, good: str, mixed: str, capsysbinary: Capture) -> None:
        reports = json_reports(manage(capsysbinary, "import_run", good, mixed, "--json"))
        assert [report["run"] for report in reports] == ["good", "mixed"]
        assert [report["new"] for report in reports] == [2, 2]


class TestDryRun:
    def test_dry_run_reports_outcomes_and_changes_nothing(self, mixed: str, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "import_run", mixed, "--dry-run", "--json")
        [report] = json_reports(finished)
        assert finished.status == 1
        assert (report["import"], report["new"], report["rejected"]) == (None, 2, 2)
        assert [one["line"] for one in report["exceptions"]] == [3, 5]
        for model in (Run, Import, Evaluation, AuditEvent):
            assert not model.objects.exists()

    def test_dry_run_reports_that_nothing_was_written(self, good: str, capsysbinary: Capture) -> None:
        assert b"(run 'good', nothing written)" in manage(capsysbinary, "import_run", good, "--dry-run").out

    def test_dry_run_with_a_mapping_shows_the_first_records(
        self, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        path = tmp_path / "gpt-4_single.jsonl"
        path.write_bytes(judge_files.mt_bench_lines())
        shown = manage(capsysbinary, "import_run", str(path), "--map", "mt-bench", "--dry-run").out.decode()
        _, _, records = shown.partition("The first records:\n")
        assert len(re.findall(r"^  \S", records, re.MULTILINE)) == 3
        assert "    scores: Rating: " in records
        assert not Evaluation.objects.exists()


class TestUnknownTool:
    def test_lines_of_an_unknown_tool_are_described_by_their_keys(
        self, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        path = tmp_path / "tool.json"
        path.write_text('[{"uid": 1, "score": 5}, {"uid": 2}]')
        refused = manage(capsysbinary, "import_run", str(path))
        assert (refused.status, refused.out) == (2, b"")
        assert "with the keys uid, score. " in refused.err
        assert "write a mapping" in refused.err


class TestStrict:
    def test_strict_import_of_an_invalid_line_imports_nothing(
        self, mixed: str, capsysbinary: Capture
    ) -> None:
        finished = manage(capsysbinary, "import_run", mixed, "--strict", "--json")
        assert (finished.status, Evaluation.objects.exists(), Run.objects.exists()) == (2, False, False)
        assert "2 of 5 lines are invalid, so nothing was imported." in finished.err
        [report] = json_reports(finished)
        assert (report["import"], [one["line"] for one in report["exceptions"]]) == (None, [3, 5])

    def test_strict_import_accepts_a_valid_file(self, good: str, capsysbinary: Capture) -> None:
        assert manage(capsysbinary, "import_run", good, "--strict").status == 0
        assert Evaluation.objects.count() == 2


class TestRunAndInput:
    def test_import_goes_to_the_named_run(self, good: str, capsysbinary: Capture) -> None:
        manage(capsysbinary, "import_run", good, "--run", "o4 mini")
        assert Run.objects.get().name == "o4 mini"

    def test_dash_reads_standard_input(self, capsysbinary: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(GOOD)))
        assert manage(capsysbinary, "import_run", "-", "--run", "piped").status == 0
        assert Import.objects.get().counts["new"] == 2

    def test_dash_without_a_run_name_is_refused(self, capsysbinary: Capture) -> None:
        finished = manage(capsysbinary, "import_run", "-")
        assert finished.status == 2
        assert finished.err.strip() == "-: Standard input has no name: use --run NAME."

    @pytest.mark.slow
    def test_several_files_go_to_one_named_run(self, tmp_path: Path, capsysbinary: Capture) -> None:
        names = [written(tmp_path / f"{name}.jsonl", file_of(line(name))) for name in ("a", "b", "c")]
        assert manage(capsysbinary, "import_run", *names, "--run", "all").status == 0
        assert Run.objects.get().evaluations.count() == 3


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestProgress:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["good.jsonl", "-"])
    def test_progress_is_shown_on_a_terminal(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
    ) -> None:
        written(tmp_path / "good.jsonl", GOOD)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr("sys.stderr", terminal := Terminal())
        with (tmp_path / "good.jsonl").open() as piped:
            monkeypatch.setattr("sys.stdin", piped)
            assert manage(capsysbinary, "import_run", name, "--run", "shown").status == 0
        assert name in terminal.getvalue()
        assert "2 lines" in terminal.getvalue()

    def test_progress_is_not_shown_without_a_terminal(self, mixed: str, capsysbinary: Capture) -> None:
        assert manage(capsysbinary, "import_run", mixed).err == ""


def test_sample_is_imported_completely(sample: bytes, tmp_path: Path, capsysbinary: Capture) -> None:
    file = tmp_path / "sample.jsonl"
    file.write_bytes(sample)
    finished = manage(capsysbinary, "import_run", str(file), "--json")
    [report] = json_reports(finished)
    assert (finished.status, report["lines"], report["new"], report["exceptions"]) == (0, 75, 75, [])
