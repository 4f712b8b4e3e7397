"""Gold sets: frozen decisions of a run, and the judge of another run measured against them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from reviews.accounts.permissions import Denied
from reviews.judge.gold import gold_sets
from reviews.judge.gold.gold_file import export_gold_set, import_gold_set
from reviews.judge.gold.gold_sets import freeze
from reviews.judge.gold.measurement import list_records, measure
from reviews.judge.quality_gates import InvalidRequirement, check_requirements, parse_requirement
from reviews.judge.report import build_report
from reviews.judge.scope import JudgeScope
from reviews.models import AuditEvent, Escalation, Evaluation, GoldRating, GoldSet, Rating, Run, User
from reviews.records.status import NOT_REQUIRED
from reviews.rubric.run_settings import InvalidSettings
from reviews.runs.deletion import delete_next_part, request_deletion
from tests.api.conftest import program_of
from tests.support.commands import manage
from tests.support.contexts import bring, task
from tests.support.factories import RunFactory
from tests.support.gold import CLARITY, RATED, judged, rate, rated_records
from tests.support.rubrics import rubric_data
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(name="monday", rubric=rubric_data(CLARITY), blind_share=0)


@pytest.fixture
def other() -> Run:
    return RunFactory.create(name="tuesday", rubric=rubric_data(CLARITY), blind_share=0)


@pytest.fixture
def rated(run: Run, ana: User) -> list[Evaluation]:
    return rated_records(run, ana)


@pytest.fixture
def gold(run: Run, rated: list[Evaluation], lea: User) -> GoldSet:
    assert rated
    return freeze(scope=JudgeScope(run), name="algebra", actor=lea).gold_set


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


class TestMeasurement:
    def test_own_judge_has_the_accuracy_of_its_run(self, run: Run, gold: GoldSet) -> None:
        found = measure(gold, JudgeScope(run))
        headline = found.headline
        assert headline
        assert headline.accuracy.value == pytest.approx(8 / 12)
        assert (headline.accuracy.n, headline.accuracy.clusters) == (12, 12)
        assert [[*row] for row in headline.table.counts] == [[6, 0, 3], [0, 0, 0], [1, 0, 2]]
        clarity = found.find("blind", CLARITY)
        assert clarity
        assert clarity.accuracy.value == pytest.approx(8 / 12)
        assert found.counts == (12, 12, 12, 12)

    def test_other_judge_is_measured_on_the_responses_that_it_judged(self, other: Run, gold: GoldSet) -> None:
        judged(other, ["Pass"] * 9, judge_llm_model="judge-2")
        judged(other, ["Fail"], model_id="new")
        found = measure(gold, JudgeScope(other))
        assert found.headline
        assert found.headline.accuracy.value == pytest.approx(6 / 9)
        assert found.counts == (12, 9, 10, 9)
        assert found.notes[0] == (
            "This run has 9 responses of the gold set's 12, in 9 records. About the other 1 record of the "
            "run, the gold set says nothing."
        )
        assert measure(gold, JudgeScope(other, model="new")).figures == {}

    def test_ratings_are_weighted_and_shared_among_records_of_a_response(
        self, run: Run, other: Run, rated: list[Evaluation]
    ) -> None:
        Rating.objects.filter(evaluation=rated[0]).update(probability=0.1)
        gold = freeze(scope=JudgeScope(run), name="algebra", actor=None).gold_set
        judged(other, ["Fail"] + ["Pass"] * 5)
        judged(other, ["Pass"], judge_llm_model="judge-2")
        headline = measure(gold, JudgeScope(other)).headline
        assert headline
        assert headline.accuracy.value == pytest.approx((5 + 5) / 15)
        assert measure(gold, JudgeScope(other, judge="judge-2")).counts.matched_records == 1

    def test_adjudicated_decisions_are_counted_apart(self, run: Run, gold: GoldSet) -> None:
        rating = gold.ratings.get(task_id="0")
        rating.pk, rating.basis, rating.verdict = None, "adjudicated", "Fail"
        rating.save(force_insert=True)
        found = measure(gold, JudgeScope(run))
        assert found.headline
        assert found.headline.n == 12
        [adjudicated] = [one for one in found.figures["adjudicated"] if one.criterion is None]
        assert (adjudicated.n, adjudicated.accuracy.value) == (1, 0)

    def test_changed_rubric_and_flagged_ratings_are_noted(self, run: Run, gold: GoldSet) -> None:
        Run.objects.filter(pk=run.pk).update(rubric=rubric_data(CLARITY, "Depth"))
        run.refresh_from_db()
        notes = " ".join(measure(gold, JudgeScope(run)).notes)
        assert "The rubric of this run is not that of the gold set" in notes
        assert "The gold set has no scores of: Depth." in notes
        assert "All blind ratings of the gold set are of records that were flagged" in notes

    def test_records_behind_a_count_are_listed_unless_they_are_in_the_queue(
        self, run: Run, other: Run, gold: GoldSet
    ) -> None:
        wrong = list_records(gold, JudgeScope(run), "blind", None, ("Pass", "Fail"))
        assert [(one.judge, one.human, one.reviewer) for one in wrong] == [("Pass", "Fail", "ana")] * 3
        assert len(list_records(gold, JudgeScope(run), "blind", CLARITY, ('"Yes"', "*"))) == 9
        judged(other, ["Pass"] * 9)
        assert list_records(gold, JudgeScope(other), "blind", None, ("*", "*")) == []


@pytest.mark.slow
class TestHiddenRecords:
    @pytest.fixture
    def many(self, run: Run, ana: User) -> GoldSet:
        """A gold set of 40 responses that people passed and 3 that they failed."""
        rate(judged(run, ["Pass"] * 43), ana, ["Pass"] * 40 + ["Fail"] * 3)
        Evaluation.objects.update(was_shown=True)
        return freeze(scope=JudgeScope(run), name="many", actor=None).gold_set

    @pytest.fixture
    def hiding(self, other: Run) -> Run:
        """A run whose records can all be scored blind: the judge passed 25 of 43."""
        judged(other, ["Pass"] * 25 + ["Fail"] * 18)
        Run.objects.filter(pk=other.pk).update(blind_share=1)
        other.refresh_from_db()
        return other

    def test_hidden_records_count_only_in_large_numbers(self, many: GoldSet, hiding: Run) -> None:
        found = measure(many, JudgeScope(hiding))
        assert found.headline
        assert [[*row] for row in found.headline.table.counts] == [[25, 0, 0], [0, 0, 0], [15, 0, 0]]
        assert "Not counted: 3 ratings of records that can still be scored blind" in found.notes[1]

    def test_unanimous_hidden_records_do_not_count(self, many: GoldSet, hiding: Run) -> None:
        Evaluation.objects.filter(run=hiding, aggregated_score="Fail").update(was_shown=True)
        headline = measure(many, JudgeScope(hiding)).headline
        assert headline
        assert headline.n == 18
        assert headline.accuracy.value == pytest.approx(3 / 18)

    def test_hidden_records_never_count_for_an_imported_set(self, many: GoldSet, hiding: Run) -> None:
        GoldSet.objects.filter(pk=many.pk).update(is_imported=True)
        many.refresh_from_db()
        assert measure(many, JudgeScope(hiding)).figures == {}


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
                "Line 2: probability: Input should be greater than or equal to 0.000000001.",
            ),
            ({"probability": "1"}, "Line 2: probability: Input should be a valid number."),
            ({"response": "123"}, "Line 2: response: String should match pattern"),
            ({"verdict": "Maybe"}, "Line 2: verdict: Input should be 'Pass', 'Partial' or 'Fail'."),
            ({"scores": {"Clarity": [1]}}, "Line 2: scores: Value error, the score of 'Clarity'"),
            ({"rated_at": "0001-01-01T00:00:00+14:00"}, "the year is not between 1970 and 9998"),
            ({"typo": 1}, "Line 2: typo: Extra inputs are not permitted."),
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

    def test_file_of_another_kind_or_cut_off_is_refused(self, gold: GoldSet) -> None:
        lines = b"".join(export_gold_set(gold_set=gold, actor=None)).splitlines(keepends=True)
        for file, reason in (
            (lines[:-1], "announces 12 ratings, but the file has 11"),
            ([], "The file is empty."),
            ([b"[1]\n"], "Line 1"),
            ([b'{"evaluation_id": "e-1"}\n'], "Line 1: gold_set: Field required."),
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


class TestProgramsAndGates:
    @pytest.mark.slow
    def test_api_and_command_give_the_same_measurement(
        self, other: Run, gold: GoldSet, lea: User, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        judged(other, ["Pass"] * 12)
        program = program_of(lea, "read", "configure", "export")
        found = program.get("runs/tuesday/gold-sets/algebra").json()
        assert found == json.loads(json.dumps(measure(gold, JudgeScope(other)).as_json()))
        assert found["figures"][0]["accuracy"]["value"] == pytest.approx(7 / 12, abs=1e-6)
        printed = manage(capfdbinary, "gold_sets", "measure", "algebra", "tuesday", "--json").out
        assert json.loads(printed) == found
        of_task = json.loads(json.dumps(measure(gold, JudgeScope(other, task="0")).as_json()))
        assert (of_task["matched"], of_task["records"]) == (1, 1)
        assert program.get("runs/tuesday/gold-sets/algebra?task=0").json() == of_task
        arguments = ("gold_sets", "measure", "algebra", "tuesday", "--task", "0", "--json")
        assert json.loads(manage(capfdbinary, *arguments).out) == of_task
        # No rating of the run is needed.
        judge = "judge=judge-1"
        assert program.get(f"runs/tuesday/gold-sets/algebra?{judge}").json()["figures"] == found["figures"]
        assert program.get("runs/tuesday/gold-sets/algebra?judge=nobody").status_code == 422
        shown = manage(capfdbinary, "gold_sets", "measure", "algebra", "tuesday").out.decode()
        assert "58%" in shown
        assert "of the gold set's 12" in shown

    @pytest.mark.slow
    def test_api_freezes_renames_exports_imports_and_deletes(
        self, run: Run, gold: GoldSet, lea: User
    ) -> None:
        program = program_of(lea, "read", "configure", "export")
        made = program.ask("POST", "runs/monday/gold-sets", {"name": "one", "task": "3"})
        assert (made.status_code, made.json()["blind"], made.json()["filters"]) == (200, 1, {"task": "3"})
        taken = program.ask("POST", "runs/monday/gold-sets", {"name": "one"})
        assert (taken.status_code, taken.json()["errors"][0]["field"]) == (422, "name")
        assert program.ask("POST", "runs/monday/gold-sets", {"name": "two", "task": "?"}).status_code == 422
        assert program.ask("PATCH", "gold-sets/one", {"name": "two"}).json()["name"] == "two"
        exported = program.get("gold-sets/algebra").getvalue()
        again = program.ask("POST", "gold-sets?name=again", exported, kind="application/x-ndjson")
        assert (again.status_code, again.json()["is_imported"]) == (200, True)
        assert [one["name"] for one in program.get("gold-sets").json()] == ["again", "two", "algebra"]
        assert program.ask("DELETE", "gold-sets/two").status_code == 204
        assert program.get("gold-sets/two").status_code == 404

    @pytest.mark.slow
    def test_command_freezes_renames_exports_imports_and_deletes(
        self, rated: list[Evaluation], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        assert rated
        frozen = manage(capfdbinary, "gold_sets", "freeze", "algebra", "monday", "--reviewer", "ana")
        assert b"Froze 12 blind ratings" in frozen.out
        assert manage(capfdbinary, "gold_sets", "freeze", "algebra", "monday").status == 2
        file = tmp_path / "set.jsonl"
        manage(capfdbinary, "gold_sets", "export", "algebra", "-o", str(file))
        manage(capfdbinary, "gold_sets", "rename", "algebra", "geometry")
        assert b"algebra: 12 ratings" in manage(capfdbinary, "gold_sets", "import", str(file)).out
        assert manage(capfdbinary, "gold_sets", "import", str(file)).status == 2
        manage(capfdbinary, "gold_sets", "delete", "geometry")
        assert manage(capfdbinary, "gold_sets", "delete", "geometry").status == 2
        listed = manage(capfdbinary, "gold_sets", "list").out.decode()
        assert listed.startswith("algebra: run monday, frozen ")
        assert manage(capfdbinary, "gold_sets", "import", str(tmp_path / "none")).status == 2

    @pytest.mark.slow
    def test_gate_compares_a_figure_of_a_gold_set_with_its_limit(
        self, other: Run, gold: GoldSet, lea: User, max: User
    ) -> None:
        judged(other, ["Pass"] * 12)
        report = build_report(JudgeScope(other))
        texts = (
            "gold algebra accuracy >= 0.1",
            "gold algebra accuracy >= 0.99",
            "gold algebra accuracy of Clarity <= 0.99",
            "adjudicated gold algebra accuracy >= 0.1",
            "gold unknown accuracy >= 0.1",
        )
        required = [parse_requirement(text) for text in texts]
        found = check_requirements(report, required, lea)
        outcomes = [one.outcome.value for one in found]
        assert outcomes == ["met", "shown worse", "met", "not shown yet", "not shown yet"]
        assert found[0].requirement.figure == "gold algebra accuracy of the verdict"
        assert found[0].estimate.value == pytest.approx(7 / 12)
        assert "There is no gold set named 'unknown'" in found[4].sentence
        Run.objects.filter(name="monday").update(is_restricted=True)
        assert "There is no gold set" in check_requirements(report, required, lea)[0].sentence
        assert check_requirements(report, required, max)[0].outcome == "met"

    def test_name_in_a_requirement_may_contain_any_word(self) -> None:
        found = parse_requirement("gold set of kappa kappa of Steps of proof >= 0.5")
        assert found.gold == ("set of kappa", "blind", "kappa", "Steps of proof")
        for text in ("gold accuracy >= 0.5", "gold algebra speed >= 0.5"):
            with pytest.raises(InvalidRequirement, match="unknown metric"):
                parse_requirement(text)
