"""Reading a run again with another mapping: its records are replaced, and work on them follows the lines."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.http import QueryDict
from pytest_django.plugin import DjangoDbBlocker

from cognireview.types.files import Reread
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import importer, jobs
from reviews.maintenance.verify_run import VerificationCounts, verify_run
from reviews.models import (
    AuditEvent,
    Draft,
    Evaluation,
    Import,
    ImportLine,
    Reveal,
    Run,
    RunCount,
    RunFacet,
    User,
)
from reviews.queue import claims
from reviews.records.mapping import FieldMapping, mapping_from_json
from reviews.records.rubric import Criterion, Rubric
from reviews.review import decisions, drafts, escalations, undo
from reviews.rubric.run_rubric import declare_rubric, run_rubric
from reviews.runs.changes import archive_run
from reviews.runs.reread import RereadRefused, reread_in_request, reread_run
from reviews.search import listing
from reviews.search.filters import Filters
from reviews.storage.errors import ImportRefused
from tests.support.commands import manage
from tests.support.lines import export_data
from tests.support.shared_world import shared_world
from tests.support.threads import start_and_wait_for_lock

Capture = pytest.CaptureFixture[bytes]
pytestmark = pytest.mark.django_db

FIELDS = {
    "evaluation_id": "key",
    "judge_llm_model": "judge",
    "judge_prompt_template_path": "'prompts/one.txt'",
    "created_at": "'2025-04-12T03:55:23Z'",
}


def how(*, score: str = "first", reviewed: str = "flag", **fields: str) -> FieldMapping:
    """Return a mapping of `source` lines."""
    parts: dict[str, Any] = {"criteria": [{"name": "'Clarity'", "score": score}]}
    parts["review"] = [{"when": reviewed, "reason": "Flagged"}]
    return mapping_from_json({"fields": FIELDS | fields, **parts})


def source(key: str, **changes: Any) -> bytes:
    values = {"key": key, "alt": f"other/{key}", "judge": "j", "first": 1, "second": "Yes", "flag": True}
    return json.dumps(values | changes).encode()


FIRST = b"".join(one + b"\n" for one in (source("a"), source("b"), b"no record", source("c", flag=False)))
# Changes a, repeats b, and adds d.
SECOND = b"".join(one + b"\n" for one in (source("a", second="No"), source("b"), source("d")))


def bring(data: bytes, name: str, wanted: FieldMapping | None = None) -> Import:
    with transaction.atomic():
        return importer.import_stream(
            blocks=[data], run_name="tool", file_name=name, actor=None, mapping=wanted
        )


@pytest.fixture(scope="class")
def _imported(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with shared_world(django_db_blocker):
        bring(FIRST, "first.jsonl", how())
        bring(SECOND, "second.jsonl")
        yield


@pytest.fixture
def run(_imported: None) -> Run:
    return Run.objects.get()


def record(key: str) -> Evaluation:
    return Evaluation.objects.select_related("run").get(evaluation_id=key)


def reread(run: Run, wanted: FieldMapping, **options: Any) -> Reread:
    return reread_run(run_id=run.pk, mapping=wanted, actor=None, **options)


def stored() -> list[Any]:
    """Return everything that a refused or tried reading must leave as it was."""
    run = Run.objects.get()
    return [
        list(Evaluation.objects.order_by("pk").values()),
        list(ImportLine.objects.order_by("source", "line").values()),
        list(Import.objects.order_by("pk").values()),
        list(RunFacet.objects.order_by("name", "value").values("name", "value")),
        (run.mapping, run.rubric),
        found("Clarity=1"),
        export_data(run="tool"),
    ]


def found(score: str, run: str = "tool") -> list[str]:
    filters = Filters.parse(query(score))
    page = listing.load_page(Run.objects.get(name=run), filters)
    return sorted(row.evaluation_id for row in page.rows)


def query(score: str) -> Any:
    return QueryDict(f"score={score}")


def faults(run: Run) -> list[Any]:
    return list(verify_run(run, VerificationCounts()))


def refused(run: Run, wanted: FieldMapping) -> RereadRefused:
    before = stored()
    with pytest.raises(RereadRefused) as caught:
        reread(run, wanted)
    assert stored() == before
    assert faults(run) == []
    return caught.value


def test_rejected_line_may_become_a_record() -> None:
    bring(source("a") + b"\n" + source("b", judge=None) + b"\n", "one.jsonl", how())
    run = Run.objects.get()
    assert run.imports.get().rejected == 1
    report = reread(run, how(judge_llm_model="'always'"))
    assert report == Reread(records=2, new_records=1, new_ids=0, claims=0)
    assert run.imports.get().rejected == 0
    assert faults(run) == []


@pytest.mark.slow
def test_mapping_that_merges_records_of_two_files_is_refused() -> None:
    bring(source("a") + b"\n", "first.jsonl", how())
    bring(source("b", second="No") + b"\n", "second.jsonl")
    refusal = refused(Run.objects.get(), how(evaluation_id="'same'"))
    assert str(refusal) == "With this mapping, 1 record would be lost. Nothing was changed."
    assert str(refusal.problems[0]).startswith("second.jsonl, line 1: evaluation_id is that of another")


class TestRecords:
    @pytest.mark.slow
    def test_reread_gives_the_records_of_a_first_reading(self, run: Run) -> None:
        keys = {one.evaluation_id: one.pk for one in run.evaluations.all()}
        wanted = how(score="second", evaluation_id="alt", task_id="key")
        report = reread(run, wanted)
        assert report == Reread(records=4, new_records=0, new_ids=4, claims=0)
        read_again = {one.evaluation_id: one for one in run.evaluations.all()}
        assert {f"other/{name}": key for name, key in keys.items()} == {
            name: one.pk for name, one in read_again.items()
        }
        run.refresh_from_db()
        assert run.mapping == wanted.as_json()
        with transaction.atomic():
            for data, name in ((FIRST, "first.jsonl"), (SECOND, "second.jsonl")):
                importer.import_stream(
                    blocks=[data], run_name="anew", file_name=name, actor=None, mapping=wanted
                )
        for one in Evaluation.objects.filter(run__name="anew"):
            same = read_again[one.evaluation_id]
            for name in ("task_id", "parsed_rubric_scores", "human_review_status", "source_line", "extra"):
                assert getattr(same, name) == getattr(one, name), name
        names = ("lines", *Import.OUTCOMES, "repeated_lines")
        by_run = [
            list(Import.objects.filter(run__name=name).order_by("pk").values_list(*names))
            for name in ("tool", "anew")
        ]
        assert by_run[0] == by_run[1]
        assert export_data(run="tool") == export_data(run="anew")
        assert faults(run) == []

    def test_counts_and_index_follow_the_new_records(self, run: Run) -> None:
        assert found("Clarity=1") == ["a", "b", "c", "d"]
        reread(run, how(score="second", reviewed="second == 'No'", evaluation_id="alt"))
        assert (found("Clarity=1"), found("Clarity=Yes")) == ([], ["other/b", "other/c", "other/d"])
        counts = {row.status: row.evaluations for row in RunCount.objects.filter(run=run) if row.evaluations}
        assert counts == {"Needs Review": 1, "Not Required": 3}
        run.refresh_from_db()
        assert [run_rubric(run).scale.fit(score) for score in ("Yes", 1)] == ["Yes", None]

    @pytest.mark.slow
    def test_rubric_of_the_mapping_follows_it(self, run: Run, lea: User) -> None:
        declared = Rubric((Criterion("Style"),))
        with_rubric = mapping_from_json(how().as_json() | {"rubric": declared.as_json()})
        reread(run, with_rubric)
        run.refresh_from_db()
        assert (run.is_rubric_declared, run_rubric(run)) == (True, declared)
        reread(run, how(task_id="key"))
        run.refresh_from_db()
        assert not run.is_rubric_declared
        assert [one.name for one in run_rubric(run).criteria] == ["Clarity"]
        declare_rubric(run_id=run.pk, actor=lea, rubric=declared)
        reread(run, how(task_id="alt"))
        run.refresh_from_db()
        assert (run.is_rubric_declared, run_rubric(run)) == (True, declared)

    @pytest.mark.slow
    def test_next_import_is_read_with_the_new_mapping(self, run: Run) -> None:
        reread(run, how(evaluation_id="alt"))
        done = bring(SECOND + source("e") + b"\n", "third.jsonl")
        assert (done.new, done.unchanged) == (1, 3)
        assert record("other/e")

    def test_random_sample_is_drawn_again(self, run: Run) -> None:
        Run.objects.update(sample_share=1)
        reread(run, how(reviewed="key == 'a'"))
        assert set(run.evaluations.filter(is_sampled=True).values_list("evaluation_id", flat=True)) == {
            "b",
            "c",
            "d",
        }

    @pytest.mark.slow
    def test_trial_changes_nothing(self, run: Run) -> None:
        before = stored()
        assert reread(run, how(evaluation_id="alt"), is_trial=True).new_ids == 4
        assert stored() == before
        assert not AuditEvent.objects.filter(action="reread run").exists()

    def test_event_has_both_mappings(self, run: Run, max: User) -> None:
        reread_run(run_id=run.pk, mapping=how(task_id="key"), actor=max)
        event = AuditEvent.objects.get(action="reread run")
        assert (event.actor_name, event.detail["records"]) == ("max", 4)
        assert event.detail["before"] == how().as_json()
        assert event.detail["after"] == how(task_id="key").as_json()


class TestWork:
    """Claims, drafts, skips and assignments stay with their lines."""

    @pytest.mark.slow
    def test_claim_and_draft_stay_with_the_line(self, run: Run, ana: User, bo: User) -> None:
        one, other = record("a"), record("b")
        claims.claim(evaluation_id=one.pk, reviewer=ana)
        drafts.save(evaluation_id=one.pk, reviewer=ana, fields=[["Clarity", "No"]], revision=1)
        claims.skip(evaluation_id=other.pk, reviewer=ana)
        Evaluation.objects.filter(pk=other.pk).update(assigned_to=bo, priority=3)
        claimed = record("a")
        assert reread(run, how(evaluation_id="alt")).claims == 1
        now = record("other/a")
        assert (now.pk, now.claimed_by, now.claimed_until) == (one.pk, ana, claimed.claimed_until)
        assert now.version == claimed.version + 1
        assert Draft.objects.get().evaluation == now
        other = record("other/b")
        assert (other.assigned_to, other.priority, other.skips.get().reviewer) == (bo, 3, ana)
        assert now.events.filter(action="claim").exists()

    def test_claim_ends_if_the_record_needs_no_review(self, run: Run, ana: User) -> None:
        claims.claim(evaluation_id=record("a").pk, reviewer=ana)
        assert reread(run, how(reviewed="key == 'b'")).claims == 0
        assert record("a").claimed_by is None

    def test_scores_that_were_shown_are_not_blind_afterwards(self, run: Run, ana: User) -> None:
        claims.claim(evaluation_id=record("a").pk, reviewer=ana)
        Run.objects.update(blind_share=1)
        reread(run, how(structured_model_response="second"))
        assert Reveal.objects.get().evaluation == record("a")


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


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_claim_that_waits_for_a_reread_finds_the_new_record(ana: User) -> None:
    bring(FIRST, "first.jsonl", how())
    run, key = Run.objects.get(), record("a").pk
    with transaction.atomic():
        reread(run, how(evaluation_id="alt"))
        waiting = start_and_wait_for_lock(lambda: claims.claim(evaluation_id=key, reviewer=ana))
    assert waiting.result().evaluation_id == "other/a"
    assert record("other/a").claimed_by == ana


@pytest.mark.django_db(transaction=True)
def test_request_does_not_wait_for_an_import(max: User) -> None:
    bring(FIRST, "first.jsonl", how())
    run = Run.objects.get()
    with transaction.atomic():
        locks.acquire(Lock.IMPORT)
        asked = start_and_wait_for_lock(
            lambda: reread_in_request(run_id=run.pk, mapping=how(evaluation_id="alt"), actor=max)
        )
        with pytest.raises(RereadRefused, match="A file is being imported into some run"):
            asked.result()


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
