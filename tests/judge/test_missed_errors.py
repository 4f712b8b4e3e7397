"""Errors that the flags miss, estimated from a random sample of unflagged records."""

import pytest

from reviews.judge import missed_errors
from reviews.judge.missed_errors import MissedErrors
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from reviews.statistics.intervals import wilson
from tests.support.factories import RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.population import decided, stratum
from tests.support.work import decide

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create(sample_share=0.1)


def escapes(run: Run) -> MissedErrors:
    return missed_errors.estimate_missed_errors(JudgeScope(run))


class TestMissRate:
    def test_miss_rate_weights_strata_by_their_records(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 900, "Fail": 100}, is_flagged=False)
        decided(others, ana, "Pass", "Fail", 1)
        decided(others, ana, "Pass", "Pass", 9)
        decided(others, ana, "Fail", "Pass", 5)
        decided(others, ana, "Fail", "Fail", 5)
        found = escapes(run)
        assert found.miss_rate.share.value == pytest.approx(0.9 * 1 / 10 + 0.1 * 5 / 10)
        assert found.missed.value == pytest.approx(140)
        assert (found.records, found.reviewed) == (1000, 20)

    def test_miss_rate_ignores_picked_records(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 100}, is_flagged=False)
        decided(others, ana, "Pass", "Fail", 7, is_sampled=False)
        found = escapes(run)
        assert found.miss_rate.share.value is None
        assert found.unsampled == 7
        assert "Not counted: 7 reviews" in found.sentences[-1]

    def test_miss_rate_ignores_records_without_judge_verdict(self, run: Run, ana: User) -> None:
        others = stratum(run, {"": 50, "Pass": 50}, is_flagged=False)
        decided(others, ana, None, "Fail", 3)
        decided(others, ana, "Pass", "Pass", 4)
        assert (escapes(run).records, escapes(run).miss_rate.share.value) == (50, 0)

    def test_miss_rate_names_strata_without_reviews(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 90, "Fail": 10}, is_flagged=False)
        decided(others, ana, "Pass", "Pass", 9)
        assert any(sentence.startswith("Unflagged: Covers 90 of 100") for sentence in escapes(run).sentences)

    def test_miss_rate_warns_about_assisted_reviews(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 90}, is_flagged=False)
        decided(others, ana, "Pass", "Pass", 2, is_blind=True)
        decided(others, ana, "Pass", "Pass", 1)
        assert any(
            sentence.startswith("1 of these reviews is assisted") for sentence in escapes(run).sentences
        )


class TestFlagRecall:
    def test_flag_recall_is_the_flagged_share_of_wrong_verdicts(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 100})
        decided(flagged, ana, "Pass", "Fail", 30)
        decided(flagged, ana, "Pass", "Pass", 70)
        others = stratum(run, {"Pass": 900}, is_flagged=False)
        decided(others, ana, "Pass", "Fail", 10)
        decided(others, ana, "Pass", "Pass", 80)
        recall = escapes(run).flag_recall
        assert recall.value == pytest.approx(30 / (30 + 100))
        assert recall.low is not None
        assert recall.high is not None
        assert 0 < recall.low < 30 / 130 < recall.high < 1

    def test_flag_recall_extrapolates_reviewed_flagged_records(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 200})
        decided(flagged, ana, "Pass", "Fail", 10)
        decided(flagged, ana, "Pass", "Pass", 10)
        others = stratum(run, {"Pass": 1000}, is_flagged=False)
        decided(others, ana, "Pass", "Fail", 1)
        decided(others, ana, "Pass", "Pass", 9)
        found = escapes(run)
        assert found.flag_recall.value == pytest.approx(100 / (100 + 100))
        assert "180 unreviewed flagged records are assumed to be like the reviewed ones." in found.sentences


class TestCriterionMissRates:
    def test_criterion_miss_rates_count_wrong_scores_in_sampled_records(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 100}, is_flagged=False)
        decided(others, ana, '"Yes"', '"No"', 3, criterion="Rigor")
        decided(others, ana, '"Yes"', '"Yes"', 7, criterion="Rigor")
        decided(others, ana, '"Yes"', None, 1, criterion="Clarity")
        decided(others, ana, "null", '"No"', 5, criterion="Clarity")
        decided(others, ana, "4", "4.0", 2, criterion="Grade")
        decided(stratum(run, {"Pass": 10}), ana, '"Yes"', '"No"', 9, criterion="Rigor")
        found = {one.title: one.miss_rate for one in escapes(run).criteria}
        assert found == {
            "Clarity": wilson(1, 1, "sampled records"),
            "Rigor": wilson(3, 10, "sampled records"),
            "Grade": wilson(0, 2, "sampled records"),
        }


class TestWithoutSample:
    def test_miss_rate_is_unknown_without_a_sample(self, run: Run, ana: User) -> None:
        run.sample_share = 0
        stratum(run, {"Pass": 100}, is_flagged=False)
        found = escapes(run)
        assert found.miss_rate.share.value is None
        assert found.flag_recall.value is None
        [sentence] = found.sentences
        assert sentence.startswith("None of 100 unflagged records is sampled. Their error rate is unkn")
        assert sentence.endswith("Set a share under “Sampling and blind review”.")

    def test_miss_rate_is_unknown_without_reviews(self, run: Run) -> None:
        stratum(run, {"Pass": 100}, is_flagged=False)
        [sentence] = escapes(run).sentences
        assert sentence.startswith("None of 100 unflagged records is sampled and reviewed yet")

    def test_flags_miss_nothing_if_every_record_is_flagged(self, run: Run, ana: User) -> None:
        decided(stratum(run, {"Pass": 10}), ana, "Pass", "Fail", 10)
        found = escapes(run)
        assert found.sentences[0].startswith("Every record with a verdict is flagged")
        assert found.flagged_error_rate.share.value == 1
        assert found.flag_recall.why == "Every record with a verdict is flagged."

    def test_flag_recall_of_an_empty_run_is_undefined(self, run: Run) -> None:
        assert escapes(run).as_json()["flag_recall"]["value"] is None


class TestSampledDecisions:
    def test_confirmed_and_corrected_samples_give_a_miss_rate(self, ana: User) -> None:
        """Compute the miss rate from an imported file with two unflagged records, one of them wrong."""
        other = {"needs_human_review": False, "human_review_status": "Not Required", "review_reasons": []}
        run = import_data(file_of(line("a", **other), line("b", **other), line("c"))).target_run
        for name, score in (("a", "Yes"), ("b", "No")):
            Evaluation.objects.filter(evaluation_id=name).update(
                is_sampled=True, human_review_status="Needs Review"
            )
            record = Evaluation.objects.get(evaluation_id=name)
            scores = {"Clarity": {"score": score, "justification": ""}}
            decide(record, ana, scores=scores, origins={"Clarity": "judge"}, judged={"Clarity": "Yes"})
        found = escapes(run)
        assert (found.records, found.reviewed, found.miss_rate.share.value) == (2, 2, 0.5)
