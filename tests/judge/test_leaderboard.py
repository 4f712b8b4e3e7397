"""Ranking of evaluated models by the judge's pass rates and by corrected ones."""

import pytest

from cognireview.types import report_parts
from cognireview.types.encoding import encode
from cognireview.types.report_parts import RankedModel
from reviews.judge import leaderboard
from reviews.judge.leaderboard import Leaderboard
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.leaderboard import model_sections
from tests.support.factories import RunFactory
from tests.support.population import rated, stratum

pytestmark = pytest.mark.django_db


def board(run: Run) -> Leaderboard:
    return leaderboard.rank_models(JudgeScope(run))


def only(run: Run) -> RankedModel:
    [model] = board(run).models
    return model


def answer(run: Run) -> str:
    [section] = model_sections(JudgeFilters(JudgeScope(run), (), {}))
    return section.answer


class TestRankedModel:
    def test_judge_rate_covers_all_records_of_a_model(self, run: Run) -> None:
        stratum(run, {"Pass": 30, "Fail": 20, "": 5})
        stratum(run, {"Pass": 50}, is_flagged=False)
        model = only(run)
        assert (model.records, model.judged, model.passes, model.judge_rate) == (105, 100, 80, 0.8)

    def test_estimate_weights_flagged_and_sampled_records(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 100})
        rated(flagged, ana, "Pass", "Fail", 6)
        rated(flagged, ana, "Pass", "Pass", 4)
        others = stratum(run, {"Pass": 800, "Fail": 100}, is_flagged=False)
        rated(others, ana, "Pass", "Pass", 10)
        rated(others, ana, "Fail", "Pass", 3)
        rated(others, ana, "Fail", "Fail", 9)
        model = only(run)
        assert model.estimate.value == pytest.approx((100 * 0.4 + 800 + 100 * 0.25) / 1000)
        assert (model.ratings, model.estimate.n) == (32, 32)

    def test_estimate_is_uncertain_with_few_sampled_ratings(self, run: Run, ana: User) -> None:
        """Five of five passes leave a pass rate of 60% possible among nine tenths of the records."""
        flagged = stratum(run, {"Pass": 100})
        rated(flagged, ana, "Pass", "Fail", 10)
        rated(flagged, ana, "Pass", "Pass", 10)
        rated(stratum(run, {"Pass": 900}, is_flagged=False), ana, "Pass", "Pass", 5)
        estimate = only(run).estimate
        assert estimate.value == pytest.approx(0.95)
        assert (estimate.low or 1) < 0.1 * 0.5 + 0.9 * 0.6

    def test_assisted_ratings_do_not_count(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 100}), ana, "Pass", "Fail", 50, is_blind=False)
        assert (only(run).ratings, only(run).estimate.value) == (0, None)

    def test_estimate_is_undefined_without_ratings_of_unflagged_records(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 100}), ana, "Pass", "Fail", 100)
        stratum(run, {"Pass": 300, "Fail": 100}, is_flagged=False)
        assert only(run).estimate.value is None
        assert "represents 400 records" in only(run).estimate.why
        assert board(run).sentences[0].startswith("No model has an estimate yet.")
        assert answer(run) == "No model is ranked yet."

    def test_estimate_counts_human_verdicts_on_records_without_judge_verdict(
        self, run: Run, ana: User
    ) -> None:
        flagged = stratum(run, {"": 40})
        rated(flagged, ana, None, "Pass", 10)
        rated(flagged, ana, None, "Fail", 30)
        model = only(run)
        assert model.judge_rate is None
        assert model.estimate.value == pytest.approx(0.25)

    def test_estimate_has_an_interval_if_all_records_are_rated(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 10}), ana, "Pass", "Pass", 10)
        estimate = only(run).estimate
        assert estimate.low is not None
        assert estimate.low < 0.9
        assert estimate.value == pytest.approx(1)

    def test_model_with_few_ratings_has_no_rank(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 50}), ana, "Pass", "Pass", 20)
        rated(stratum(run, {"Pass": 50}, model_id="o3"), ana, "Pass", "Pass", leaderboard.FEWEST - 1)
        few = board(run).models[-1]
        assert (few.model, few.estimate.value, few.best_rank, few.estimate.n) == ("o3", None, None, 9)
        assert board(run).sentences[0].startswith("1 model has fewer than 10 blind ratings")

    def test_estimate_is_undefined_without_ratings(self, run: Run) -> None:
        stratum(run, {"Pass": 10}, model_id="")
        model = only(run)
        assert (model.model, model.ratings, model.estimate.value) == ("", 0, None)


class TestOrder:
    def test_models_are_ordered_by_estimate_with_their_possible_ranks(self, run: Run, ana: User) -> None:
        for name, passes in (("o1", 20), ("o3", 95), ("o4", 93)):
            counted = stratum(run, {"Pass": 100}, model_id=name)
            rated(counted, ana, "Pass", "Pass", passes)
            rated(counted, ana, "Pass", "Fail", 100 - passes)
        stratum(run, {"Fail": 10}, model_id="gpt-4o")
        found = board(run).models
        assert [(one.model, one.best_rank, one.worst_rank, one.judge_rank) for one in found] == [
            ("o3", 1, 2, 1),
            ("o4", 1, 2, 1),
            ("o1", 3, 3, 1),
            ("gpt-4o", None, None, 4),
        ]


class TestRankingDisagreements:
    def judged(self, run: Run, reviewer: User, name: str, *, judged: int, passed: int, records: int) -> None:
        """Create a model with these pass rates by the judge and by humans."""
        counted = stratum(run, {"Pass": judged, "Fail": records - judged}, model_id=name)
        right = min(judged, passed)
        for judge, human, reviews in (
            ("Pass", "Pass", right),
            ("Pass", "Fail", judged - right),
            ("Fail", "Pass", passed - right),
            ("Fail", "Fail", records - judged - passed + right),
        ):
            rated(counted, reviewer, judge, human, reviews)

    @pytest.mark.slow
    def test_ranking_disagreement_beyond_chance_is_significant(self, run: Run, ana: User) -> None:
        self.judged(run, ana, "o1", judged=160, passed=60, records=200)
        self.judged(run, ana, "o3", judged=120, passed=140, records=200)
        [swap] = board(run).ranking_disagreements
        assert (swap.ahead, swap.behind, swap.is_significant) == ("o1", "o3", True)
        assert answer(run).startswith("o3 has the highest pass rate by reviewers: ")
        assert swap.difference.value == pytest.approx(0.4)
        assert board(run).sentences[-1] == (
            "The judge and reviewers rank the two models in opposite order, and the difference is "
            "significant."
        )

    def test_ranking_disagreement_on_few_records_is_not_significant(self, run: Run, ana: User) -> None:
        self.judged(run, ana, "o1", judged=9, passed=5, records=12)
        self.judged(run, ana, "o3", judged=8, passed=7, records=12)
        [swap] = board(run).ranking_disagreements
        assert not swap.is_significant
        assert board(run).sentences[-1].endswith("but the difference is not significant.")
        assert answer(run) == "By the scores of reviewers, any of 2 models may be the best: o3, o1."
        assert swap.p > 0.05

    @pytest.mark.slow
    def test_same_ranking_is_no_disagreement(self, run: Run, ana: User) -> None:
        self.judged(run, ana, "o1", judged=150, passed=100, records=200)
        self.judged(run, ana, "o3", judged=50, passed=20, records=200)
        assert (board(run).ranking_disagreements, board(run).pairs) == ([], 1)

    @pytest.mark.slow
    def test_significance_is_adjusted_for_many_models(self, run: Run, ana: User) -> None:
        """A difference that is significant for two models is not significant among eight."""
        self.judged(run, ana, "o1", judged=60, passed=50, records=100)
        self.judged(run, ana, "o3", judged=55, passed=66, records=100)
        assert [swap.is_significant for swap in board(run).ranking_disagreements] == [True]
        for number in range(6):
            self.judged(run, ana, f"model {number}", judged=57, passed=57, records=100)
        assert not any(swap.is_significant for swap in board(run).ranking_disagreements)


class TestLeaderboardScope:
    def test_leaderboard_filters_by_judge(self, run: Run) -> None:
        stratum(run, {"Pass": 1})
        stratum(run, {"Fail": 3}, judge_llm_model="judge-2")
        [model] = leaderboard.rank_models(JudgeScope(run, judge="judge-2", model="o1")).models
        assert (model.records, model.judge_rate) == (3, 0)

    def test_leaderboard_is_limited_to_its_run(self, run: Run) -> None:
        stratum(RunFactory.create(), {"Pass": 1})
        assert board(run).models == []
        assert encode(report_parts.Leaderboard, board(run))["models"] == []
