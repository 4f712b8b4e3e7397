"""Exports of runs with sampled records."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.accounts.permissions import Denied
from reviews.audit import log
from reviews.database.statements import execute
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.exports.verify_log import AuditLogFile, verify_with_log
from reviews.models import Evaluation, Run, User
from reviews.records.conflicts import Conflict, RecordUnavailable
from reviews.records.schema import HUMAN_FIELDS, Limits
from reviews.review import decisions, undo
from reviews.sampling import draws
from tests.support.factories import UserFactory
from tests.support.lines import export_data, import_data
from tests.support.sampled_runs import (
    CORRECTED,
    one_drawn,
    reload,
    run_with_sample,
    set_share,
)
from tests.support.work import agree, decide

pytestmark = pytest.mark.django_db


class TestExports:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "spelled",
        [
            {},
            dict.fromkeys(HUMAN_FIELDS[1:], ...),
            {"human_review_timestamp": "2025-04-12 01:55:23+02:00"},
            {"human_corrected_scores": b'{"Clarity":  {"score": 1.0}}'},
        ],
        ids=["usual", "without keys", "a time", "a number"],
    )
    def test_export_with_confirmed_records_equals_the_file(self, ana: User, spelled: dict[str, Any]) -> None:
        run, data = run_with_sample(0.6, **spelled)
        for evaluation in run.evaluations.filter(is_sampled=True)[:3]:
            agree(reload(evaluation), ana, comments="Fine.")
        assert draws.count_sampled(run) == (6, 3)
        assert export_data() == data
        assert export_data(only_import=run.imports.get()) == data
        assert export_data(only="reviewed") == b""
        output = ExportOutput(ExportOptions(run))
        assert b"".join(output) == data
        receipt = json.loads(b"".join(output.receipt("out.jsonl")))
        assert receipt["changed"] == []

    @pytest.mark.slow
    @pytest.mark.parametrize("format", ["csv", "parquet"])
    def test_table_export_equals_the_table_of_the_file(self, ana: User, format: str) -> None:
        run, _ = run_with_sample(0.3)
        before = b"".join(ExportOutput(ExportOptions(run, format=format)))
        agree(one_drawn(), ana)
        assert b"".join(ExportOutput(ExportOptions(run, format=format))) == before

    @pytest.mark.slow
    def test_export_contains_the_overrides_and_no_other_change(self, ana: User) -> None:
        run, data = run_with_sample(0.6)
        corrected, confirmed, *_ = run.evaluations.filter(is_sampled=True)
        decide(reload(corrected), ana, scores=CORRECTED)
        agree(reload(confirmed), ana)
        before, after = data.splitlines(), export_data().splitlines()
        [changed] = [place for place, one in enumerate(after) if one != before[place]]
        assert json.loads(after[changed])["evaluation_id"] == corrected.evaluation_id
        assert json.loads(after[changed])["human_corrected_scores"] == CORRECTED
        assert export_data(only="reviewed") == after[changed] + b"\n"

    @pytest.mark.slow
    def test_export_equals_the_file_after_undo_revision_or_reopening(self, ana: User, lea: User) -> None:
        run, data = run_with_sample(1, count=3)
        undone, revised, reopened = run.evaluations.filter(is_sampled=True)
        decide(reload(revised), ana, scores=CORRECTED)
        agree(reload(revised), ana, by=decisions.revise)
        agree(reload(reopened), ana)
        decisions.reopen(evaluation_id=reopened.pk, actor=lea, reason="Look again.")
        decide(reload(undone), ana, scores=CORRECTED)
        undo.undo(run=run, actor=ana)
        assert export_data() == data

    @pytest.mark.slow
    def test_export_of_a_reopened_and_confirmed_record_equals_the_file(self, ana: User, lea: User) -> None:
        _, data = run_with_sample(0.1)
        evaluation = one_drawn()
        decide(evaluation, ana, scores=CORRECTED)
        decisions.reopen(evaluation_id=evaluation.pk, actor=lea, reason="Look again.")
        assert json.loads(export_data(only_import=evaluation.first_import).splitlines()[1])
        agree(reload(evaluation), ana)
        assert export_data() == data

    @pytest.mark.slow
    def test_export_agrees_with_the_audit_log(self, ana: User, lea: User, tmp_path: Path) -> None:
        run, data = run_with_sample(1, count=5)
        confirmed, corrected, revised, reopened, undone = run.evaluations.filter(is_sampled=True)
        agree(reload(confirmed), ana)
        decide(reload(corrected), ana, scores=CORRECTED)
        decide(reload(revised), ana, scores=CORRECTED)
        agree(reload(revised), ana, by=decisions.revise)
        agree(reload(reopened), ana)
        decisions.reopen(evaluation_id=reopened.pk, actor=lea, reason="Look again.")
        decide(reload(undone), ana, scores=CORRECTED)
        undo.undo(run=run, actor=ana)
        assert compared(tmp_path, data, export_data()) == []
        assert compared(tmp_path, data, data) != []

    def test_audit_log_reveals_a_change_in_a_confirmed_line(self, ana: User, tmp_path: Path) -> None:
        _, data = run_with_sample(0.1)
        evaluation = one_drawn()
        agree(evaluation, ana)
        changed = data.replace(b'"Not Required"', b'"Completed"')
        [problem, *_] = compared(tmp_path, data, changed)
        assert problem
        sentences = " ".join(compared(tmp_path, data, changed))
        assert f"({evaluation.evaluation_id}) has changed in human_review_status, and event" in sentences
        assert "left it as it came" in sentences


# Steps by the name of a method below, each with the index of its record.
STEPS = st.tuples(
    st.sampled_from(
        ["agree", "correct", "revise", "revise_back", "undo", "reopen", "bring_again", "draw_less"]
    ),
    st.integers(0, 2),
)


class TestAnySequence:
    @pytest.mark.slow
    @examples(max_examples=6, deadline=None)
    @given(steps=st.lists(STEPS, max_size=8))
    def test_export_contains_the_current_overrides_and_no_other_change(
        self, steps: list[tuple[str, int]]
    ) -> None:
        with transaction.atomic(), TemporaryDirectory() as folder:
            lea = UserFactory.create(username="lea", role="lead")
            run, data = run_with_sample(1, count=3, human_review_comments=...)
            for name, place in steps:
                with suppress(Conflict, RecordUnavailable, Denied):
                    getattr(self, name)(run, run.evaluations.order_by("pk")[place + 1], lea, data)
            exported = export_data()
            after = dict(zip(("f1", "u0", "u1", "u2", "f2"), exported.splitlines(), strict=True))
            before = dict(zip(after, data.splitlines(), strict=True))
            corrected = {one.evaluation_id for one in run.evaluations.all() if not one.keeps_line}
            assert {name for name in after if after[name] != before[name]} == corrected
            assert compared(Path(folder), data, exported) == []
            transaction.set_rollback(True)

    def agree(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        agree(record, lea)

    def correct(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        decide(record, lea, scores=CORRECTED)

    def revise(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        decide(record, lea, by=decisions.revise, scores=CORRECTED)

    def revise_back(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        agree(record, lea, by=decisions.revise)

    def undo(self, run: Run, _record: Evaluation, lea: User, _data: bytes) -> None:
        undo.undo(run=run, actor=lea)

    def reopen(self, _run: Run, record: Evaluation, lea: User, _data: bytes) -> None:
        decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Look again.")

    def bring_again(self, _run: Run, _record: Evaluation, _lea: User, data: bytes) -> None:
        import_data(data)

    def draw_less(self, run: Run, _record: Evaluation, _lea: User, _data: bytes) -> None:
        set_share(run, 0 if run.sample_share else 1)


def compared(folder: Path, before: bytes, after: bytes) -> list[str]:
    """Return the problems that the audit log finds in an export."""
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    original, exported, audit_log = (
        folder / name for name in ("original.jsonl", "exported.jsonl", "audit.jsonl")
    )
    original.write_bytes(before)
    exported.write_bytes(after)
    audit_log.write_bytes(b"".join(log.jsonl_lines()))
    with audit_log.open("rb") as file:
        return verify_with_log(AuditLogFile(file, "audit.jsonl"), [original], exported, Limits()).problems
