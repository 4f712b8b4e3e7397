"""Reading a run again with another mapping replaces its records."""

import pytest
from django.db import transaction

from cognireview.types.files import Reread
from reviews.database import locks
from reviews.database.locks import Lock
from reviews.imports import importer
from reviews.models import AuditEvent, Evaluation, Import, Run, RunCount, User
from reviews.queue import claims
from reviews.records.mapping import mapping_from_json
from reviews.records.rubric import Criterion, Rubric
from reviews.rubric.run_rubric import declare_rubric, run_rubric
from reviews.runs.reread import RereadRefused, reread_in_request, reread_run
from tests.support.lines import export_data
from tests.support.rereads import (
    FIRST,
    SECOND,
    bring,
    faults,
    found,
    how,
    record,
    refused,
    reread,
    source,
    stored,
)
from tests.support.threads import start_and_wait_for_lock

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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
