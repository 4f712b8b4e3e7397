"""The judge of a run measured against a gold set: figures and hidden records."""

import pytest

from reviews.judge.gold.gold_sets import freeze
from reviews.judge.gold.measurement import list_records, measure
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, GoldSet, Rating, Run, User
from tests.support.gold import CLARITY, judged, rate
from tests.support.rubrics import rubric_data

pytestmark = pytest.mark.django_db


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

    @pytest.mark.slow
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

    @pytest.mark.slow
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
