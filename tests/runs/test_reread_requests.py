"""Requests to read a run again: refused ones, and the command."""

import json
from typing import Any
from uuid import uuid4

import pytest

from reviews.imports import jobs
from reviews.models import Run, User
from reviews.review import decisions, escalations, undo
from reviews.runs.changes import archive_run
from reviews.storage.errors import ImportRefused
from tests.support.commands import Capture, manage
from tests.support.rereads import SECOND, how, record, refused, reread

pytestmark = pytest.mark.django_db


class TestRefused:
    @pytest.mark.slow
    def test_mapping_that_rejects_accepted_lines_is_refused(self, run: Run) -> None:
        refusal = refused(run, how(evaluation_id="nothing"))
        assert str(refusal) == ("With this mapping, 6 accepted lines would be rejected. Nothing was changed.")
        first, *_, last = map(str, refusal.problems)
        assert first.startswith("first.jsonl, line 1: evaluation_id is missing (by the mapping: nothing)")
        assert last.startswith("second.jsonl, line 3: evaluation_id")

    @pytest.mark.slow
    def test_mapping_that_merges_lines_of_one_file_is_refused(self, run: Run) -> None:
        refusal = refused(run, how(evaluation_id="key == 'd' && 'a' || key"))
        assert str(refusal).startswith("With this mapping, 1 accepted line would be rejected.")

    @pytest.mark.slow
    def test_decided_run_is_refused(self, run: Run, ana: User) -> None:
        one = record("a")
        decisions.submit(
            evaluation_id=one.pk,
            reviewer=ana,
            version=one.version,
            submission=uuid4(),
            scores={"Clarity": {"score": 1, "justification": ""}},
            comments="",
            origins={},
        )
        assert "This run has decisions." in str(refused(run, how(evaluation_id="alt")))
        undo.undo(run=run, actor=ana)
        assert "This run has decisions." in str(refused(run, how(evaluation_id="alt")))

    @pytest.mark.slow
    def test_run_with_an_escalation_is_refused(self, run: Run, ana: User) -> None:
        escalations.escalate(
            evaluation_id=record("a").pk, reviewer=ana, kind="question", reason="question", note="Why?"
        )
        assert "This run has escalations." in str(refused(run, how(evaluation_id="alt")))

    @pytest.mark.slow
    def test_run_with_a_running_import_is_refused(self, run: Run, max: User) -> None:
        jobs.enqueue_import(run_name="tool", file_name="a.jsonl", blocks=[SECOND], strict=False, actor=max)
        assert "A file is being imported" in str(refused(run, how(evaluation_id="alt")))

    def test_archived_run_is_refused(self, run: Run) -> None:
        archive_run(run_id=run.pk, actor=None)
        with pytest.raises(ImportRefused, match="is archived"):
            reread(run, how(evaluation_id="alt"))


class TestCommand:
    TOML = """
        [fields]
        evaluation_id = "alt"
        judge_llm_model = "judge"
        judge_prompt_template_path = "'prompts/one.txt'"
        created_at = "'2025-04-12T03:55:23Z'"
    """

    @pytest.mark.slow
    def test_command_rereads_and_reports(self, run: Run, tmp_path: Any, capsysbinary: Capture) -> None:
        (tmp_path / "new.toml").write_text(self.TOML)
        arguments = ("reread_run", "tool", "--map", str(tmp_path / "new.toml"))
        tried = manage(capsysbinary, *arguments, "--dry-run")
        assert tried.status == 0
        assert tried.out.decode().startswith("Run 'tool', nothing written: 4 records, 0 of them new, 4 with")
        assert record("a")
        done = manage(capsysbinary, *arguments, "--json")
        assert json.loads(done.out) == {
            "run": "tool",
            "records": 4,
            "new_records": 0,
            "new_ids": 4,
            "claims": 0,
        }
        assert record("other/a")

    def test_command_lists_the_lines_that_prevent_it(
        self, run: Run, tmp_path: Any, capsysbinary: Capture
    ) -> None:
        (tmp_path / "new.toml").write_text(self.TOML.replace('"alt"', '"nothing"'))
        refused = manage(capsysbinary, "reread_run", "tool", "--map", str(tmp_path / "new.toml"))
        assert refused.status == 2
        assert "6 accepted lines would be rejected. Nothing was changed." in refused.err
        assert "  first.jsonl, line 1: evaluation_id is missing" in refused.err
