"""Ranking of evaluated models by the judge's pass rates and by corrected ones."""

import pytest

from reviews.judge import leaderboard
from reviews.judge.leaderboard import Leaderboard, RankedModel
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from tests.support.factories import RunFactory
from tests.support.population import decided, stratum

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def board(run: Run) -> Leaderboard:
    return leaderboard.rank_models(JudgeScope(run))


def only(run: Run) -> RankedModel:
    [model] = board(run).models
    return model


class TestRankedModel:
    def test_judge_rate_covers_all_records_of_a_model(self, run: Run) -> None:
        stratum(run, {"Pass": 30, "Fail": 20, "": 5})
        stratum(run, {"Pass": 50}, is_flagged=False)
        model = only(run)
        assert (model.records, model.judged, model.passes, model.judge_rate) == (105, 100, 80, 0.8)

    def test_estimate_weights_flagged_and_sampled_records(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 100})
        decided(flagged, ana, "Pass", "Fail", 6)
        decided(flagged, ana, "Pass", "Pass", 4)
        others = stratum(run, {"Pass": 800, "Fail": 100}, is_flagged=False)
        decided(others, ana, "Pass", "Pass", 8)
        decided(others, ana, "Fail", "Pass", 1)
        decided(others, ana, "Fail", "Fail", 3)
        model = only(run)
        assert model.estimate.value == pytest.approx((100 * 0.4 + 800 + 100 * 0.25) / 1000)
        assert (model.basis, model.note, model.reviewed, model.estimate.n) == ("measured", "", 22, 22)

    def test_note_says_where_the_judge_is_assumed_to_be_right(self, run: Run, ana: User) -> None:
        decided(stratum(run, {"Pass": 100}), ana, "Pass", "Fail", 100)
        stratum(run, {"Pass": 300, "Fail": 100}, is_flagged=False)
        model = only(run)
        assert model.estimate.value == pytest.approx(300 / 500)
        assert (model.basis, model.measured, model.assumed) == ("assumed", 100, 400)
        assert model.note == (
            "Assumes that the judge is right about 400 unflagged records: none like them was sampled."
        )
        assert any("corrects the flagged part only" in sentence for sentence in board(run).sentences)

    def test_estimate_omits_records_without_any_verdict(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 10, "": 7})
        decided(flagged, ana, "Pass", "Pass", 10)
        model = only(run)
        assert (model.unknown, model.estimate.value) == (7, 1)
        assert model.note.startswith("Omits 7 records without a verdict")

    def test_estimate_counts_human_verdicts_on_records_without_judge_verdict(
        self, run: Run, ana: User
    ) -> None:
        flagged = stratum(run, {"": 4})
        decided(flagged, ana, None, "Pass", 1)
        decided(flagged, ana, None, "Fail", 3)
        model = only(run)
        assert (model.judge_rate, model.estimate.value) == (None, 0.25)

    def test_estimate_has_an_interval_if_all_records_are_reviewed(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 10})
        decided(flagged, ana, "Pass", "Pass", 10)
        estimate = only(run).estimate
        assert estimate.low is not None
        assert estimate.low < estimate.value == 1  # type: ignore[operator]

    def test_estimate_is_undefined_without_reviews(self, run: Run) -> None:
        stratum(run, {"Pass": 10}, model_id="")
        model = only(run)
        assert (model.title, model.basis, model.estimate.value) == ("no model", "nothing", None)
        assert board(run).sentences == (
            "No record is reviewed yet. These are the judge's rates, without correction.",
        )


class TestOrder:
    def test_models_are_ordered_by_estimate_with_both_ranks(self, run: Run, ana: User) -> None:
        for name, passes in (("o1", 5), ("o3", 9)):
            of = stratum(run, {"Pass": 10}, model_id=name)
            decided(of, ana, "Pass", "Pass", passes)
            decided(of, ana, "Pass", "Fail", 10 - passes)
        stratum(run, {"Fail": 10}, model_id="gpt-4o")
        found = board(run).models
        assert [(model.name, model.rank, model.judge_rank) for model in found] == [
            ("o3", 1, 1),
            ("o1", 2, 1),
            ("gpt-4o", None, 3),
        ]


class TestRankingDisagreements:
    def rated(self, run: Run, reviewer: User, name: str, *, judged: int, passed: int, records: int) -> None:
        """Create a model with these pass rates by the judge and by humans."""
        of = stratum(run, {"Pass": judged, "Fail": records - judged}, model_id=name)
        right = min(judged, passed)
        for judge, human, reviews in (
            ("Pass", "Pass", right),
            ("Pass", "Fail", judged - right),
            ("Fail", "Pass", passed - right),
            ("Fail", "Fail", records - judged - passed + right),
        ):
            decided(of, reviewer, judge, human, reviews)

    def test_ranking_disagreement_beyond_chance_is_significant(self, run: Run, ana: User) -> None:
        self.rated(run, ana, "o1", judged=160, passed=60, records=200)
        self.rated(run, ana, "o3", judged=120, passed=140, records=200)
        [swap] = board(run).ranking_disagreements
        assert (swap.ahead, swap.behind, swap.is_significant) == ("o1", "o3", True)
        assert swap.difference.value == pytest.approx(0.4)
        assert board(run).sentences[-1] == (
            "The judge and humans rank 1 of 1 pair of models in opposite order, 1 of them significantly."
        )

    def test_ranking_disagreement_on_few_records_is_not_significant(self, run: Run, ana: User) -> None:
        self.rated(run, ana, "o1", judged=4, passed=2, records=5)
        self.rated(run, ana, "o3", judged=3, passed=3, records=5)
        [swap] = board(run).ranking_disagreements
        assert not swap.is_significant
        assert swap.p > 0.05

    def test_same_ranking_is_no_disagreement(self, run: Run, ana: User) -> None:
        self.rated(run, ana, "o1", judged=150, passed=100, records=200)
        self.rated(run, ana, "o3", judged=50, passed=20, records=200)
        assert (board(run).ranking_disagreements, board(run).pairs) == ((), 1)

    def test_significance_is_adjusted_for_many_models(self, run: Run, ana: User) -> None:
        """A difference that is significant for two models is not significant among twenty."""
        self.rated(run, ana, "o1", judged=60, passed=50, records=100)
        self.rated(run, ana, "o3", judged=55, passed=66, records=100)
        assert [swap.is_significant for swap in board(run).ranking_disagreements] == [True]
        for number in range(18):
            self.rated(run, ana, f"model {number}", judged=57, passed=57, records=100)
        assert not any(swap.is_significant for swap in board(run).ranking_disagreements)


class TestLeaderboardScope:
    def test_leaderboard_filters_by_judge(self, run: Run) -> None:
        stratum(run, {"Pass": 1})
        stratum(run, {"Fail": 3}, judge_llm_model="judge-2")
        [model] = leaderboard.rank_models(JudgeScope(run, judge="judge-2", model="o1")).models
        assert (model.records, model.judge_rate) == (3, 0)

    def test_leaderboard_is_limited_to_its_run(self, run: Run) -> None:
        stratum(RunFactory.create(), {"Pass": 1})
        assert board(run).models == ()
        assert board(run).as_json()["models"] == []
