"""Gold sets: frozen decisions of a run, and files of them."""

import json
import re
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from reviews.accounts.permissions import Denied
from reviews.judge.gold import gold_sets
from reviews.judge.gold.gold_file import export_gold_set, import_gold_set
from reviews.judge.gold.gold_sets import freeze
from reviews.judge.gold.measurement import measure
from reviews.judge.scope import JudgeScope
from reviews.models import AuditEvent, Escalation, Evaluation, GoldRating, GoldSet, Rating, Run, User
from reviews.records.status import NOT_REQUIRED
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.changes import delete_next_part, request_deletion
from tests.support.contexts import bring, task
from tests.support.factories import RunFactory
from tests.support.gold import CLARITY, RATED, judged, rate
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


class TestFreeze:
    def test_set_keeps_blind_ratings_with_their_weights(
        self, run: Run, rated: list[Evaluation], lea: User
    ) -> None:
        Rating.objects.filter(evaluation=rated[0]).update(probability=0.25)
        frozen = freeze(scope=JudgeScope(run), name=" algebra ", actor=lea)
        assert (frozen.blind, frozen.adjudicated, frozen.left_out) == (12, 0, {})
        assert (frozen.gold_set.name, frozen.gold_set.run_name) == ("algebra", "monday")
        first = frozen.gold_set.ratings.get(task_id="0")
        assert (first.basis, first.verdict, first.scores) == ("blind", "Pass", {CLARITY: "Yes"})
        assert (first.probability, first.raters, first.reviewer) == (0.25, 1, "ana")
        assert first.evaluation_id == rated[0].evaluation_id
        event = AuditEvent.objects.get(action="freeze gold set")
        assert (event.actor, event.detail["ratings"]) == (lea, {"blind": 12, "adjudicated": 0})

    def test_filters_choose_the_ratings_and_are_kept(
        self, run: Run, rated: list[Evaluation], ana: User, lea: User
    ) -> None:
        scope = JudgeScope(run, reviewer=ana, task=rated[3].task_id)
        frozen = freeze(scope=scope, name="one task", actor=lea)
        assert frozen.blind == 1
        assert frozen.gold_set.filters == {"reviewer": "ana", "task": "3"}

    def test_ratings_that_represent_no_others_and_records_in_the_queue_are_left_out(
        self, run: Run, ana: User
    ) -> None:
        rate(judged(run, ["Pass"]), ana, ["Pass"])
        rate(judged(run, ["Pass"], model_id="waiting"), ana, ["Pass"], is_done=False)
        rate(judged(run, ["Pass"], model_id="picked", needs_human_review=False), ana, ["Pass"])
        rate(judged(run, ["Pass"], model_id="empty", structured_model_response=None), ana, ["Pass"])
        frozen = freeze(scope=JudgeScope(run), name="algebra", actor=None)
        assert (frozen.blind, frozen.left_out) == (1, {"waiting": 1, "unsampled": 1, "unanswered": 1})
        assert "Left out: 1 rating of records in the queue." in frozen.sentences

    def test_decisions_between_reviewers_who_disagreed_are_marked(
        self, run: Run, rated: list[Evaluation], ana: User, lea: User
    ) -> None:
        record = judged(run, ["Pass"], model_id="disputed")[0]
        scores = {CLARITY: {"score": "No", "justification": "Wrong."}}
        review = decide(record, lea, scores=scores, judged={CLARITY: "Yes"})
        assert freeze(scope=JudgeScope(run), name="before", actor=lea).adjudicated == 0
        Escalation.objects.create(
            evaluation=record, run=run, kind="disagreement", raised_by=ana, outcome="decided", resolved_by=lea
        )
        frozen = freeze(scope=JudgeScope(run), name="after", actor=lea)
        assert (frozen.blind, frozen.adjudicated) == (12, 1)
        found = frozen.gold_set.ratings.get(basis="adjudicated")
        assert (found.reviewer, found.verdict, found.scores) == ("lea", "Fail", {CLARITY: "No"})
        assert found.at == review.submitted_at

    def test_response_of_task_context_is_kept(self, run: Run, ana: User) -> None:
        records = judged(run, ["Pass"], structured_model_response=None)
        bring(task(task_id=0, model_responses=[{"model_id": records[0].model_id, "response_text": "54"}]))
        rate(records, ana, ["Pass"])
        gold = freeze(scope=JudgeScope(run), name="algebra", actor=None).gold_set
        assert measure(gold, JudgeScope(run)).counts.matched == 1

    def test_nothing_to_freeze_and_taken_or_invalid_names_are_refused(
        self, run: Run, gold: GoldSet, lea: User
    ) -> None:
        for name in ("", "  ", "a/b", "a\nb", "x" * 101, gold.name):
            with pytest.raises(InvalidSettings) as refused:
                freeze(scope=JudgeScope(run), name=name, actor=lea)
            assert [*refused.value.problems] == ["name"]
        empty = RunFactory.create(name="empty")
        judged(empty, ["Pass"])
        with pytest.raises(InvalidSettings, match="no blind ratings"):
            freeze(scope=JudgeScope(empty), name="empty", actor=lea)
        assert GoldSet.objects.get() == gold

    def test_reviewers_may_not_change_gold_sets(self, run: Run, gold: GoldSet, ana: User) -> None:
        with pytest.raises(Denied):
            freeze(scope=JudgeScope(run), name="mine", actor=ana)
        with pytest.raises(Denied):
            gold_sets.rename(gold_set_id=gold.pk, name="mine", actor=ana)
        with pytest.raises(Denied):
            gold_sets.delete(gold_set_id=gold.pk, actor=ana)


class TestLife:
    def test_set_is_renamed_and_deleted_with_events(self, gold: GoldSet, lea: User) -> None:
        gold_sets.rename(gold_set_id=gold.pk, name="geometry", actor=lea)
        assert AuditEvent.objects.get(action="rename gold set").detail["before"] == "algebra"
        gold_sets.delete(gold_set_id=gold.pk, actor=lea)
        assert not GoldRating.objects.exists()
        assert AuditEvent.objects.get(action="delete gold set").detail["ratings"] == 12

    def test_ratings_of_a_set_cannot_be_changed(self, gold: GoldSet) -> None:
        with pytest.raises(IntegrityError, match="UPDATE is refused"), transaction.atomic():
            gold.ratings.update(verdict="Pass")

    @pytest.mark.slow
    def test_set_survives_its_run(self, run: Run, other: Run, gold: GoldSet, max: User, lea: User) -> None:
        judged(other, [human for _, human in RATED], judge_llm_model="judge-2")
        Run.objects.filter(pk=run.pk).update(is_restricted=True)
        assert [*GoldSet.objects.visible_to(lea)] == []
        request_deletion(run_id=run.pk, actor=max, confirmation=run.name)
        while delete_next_part():
            pass
        gold.refresh_from_db()
        assert (gold.run, gold.run_name, gold.is_restricted) == (None, "monday", True)
        assert [*GoldSet.objects.visible_to(lea)] == []
        assert [*GoldSet.objects.visible_to(max)] == [gold]
        headline = measure(gold, JudgeScope(other)).headline
        assert headline
        assert headline.accuracy.value == 1

    def test_members_of_a_restricted_run_see_its_sets(self, run: Run, gold: GoldSet, lea: User) -> None:
        Run.objects.filter(pk=run.pk).update(is_restricted=True)
        run.members.add(lea)
        assert [*GoldSet.objects.visible_to(lea)] == [gold]


class TestFile:
    def test_exported_set_is_imported_unchanged(
        self, gold: GoldSet, other: Run, lea: User, max: User
    ) -> None:
        exported = b"".join(export_gold_set(gold_set=gold, actor=lea))
        before = [*gold.ratings.order_by("pk").values()]
        gold_sets.delete(gold_set_id=gold.pk, actor=lea)
        again = import_gold_set(blocks=[exported], actor=max)
        assert (again.name, again.run, again.run_name, again.is_imported) == ("algebra", None, "monday", True)
        assert (again.frozen_by, again.frozen_at, again.created_by) == ("lea", gold.frozen_at, max)
        for old, new in zip(before, again.ratings.order_by("pk").values(), strict=True):
            assert old | {"id": 0, "gold_set_id": 0} == new | {"id": 0, "gold_set_id": 0}
        assert b"".join(export_gold_set(gold_set=again, actor=None)) == exported
        actions = AuditEvent.objects.filter(action__endswith="gold set").values_list("action", flat=True)
        assert {"export gold set", "import gold set"} <= {*actions}

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (
                {"probability": 0},
                "Line 2: “probability” must be at least 0.000000001.",
            ),
            ({"probability": "1"}, "Line 2: “probability” must be a number."),
            ({"response": "123"}, "Line 2: “response” does not match the pattern"),
            ({"verdict": "Maybe"}, "Line 2: “verdict” must be 'Pass', 'Partial' or 'Fail'."),
            ({"scores": {"Clarity": [1]}}, "Line 2: The score of “Clarity” must be"),
            (
                {"rated_at": "0001-01-01T00:00:00+14:00"},
                "Line 2: “rated_at” must be in the years from 1970 to 9998.",
            ),
            ({"typo": 1}, "Line 2: “typo” is not a known field."),
        ],
    )
    def test_invalid_line_is_named_and_nothing_is_imported(
        self, gold: GoldSet, change: dict[str, Any], reason: str
    ) -> None:
        head, first, *rest = b"".join(export_gold_set(gold_set=gold, actor=None)).splitlines(keepends=True)
        changed = json.dumps(json.loads(first) | change).encode() + b"\n"
        with pytest.raises(InvalidSettings) as refused:
            import_gold_set(blocks=[head, changed, *rest], actor=None, name="again")
        assert reason in refused.value.problems["file"][0]
        assert GoldSet.objects.get() == gold

    def test_first_problems_of_a_line_are_named(self) -> None:
        names = json.dumps({"x" * 10_000: 1} | {f"name {number}": 1 for number in range(1000)}).encode()
        with pytest.raises(InvalidSettings) as refused:
            import_gold_set(blocks=[names], actor=None, name="again")
        assert len(refused.value.problems["file"]) == 20
        assert max(map(len, refused.value.problems["file"])) < 200

    def test_file_of_another_kind_or_cut_off_is_refused(self, gold: GoldSet) -> None:
        lines = b"".join(export_gold_set(gold_set=gold, actor=None)).splitlines(keepends=True)
        for file, reason in (
            (lines[:-1], "announces 12 ratings, but the file has 11"),
            ([], "The file is empty."),
            ([b"[1]\n"], "Line 1"),
            ([b'{"evaluation_id": "e-1"}\n'], "Line 1: “gold_set” is missing."),
            ([b"\xff\xfe{\0"], "UTF-16"),
            ([lines[0].replace(b'"criteria":[', b'"criteria":[7,')], "Line 1: rubric: "),
        ):
            with pytest.raises(InvalidSettings, match=re.escape(reason)):
                import_gold_set(blocks=file, actor=None, name="again")


def test_unindexed_run_is_neither_frozen_nor_measured(run: Run, gold: GoldSet) -> None:
    bare = RunFactory.create(name="bare")
    evaluations(bare, tasks=["1"], human_review_status=NOT_REQUIRED)
    assert "still being indexed" in measure(gold, JudgeScope(bare)).unknown
    with pytest.raises(InvalidSettings, match="still being indexed"):
        freeze(scope=JudgeScope(bare), name="bare", actor=None)
