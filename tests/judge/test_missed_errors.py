"""Errors that the flags miss, estimated from a random sample of unflagged records."""

import pytest

from cognireview.types import report_parts
from cognireview.types.encoding import encode
from cognireview.types.estimates import Estimate, Part
from reviews.judge import missed_errors
from reviews.judge.accuracy import compare_with_humans
from reviews.judge.flag_choice import choose_flags
from reviews.judge.missed_errors import MissedErrors
from reviews.judge.planning import plan_reviews
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from reviews.records.scales import RangeScale
from reviews.statistics.intervals import complement
from tests.support.factories import RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.population import rated, stratum
from tests.support.rubrics import rubric_data
from tests.support.work import lock_in_scores

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(sample_share=0.1)


def missed(run: Run) -> MissedErrors:
    return missed_errors.estimate_missed_errors(JudgeScope(run))


class TestMissRate:
    def test_miss_rate_weights_strata_by_their_records(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 900, "Fail": 100}, is_flagged=False)
        rated(others, ana, "Pass", "Fail", 1)
        rated(others, ana, "Pass", "Pass", 9)
        rated(others, ana, "Fail", "Pass", 5)
        rated(others, ana, "Fail", "Fail", 5)
        found = missed(run)
        assert found.miss_rate.value == pytest.approx(0.9 * 1 / 10 + 0.1 * 5 / 10)
        assert found.missed.value == pytest.approx(140)
        assert (found.records, found.ratings) == (1000, 20)

    def test_miss_rate_ignores_records_that_were_not_sampled(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 100}, is_flagged=False)
        rated(others, ana, "Pass", "Fail", 7, is_sampled=False)
        found = missed(run)
        assert found.miss_rate.value is None
        assert found.unsampled == 7
        assert "Not counted: 7 blind ratings" in found.sentences[-1]

    def test_miss_rate_ignores_records_without_judge_verdict(self, run: Run, ana: User) -> None:
        others = stratum(run, {"": 50, "Pass": 50}, is_flagged=False)
        rated(others, ana, None, "Fail", 3)
        rated(others, ana, "Pass", "Pass", 4)
        assert (missed(run).records, missed(run).miss_rate.value) == (50, 0)

    def test_miss_rate_ignores_assisted_ratings(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 90}, is_flagged=False)
        rated(others, ana, "Pass", "Pass", 12)
        rated(others, ana, "Pass", "Fail", 10, is_blind=False)
        assert (missed(run).ratings, missed(run).miss_rate.value) == (12, 0)

    def test_miss_rate_weights_ratings_by_their_probability(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 1000}, is_flagged=False)
        rated(others, ana, "Pass", "Fail", 10, probability=0.05)
        rated(others, ana, "Pass", "Pass", 10, probability=0.01)
        assert missed(run).miss_rate.value == pytest.approx(200 / 1200)

    @pytest.mark.slow
    def test_error_rates_and_plan_have_the_intervals_of_the_accuracy(self, run: Run, ana: User) -> None:
        for is_flagged in (True, False):
            records = stratum(run, {"Pass": 60, "Partial": 20, "Fail": 20}, is_flagged=is_flagged)
            for human, ratings in (("Pass", 9), ("Partial", 2), ("Fail", 1 + is_flagged)):
                rated(records, ana, "Pass", human, ratings)
            rated(records, ana, "Partial", "Pass", 3)
        accuracy = compare_with_humans(JudgeScope(run))
        rates: dict[Part, Estimate] = {
            "flagged": missed(run).flagged_error_rate,
            "unflagged": missed(run).miss_rate,
        }
        for part, wrong in rates.items():
            figures = accuracy.find(None, "blind", part)
            assert figures is not None
            right = complement(figures.accuracy)
            assert (wrong.value, wrong.low, wrong.high) == pytest.approx((right.value, right.low, right.high))
        assert accuracy.headline is not None
        whole = plan_reviews(JudgeScope(run)).parts[0].accuracy
        assert (whole.low, whole.high) == pytest.approx(
            (accuracy.headline.accuracy.low, accuracy.headline.accuracy.high)
        )


class TestFlagRecall:
    @pytest.mark.slow
    def test_flag_recall_is_the_flagged_share_of_wrong_verdicts(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 100})
        rated(flagged, ana, "Pass", "Fail", 30)
        rated(flagged, ana, "Pass", "Pass", 70)
        others = stratum(run, {"Pass": 900}, is_flagged=False)
        rated(others, ana, "Pass", "Fail", 10)
        rated(others, ana, "Pass", "Pass", 80)
        recall = missed(run).flag_recall
        assert recall.value == pytest.approx(30 / (30 + 100))
        assert recall.low is not None
        assert recall.high is not None
        assert 0 < recall.low < 30 / 130 < recall.high < 1

    def test_flag_recall_extrapolates_reviewed_flagged_records(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 200})
        rated(flagged, ana, "Pass", "Fail", 10)
        rated(flagged, ana, "Pass", "Pass", 10)
        others = stratum(run, {"Pass": 1000}, is_flagged=False)
        rated(others, ana, "Pass", "Fail", 1)
        rated(others, ana, "Pass", "Pass", 9)
        found = missed(run)
        assert found.flag_recall.value == pytest.approx(100 / (100 + 100))

    def test_flag_recall_is_uncertain_with_few_sampled_ratings(self, run: Run, ana: User) -> None:
        """Five sampled ratings without an error leave many missed errors possible."""
        flagged = stratum(run, {"Pass": 100})
        rated(flagged, ana, "Pass", "Fail", 10)
        rated(flagged, ana, "Pass", "Pass", 10)
        rated(stratum(run, {"Pass": 900}, is_flagged=False), ana, "Pass", "Pass", 5)
        recall = missed(run).flag_recall
        assert (recall.value, recall.high) == (1, 1)
        assert (recall.low or 1) < 50 / (50 + 900 * 0.4)


class TestCriterionMissRates:
    def test_criterion_miss_rates_count_wrong_scores_in_sampled_records(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 100}, is_flagged=False)
        rated(others, ana, '"Yes"', '"No"', 3, criterion="Rigor", verdict="Pass")
        rated(others, ana, '"Yes"', '"YES"', 7, criterion="Rigor", verdict="Pass")
        rated(others, ana, '"Yes"', None, 1, criterion="Clarity", verdict="Pass")
        rated(others, ana, "null", '"No"', 5, criterion="Clarity", verdict="Pass")
        rated(others, ana, "4", "4.0", 2, criterion="Grade", verdict="Pass")
        rated(stratum(run, {"Pass": 10}), ana, '"Yes"', '"No"', 9, criterion="Rigor", verdict="Pass")
        found = {one.criterion: (one.miss_rate.value, one.miss_rate.n) for one in missed(run).criteria}
        assert found == {"Clarity": (1, 1), "Rigor": (0.3, 10), "Grade": (0, 2)}

    def test_criterion_miss_rates_compare_many_numbers_as_fifths_of_their_range(
        self, run: Run, ana: User
    ) -> None:
        run.rubric = rubric_data("Depth", scale=RangeScale(0, 1, is_integer=False))
        run.save()
        others = stratum(run, {"Pass": 100}, is_flagged=False)
        for number in range(20):
            rated(
                others, ana, f"{number / 20}", f"{number / 20 + 0.01}", 1, criterion="Depth", verdict="Pass"
            )
        rated(others, ana, "0.1", "0.9", 5, criterion="Depth", verdict="Pass")
        found = missed(run)
        assert [(one.miss_rate.value, one.miss_rate.n) for one in found.criteria] == [(5 / 25, 25)]
        assert found.sentences[-1].startswith("Depth: scores count as equal if they are in the same fifth")

    def test_single_rating_counts_as_one_independent_rating(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 5}, is_flagged=False), ana, "Pass", "Fail", 1)
        found = missed(run)
        assert (found.miss_rate.n, found.miss_rate.design_effect) == (1, 1)
        assert found.sentences[0] == "1 blind rating of sampled records represents 5 unflagged records."


class TestWithoutSample:
    def test_miss_rate_is_unknown_without_a_sample(self, run: Run, ana: User) -> None:
        run.sample_share = 0
        stratum(run, {"Pass": 100}, is_flagged=False)
        found = missed(run)
        assert found.miss_rate.value is None
        assert found.flag_recall.value is None
        [sentence] = found.sentences
        assert sentence.startswith("None of 100 unflagged records is sampled. Their error rate is unkn")
        assert sentence.endswith("Set a share under “Sampling and blind review”.")

    def test_miss_rate_is_unknown_without_reviews(self, run: Run) -> None:
        stratum(run, {"Pass": 100}, is_flagged=False)
        [sentence] = missed(run).sentences
        assert sentence.startswith("None of 100 unflagged records has a blind rating yet")

    def test_ratings_without_a_verdict_by_the_reviewer_are_named(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 100}, is_flagged=False)
        rated(others, ana, "Pass", None, 12)
        found = missed(run)
        assert (found.miss_rate.value, found.miss_rate.why) == (
            None,
            "No unflagged record has a blind rating with a verdict.",
        )
        first, second = found.sentences
        assert first.startswith("None of 100 unflagged records has a blind rating with a verdict, so their")
        assert second == "Not counted: 12 blind ratings without a verdict by the reviewer."
        rated(others, ana, "Pass", "Fail", 10)
        assert missed(run).sentences[1] == second

    def test_flags_miss_nothing_if_every_record_is_flagged(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 10}), ana, "Pass", "Fail", 10)
        found = missed(run)
        assert found.sentences[0].startswith("Every record with a verdict is flagged")
        assert found.flagged_error_rate.value == 1
        assert found.flag_recall.why == "Every record with a verdict is flagged."

    def test_flags_of_a_run_without_any_have_no_recall(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 40}, is_flagged=False), ana, "Pass", "Fail", 20)
        found = missed(run)
        assert found.miss_rate.value == 1
        assert found.flag_recall.why == found.flagged_error_rate.why == "No record with a verdict is flagged."

    def test_flags_miss_an_unknown_number_if_no_unflagged_record_can_be_sampled(self) -> None:
        done = import_data(
            file_of(
                line("a", needs_human_review=True, aggregated_score="Pass"),
                line("b", needs_human_review=False, human_review_status="Completed", aggregated_score="Pass"),
            )
        )
        found = missed(done.target_run)
        assert found.sentences[0] == "No unflagged record can be sampled. What the flags miss is unknown."
        assert found.miss_rate.why == "No unflagged record can be sampled."
        assert not choose_flags(JudgeScope(done.target_run)).steps

    def test_flags_miss_an_unknown_number_if_no_record_has_a_verdict(self, run: Run) -> None:
        stratum(run, {"": 10}, is_flagged=False)
        found = missed(run)
        assert [found.miss_rate.why, *found.sentences] == ["No record has a verdict by the judge."] * 2

    def test_flag_recall_of_an_empty_run_is_undefined(self, run: Run) -> None:
        assert encode(report_parts.MissedErrors, missed(run))["flag_recall"]["value"] is None


class TestLockedInScores:
    def test_blind_scores_of_sampled_records_give_a_miss_rate(self, ana: User) -> None:
        """Compute the miss rate from an imported file with two unflagged records, one of them wrong."""
        other = {"needs_human_review": False, "human_review_status": "Not Required", "review_reasons": []}
        run = import_data(file_of(line("a", **other), line("b", **other), line("c"))).target_run
        run.evaluations.filter(needs_human_review=False).update(is_sampled=True, sample_probability=1)
        for record, score in zip(run.evaluations.filter(is_sampled=True), ("Yes", "No"), strict=True):
            lock_in_scores(record, ana, {"Clarity": score})
        found = missed(run)
        assert (found.records, found.ratings, found.miss_rate.value) == (2, 2, 0.5)
