"""The precision, recall and cost of each flag reason, and the reasons that can be dropped."""

import pytest

from cognireview.types.encoding import encode
from cognireview.types.report_parts import FlagChoice, FlagPrecision, FlagReason
from reviews.judge import data_summary, flag_choice, flag_precision
from reviews.judge.missed_errors import estimate_missed_errors
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, FacetCount, Rating, ReasonCount, Run, RunFacet, Stratum, User
from tests.support.lines import file_of, import_data, line
from tests.support.population import rated, stratum
from tests.support.work import decide, lock_in_scores

pytestmark = pytest.mark.django_db


def measured(run: Run) -> FlagPrecision:
    return flag_precision.measure_flag_precision(JudgeScope(run))


def flagged(run: Run, **families: int) -> Stratum:
    """Create flagged records with a verdict that passes, by the family of their only reason."""
    for family, records in families.items():
        FacetCount.objects.create(run=run, name="reason", value=family, evaluations=records)
        RunFacet.objects.create(run=run, name="reason", value=family, title=family.title())
    return stratum(run, {"Pass": sum(families.values())})


def given(
    counted: Stratum, reviewer: User, family: str, *, wrong: int, ratings: int, is_blind: bool = True
) -> None:
    """Rate records with a flag reason."""
    for human, count in (("Fail", wrong), ("Pass", ratings - wrong)):
        made = rated(counted, reviewer, "Pass", human, count, is_blind=is_blind)
        type(made[0]).objects.filter(pk__in=[one.pk for one in made]).update(
            families=[family]
        ) if made else None


def only(run: Run, reviewer: User, *, wrong: int, ratings: int, minutes: float = 0) -> FlagReason:
    """Return the only flag reason of a run, with these ratings and as many timed decisions."""
    given(flagged(run, parsing=1000), reviewer, "parsing", wrong=wrong, ratings=ratings)
    ReasonCount.objects.create(
        run=run,
        reviewer=reviewer,
        family="parsing",
        reviews=ratings,
        timed=ratings if minutes else 0,
        active_ms=minutes * 60_000,
    )
    [family] = measured(run).families
    return family


class TestFlagReason:
    def test_flag_reason_counts_blind_ratings_of_its_records(self, ana: User) -> None:
        done = import_data(
            file_of(
                line("a", review_reasons=["Parsing failed at line 3", "Sampled"], aggregated_score="Pass"),
                line("b", review_reasons=["Parsing failed at line 9"], aggregated_score="Pass"),
                line("c", review_reasons=["Parsing failed at line 1"], aggregated_score="Pass"),
            )
        )
        for name, score in (("a", "No"), ("b", "Yes")):
            lock_in_scores(Evaluation.objects.get(evaluation_id=name), ana, {"Clarity": score})
        parsing, sampled = measured(done.target_run).families
        assert (parsing.title, parsing.flagged, parsing.ratings, parsing.wrong) == ("Parsing failed", 3, 2, 1)
        assert parsing.precision.value == 0.5
        assert (sampled.title, sampled.flagged, sampled.ratings, sampled.wrong) == ("Sampled", 1, 1, 1)

    def test_decisions_of_reviewers_who_saw_the_judges_scores_do_not_count(self, ana: User) -> None:
        run = import_data(file_of(line("a"))).target_run
        scores = {"Clarity": {"score": "No", "justification": ""}}
        decide(
            Evaluation.objects.get(),
            ana,
            scores=scores,
            origins={},
            judged={"Clarity": "Yes"},
            active_ms=90_000,
        )
        [family] = measured(run).families
        assert (family.flagged, family.ratings, family.precision.value) == (1, 0, None)
        assert family.timed == 1

    def test_recall_is_uncertain_with_few_sampled_ratings(self, run: Run, ana: User) -> None:
        """Five sampled ratings without an error leave many missed errors possible."""
        counted = flagged(run, parsing=50, verifier=50)
        given(counted, ana, "parsing", wrong=8, ratings=12)
        given(counted, ana, "verifier", wrong=2, ratings=12)
        rated(stratum(run, {"Pass": 900}, is_flagged=False), ana, "Pass", "Pass", 5)
        parsing, verifier = (one.recall for one in measured(run).families)
        assert [parsing.value, verifier.value] == pytest.approx([0.8, 0.2])
        assert (parsing.low or 1) < 0.1
        assert (verifier.low or 1) < 0.02

    @pytest.mark.slow
    def test_recall_is_the_share_of_all_errors_on_records_with_the_reason(self, run: Run, ana: User) -> None:
        counted = flagged(run, parsing=100, verifier=100)
        given(counted, ana, "parsing", wrong=10, ratings=50)
        given(counted, ana, "verifier", wrong=30, ratings=50)
        assert [one.recall.value for one in measured(run).families] == [
            pytest.approx(0.25),
            pytest.approx(0.75),
        ]
        others = stratum(run, {"Pass": 800}, is_flagged=False)
        assert [one.recall.why for one in measured(run).families] == [
            "No unflagged record has a blind rating with a verdict."
        ] * 2
        rated(others, ana, "Pass", "Fail", 4)
        rated(others, ana, "Pass", "Pass", 36)
        # 80 wrong verdicts are flagged, and 80 are not.
        parsing, verifier = measured(run).families
        assert [one.recall.value for one in (parsing, verifier)] == pytest.approx([0.125, 0.375])
        assert [one.precision.value for one in (parsing, verifier)] == pytest.approx([0.2, 0.6])

    @pytest.mark.slow
    def test_only_the_reasons_with_most_records_are_measured(
        self, run: Run, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(flag_precision, "MOST_REASONS", 2)
        monkeypatch.setattr(data_summary, "MOST_REASONS", 2)
        counted = flagged(run, rare=1, frequent=50, common=20)
        given(counted, ana, "frequent", wrong=3, ratings=10)
        given(counted, ana, "rare", wrong=1, ratings=1)
        found = measured(run)
        assert [(one.key, one.ratings, one.wrong) for one in found.families] == [
            ("frequent", 10, 3),
            ("common", 0, 0),
        ]
        assert found.left_out == 1
        chosen = flag_choice.choose_flags(JudgeScope(run))
        assert (chosen.left_out, chosen.steps[0].kept) == (1, ["Frequent", "Common"])

    def test_reason_with_most_flagged_records_comes_first(self, run: Run) -> None:
        flagged(run, rare=2, common=50)
        assert [family.key for family in measured(run).families] == ["common", "rare"]


class TestMinutesPerError:
    def test_minutes_per_error_divide_time_by_precision(self, run: Run, ana: User) -> None:
        """Twenty reviews of three minutes find four errors."""
        assert only(run, ana, wrong=4, ratings=20, minutes=60).minutes_per_error == pytest.approx(15)

    def test_minutes_per_error_without_an_error_give_the_time_spent(self, run: Run, ana: User) -> None:
        family = only(run, ana, wrong=0, ratings=20, minutes=60)
        assert family.minutes_per_error is None
        assert family.minutes_why == "No wrong verdict found in 60 active minutes."

    def test_minutes_per_error_without_timed_reviews_are_none(self, run: Run, ana: User) -> None:
        family = only(run, ana, wrong=2, ratings=20)
        assert family.minutes_per_error is None
        assert family.minutes_why == "No review of a record with this reason was timed."


class TestAdvice:
    @pytest.mark.parametrize(
        ("wrong", "ratings", "advice"),
        [
            (0, 0, "not enough data"),
            (1, 1, "not enough data"),
            (9, 9, "not enough data"),  # however they came out: fewer than ten
            (8, 20, "keep"),
            (10, 10, "keep"),
            (2, 20, "not enough data"),
            (0, 30, "not enough data"),
            (0, 60, "retire"),
            (5, 200, "retire"),
        ],
    )
    def test_advice_follows_the_interval(
        self, run: Run, ana: User, wrong: int, ratings: int, advice: str
    ) -> None:
        family = only(run, ana, wrong=wrong, ratings=ratings)
        assert family.advice == advice
        assert family.because.lower().startswith(advice)
        assert ("includes one in 10" in family.because) == (advice == "not enough data" and ratings >= 10)

    def test_advice_has_its_rule(self, run: Run) -> None:
        reasons = measured(run)
        assert reasons.families == []
        assert "one in 10" in reasons.rule
        assert encode(FlagPrecision, reasons)["rule"] == reasons.rule


class TestFlagChoice:
    @pytest.fixture
    def rated_run(self, run: Run, ana: User) -> Run:
        """Create 200 flagged records of a useless reason, 100 of a useful one, and 700 others."""
        counted = flagged(run, useless=200, useful=100)
        given(counted, ana, "useless", wrong=2, ratings=150)
        given(counted, ana, "useful", wrong=60, ratings=90)
        given(counted, ana, "useless", wrong=0, ratings=20, is_blind=False)
        given(counted, ana, "useful", wrong=9, ratings=10, is_blind=False)
        others = stratum(run, {"Pass": 700}, is_flagged=False)
        rated(others, ana, "Pass", "Fail", 6)
        rated(others, ana, "Pass", "Pass", 294)
        return run

    def chosen(self, run: Run, limit: float) -> FlagChoice:
        return flag_choice.choose_flags(JudgeScope(run), limit)

    @pytest.mark.slow
    def test_reasons_are_dropped_while_the_limit_is_kept(self, rated_run: Run) -> None:
        found = self.chosen(rated_run, 0.06)
        assert [(step.dropped, step.kept, step.is_shown) for step in found.steps] == [
            (None, ["Useless", "Useful"], True),
            ("Useless", ["Useful"], True),
            ("Useful", [], False),
        ]
        assert [step.flagged for step in found.steps] == pytest.approx([300, 112, 0], abs=1)
        start, without_useless, without_any = (step.error_rate.value for step in found.steps)
        assert start == pytest.approx(0.02)
        assert without_useless == pytest.approx((700 * 0.02 + 300 * 2 / 240) / (700 + 300 * 150 / 240))
        assert without_any == pytest.approx((700 * 0.02 + 300 * 62 / 240) / 1000)
        assert found.sentence.startswith("You can drop Useless: about 188 fewer records to review")

    @pytest.mark.slow
    def test_all_reasons_are_kept_if_none_is_shown_to_be_useless(self, run: Run, ana: User) -> None:
        given(flagged(run, useful=100), ana, "useful", wrong=60, ratings=90)
        rated(stratum(run, {"Pass": 400}, is_flagged=False), ana, "Pass", "Pass", 300)
        found = self.chosen(run, 0.05)
        assert found.steps[0].is_shown
        assert found.sentence.startswith("Keep all reasons")

    @pytest.mark.slow
    def test_limit_that_is_not_shown_with_all_reasons_drops_none(self, rated_run: Run) -> None:
        found = self.chosen(rated_run, 0.01)
        assert [step.is_shown for step in found.steps] == [False]
        assert found.sentence == (
            "It is not shown that fewer than 1% of the verdicts on unflagged records are wrong."
        )

    @pytest.mark.slow
    def test_records_flagged_without_a_reason_stay_flagged(self, rated_run: Run, ana: User) -> None:
        counted = Stratum.objects.get(run=rated_run, is_flagged=True)
        Rating.objects.filter(pk=rated(counted, ana, "Pass", "Fail", 1)[0].pk).update(families=[])
        start = self.chosen(rated_run, 0.06).steps[0]
        assert start.error_rate.value == pytest.approx(0.02)
        assert (start.error_rate.n, start.flagged) == (300, 300)

    @pytest.mark.slow
    def test_error_rate_with_all_reasons_is_the_miss_rate(self, rated_run: Run) -> None:
        missed = estimate_missed_errors(JudgeScope(rated_run))
        assert self.chosen(rated_run, 0.06).steps[0].error_rate == missed.miss_rate

    @pytest.mark.slow
    def test_reasons_of_a_run_that_is_flagged_as_a_whole_can_be_dropped(self, run: Run, ana: User) -> None:
        counted = flagged(run, useless=300, useful=100)
        given(counted, ana, "useless", wrong=0, ratings=200)
        given(counted, ana, "useful", wrong=60, ratings=90)
        given(counted, ana, "useless", wrong=0, ratings=20, is_blind=False)
        given(counted, ana, "useful", wrong=9, ratings=10, is_blind=False)
        found = self.chosen(run, 0.05)
        assert [(step.dropped, step.is_shown) for step in found.steps] == [
            (None, True),
            ("Useless", True),
            ("Useful", False),
        ]
        assert found.steps[0].error_rate.why == "Every record with a verdict is flagged."

    def test_nothing_is_dropped_without_ratings_of_unflagged_records(self, run: Run, ana: User) -> None:
        given(flagged(run, parsing=100), ana, "parsing", wrong=1, ratings=50)
        stratum(run, {"Pass": 500}, is_flagged=False)
        assert not self.chosen(run, 0.5).steps[0].is_shown

    def test_run_without_reasons_has_none_to_drop(self, run: Run, ana: User) -> None:
        rated(stratum(run, {"Pass": 40}, is_flagged=False), ana, "Pass", "Pass", 20)
        found = self.chosen(run, 0.1)
        assert (found.steps, found.sentence) == ([], "No record of the run has a flag reason.")

    def test_run_without_ratings_says_so(self, run: Run) -> None:
        flagged(run, parsing=100)
        assert self.chosen(run, 0.1).sentence == (
            "No record with a verdict by the judge has a blind rating with a verdict yet."
        )
