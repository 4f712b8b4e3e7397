"""Plans of blind reviews."""

from typing import Any

import pytest

from cognireview.types.runs import PlannedPart
from reviews.database.statements import execute
from reviews.judge.planning import JudgePlan, plan_reviews
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, RunCount, User
from reviews.records.status import NOT_REQUIRED
from reviews.review import decisions
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.plans import rows_read_by
from tests.support.population import count_records, rated, stratum
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def part(plan: JudgePlan, name: str) -> PlannedPart:
    return next(one for one in plan.parts if one.name == name)


def rate(
    counted: Any, reviewer: User, *, right: int, wrong: int, verdict: str = "Pass", **values: Any
) -> None:
    other = "Fail" if verdict == "Pass" else "Pass"
    rated(counted, reviewer, verdict, verdict, right, **values)
    rated(counted, reviewer, verdict, other, wrong, **values)


class TestPlan:
    def test_plan_without_reviews_expects_even_odds_and_assumes_the_design_effect(self, run: Run) -> None:
        stratum(run, {"Pass": 100_00})
        found = plan_reviews(JudgeScope(run), 0.05)
        assert (found.more, found.design_effect, found.is_design_effect_assumed) == (577, 1.5, True)
        assert found.sentences == (
            "Whole run: 0 blind reviews. 577 more to ±5.",
            "Flagged: 0 blind reviews. 577 more to ±5.",
            found.sentences[2],
        )
        assert found.sentences[2].startswith("Assumes 1.5 times as many reviews as independent records need,")

    @pytest.mark.slow
    def test_plan_of_some_records_equals_that_of_a_run_with_these_records(self, run: Run, ana: User) -> None:
        alone = RunFactory.create()
        for model, records, right in (("o1", 2_000, 30), ("o3", 3_000, 45)):
            for made in (run, alone) if model == "o3" else (run,):
                numbers = range(records)
                counted = stratum(made, {}, model_id=model)
                count_records(counted, "Pass", numbers)
                RunCount.objects.create(run=made, status=NOT_REQUIRED, evaluations=records)
                rated(counted, ana, "Pass", "Pass", right, clusters=[*range(right)])
                rated(counted, ana, "Pass", "Fail", 15, clusters=[*range(100, 115)])
        found, same = plan_reviews(JudgeScope(run, model="o3"), 0.05), plan_reviews(JudgeScope(alone), 0.05)
        assert (found.parts, found.cells, found.design_effect) == (same.parts, same.cells, same.design_effect)
        assert found.more > 0
        assert found.sentences[0].startswith("Records with these filters: 60 blind reviews")
        assert (found.filters, same.filters) == ({"model": "o3"}, {})
        # Filters of ratings do not apply: a plan counts all of them.
        assert plan_reviews(JudgeScope(run, model="o3", reviewer=ana, task="t"), 0.05) == found

    @pytest.mark.slow
    def test_part_with_a_narrow_interval_has_enough_reviews(self, run: Run, ana: User) -> None:
        rate(stratum(run, {"Pass": 2_000}), ana, right=380, wrong=420)
        rate(stratum(run, {"Pass": 3_000}, is_flagged=False), ana, right=36, wrong=14, probability=0.1)
        found = plan_reviews(JudgeScope(run), 0.05, "parts")
        flagged, unflagged = part(found, "flagged"), part(found, "unflagged")
        assert flagged.more == flagged.more_alone == 0
        assert found.sentences[1] == "Flagged: 800 blind reviews, ±3.5 points: enough for ±5."
        assert unflagged.half_width is not None
        assert unflagged.half_width > 0.1
        assert 200 < unflagged.more_alone < 400
        assert found.sentences[2].endswith(f" {unflagged.more_alone} more to ±5.")
        assert found.more == unflagged.more_alone

    @pytest.mark.slow
    def test_plan_for_the_run_needs_fewer_reviews_than_one_for_each_part(self, run: Run, ana: User) -> None:
        rate(stratum(run, {"Pass": 2_000}), ana, right=30, wrong=30)
        rate(stratum(run, {"Pass": 8_000}, is_flagged=False), ana, right=40, wrong=10)
        together, apart = (
            plan_reviews(JudgeScope(run), 0.05, "run"),
            plan_reviews(JudgeScope(run), 0.05, "parts"),
        )
        assert part(together, "run").more == together.more < apart.more
        assert part(together, "flagged").more < part(together, "unflagged").more

    def test_cells_with_rare_errors_get_fewer_reviews(self, run: Run, ana: User) -> None:
        both = stratum(run, {"Pass": 5_000, "Fail": 5_000})
        rate(both, ana, right=50, wrong=50)
        rate(both, ana, right=98, wrong=2, verdict="Fail")
        found = {one.cell.verdict: one.more for one in plan_reviews(JudgeScope(run), 0.02).cells}
        assert 3 * found["Fail"] < found["Pass"]

    @pytest.mark.slow
    def test_planned_reviews_reach_the_target(self, run: Run, ana: User) -> None:
        counted = stratum(run, {"Pass": 20_000})
        rate(counted, ana, right=60, wrong=40)
        more = plan_reviews(JudgeScope(run), 0.04).more
        rate(counted, ana, right=round(more * 0.6), wrong=more - round(more * 0.6))
        after = part(plan_reviews(JudgeScope(run), 0.04), "run")
        assert after.half_width == pytest.approx(0.04, abs=0.003)

    @pytest.mark.slow
    def test_records_reviewed_with_the_judges_scores_cannot_be_planned(self, run: Run, ana: User) -> None:
        counted = stratum(run, {"Pass": 300})
        records = EvaluationFactory.create_batch(250)
        rated(counted, ana, "Pass", "Pass", 250, is_blind=False, records=records)
        found = plan_reviews(JudgeScope(run), 0.05)
        assert found.more == 50
        assert not part(found, "run").is_reachable
        assert found.sentences[0] == (
            "Whole run: 0 blind reviews. ±5 is out of reach: with all 50 other records, the interval is ±17."
        )

    def test_record_with_several_reviews_leaves_the_others_to_plan(
        self, run: Run, ana: User, bo: User, lea: User
    ) -> None:
        """Of 30 records, ten are scored blind by two people, and lea then decides four of them."""
        counted, records = stratum(run, {"Pass": 30}), EvaluationFactory.create_batch(10)
        for reviewer in (ana, bo):
            rated(counted, reviewer, "Pass", "Pass", 10, records=records)
        rated(counted, lea, "Pass", "Pass", 4, records=records[:4], is_blind=False)
        found = plan_reviews(JudgeScope(run), 0.005)
        assert (part(found, "run").ratings, found.more) == (20, 20)
        assert "with all 20 other records" in found.sentences[0]

    def test_reviews_without_a_verdict_are_not_planned(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 100}), ana, "Pass", None, 12)
        found = plan_reviews(JudgeScope(run), 0.05)
        assert found.more == 0
        assert found.sentences[0].startswith(
            "No blind review has a verdict by the reviewer, so more do not help."
        )

    def test_records_that_a_file_decides_cannot_be_planned(self) -> None:
        """Two of three flagged records are decided in the file. The verdict of one follows from scores."""
        done = {"human_review_status": "Completed"}
        run = import_data(
            file_of(
                line("a", needs_human_review=True, aggregated_score="Pass", **done),
                line("b", needs_human_review=True, aggregated_score=None, **done),
                line("c", needs_human_review=True, aggregated_score="Pass"),
            )
        ).target_run
        found = plan_reviews(JudgeScope(run), 0.05)
        assert (part(found, "run").records, found.more) == (3, 1)

    @pytest.mark.slow
    def test_reopened_record_cannot_be_planned_and_hides_no_record_that_a_file_decides(
        self, ana: User, lea: User
    ) -> None:
        """One record is done, by its file, and one has a review, which was reopened."""
        flagged = {"needs_human_review": True, "aggregated_score": "Pass"}
        done = line("a", human_review_status="Completed", **flagged)
        waiting = [line(name, human_review_status="Needs Review", **flagged) for name in "bcd"]
        run = import_data(file_of(done, *waiting)).target_run
        decide(Evaluation.objects.get(evaluation_id="b"), ana)
        assert plan_reviews(JudgeScope(run), 0.05).more == 2
        reopened = Evaluation.objects.get(evaluation_id="b")
        decisions.reopen(evaluation_id=reopened.pk, actor=lea, reason="Look again.")
        assert plan_reviews(JudgeScope(run), 0.05).more == 2

    def test_record_that_a_lead_closed_cannot_be_planned(self, lea: User) -> None:
        flagged = {"needs_human_review": True, "aggregated_score": "Pass"}
        run = import_data(file_of(*(line(name, **flagged) for name in "abc"))).target_run
        closed = Evaluation.objects.get(evaluation_id="a")
        decisions.close(evaluation_id=closed.pk, actor=lea, comments="Nobody can judge it.")
        assert plan_reviews(JudgeScope(run), 0.05).more == 2

    def test_search_for_shown_records_reads_no_other_ones(self, ana: User, lea: User) -> None:
        run = import_data(file_of(*(line(f"e{number}", needs_human_review=True) for number in range(200))))
        for shown in Evaluation.objects.all()[:3]:
            decide(shown, ana)
        decisions.reopen(evaluation_id=shown.pk, actor=lea, reason="Look again.")
        execute("ANALYZE evaluation, review")
        sent = rows_read_by(lambda: plan_reviews(JudgeScope(run.target_run), 0.05))
        assert 1 <= sent["evaluation"] <= 8
        assert 1 <= sent["review"] <= 3

    def test_decided_records_count_in_the_cell_of_the_verdict_that_follows_from_their_scores(self) -> None:
        def scored(name: str, score: str, **more: str) -> bytes:
            scores = {"Clarity": {"score": score, "justification": ""}}
            return line(
                name, needs_human_review=True, aggregated_score=None, parsed_rubric_scores=scores, **more
            )

        fails = [scored(f"fail {number}", "No", human_review_status="Completed") for number in range(4)]
        passes = [scored(f"pass {number}", "Yes") for number in range(6)]
        found = plan_reviews(JudgeScope(import_data(file_of(*fails, *passes)).target_run), 0.01)
        planned = {one.cell.verdict: (one.records, one.more) for one in found.cells}
        assert planned == {"Fail": (4, 0), "Pass": (6, 6)}

    @pytest.mark.slow
    def test_reviews_of_all_other_records_never_widen_the_interval(self, run: Run, ana: User) -> None:
        """With few reviews, the assumed design effect may be larger than the real one."""
        counted = stratum(run, {"Pass": 29})
        records = EvaluationFactory.create_batch(27)
        rated(counted, ana, "Pass", "Pass", 14, records=records[:14])
        rated(counted, ana, "Pass", "Fail", 13, records=records[14:])
        whole = part(plan_reviews(JudgeScope(run), 0.02), "run")
        assert whole.half_width is not None
        assert whole.best_half_width == whole.half_width
        assert (
            plan_reviews(JudgeScope(run), 0.02)
            .sentences[0]
            .endswith("±2 is out of reach: with all 2 other records, the interval is hardly narrower.")
        )

    def test_run_without_verdicts_has_no_plan(self, run: Run) -> None:
        stratum(run, {"": 50})
        assert plan_reviews(JudgeScope(run)).sentences == ("No record has a verdict by the judge.",)

    def test_plan_as_json_has_parts_cells_and_no_served_plan(self, run: Run, ana: User) -> None:
        rate(stratum(run, {"Pass": 300}), ana, right=30, wrong=20)
        found = plan_reviews(JudgeScope(run), 0.05).as_json()
        assert (found["run"], found["aim"], found["served"]) == (run.name, "run", None)
        assert [one["name"] for one in found["parts"]] == ["run", "flagged"]
        assert found["cells"][0]["cell"]["verdict"] == "Pass"
