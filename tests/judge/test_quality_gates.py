"""Quality gates: their syntax, and the confidence sequences that decide them."""

from contextlib import suppress
from itertools import chain, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cognireview.types.estimates import Estimate
from reviews.judge import accuracy_figures, quality_gates, report, reviewer_agreement
from reviews.judge.quality_gates import GateResult, InvalidRequirement, parse_requirement
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.statistics.betting import share_sequence
from reviews.statistics.intervals import undefined, wilson
from tests.support.factories import RunFactory, UserFactory
from tests.support.population import rated, stratum

CLARITY = "Clarity of the proof"
KINDS = ["", "flagged", "unflagged", "assisted", "assisted flagged", "assisted unflagged"]
JUDGED = [" ".join(words).strip() for words in product(KINDS, accuracy_figures.FIGURES)]
AMONG_REVIEWERS = [f"reviewers {figure}" for figure in reviewer_agreement.FIGURES]
FLAGS = ["miss_rate", "flag_precision", "flag_recall"]


class TestRequirement:
    @pytest.mark.parametrize("figure", [*JUDGED, *AMONG_REVIEWERS, *FLAGS])
    def test_requirement_accepts_every_figure_of_the_report(self, figure: str) -> None:
        assert parse_requirement(f"{figure} >= 0.5").words == tuple(figure.split())

    @pytest.mark.parametrize(
        ("text", "criterion", "at_least", "bar"),
        [
            ("flagged kappa >= 0.6", None, True, 0.6),
            ("  assisted  flagged kappa<=.6 ", None, False, 0.6),
            (f"flagged kappa of {CLARITY} >= 1", CLARITY, True, 1.0),
            ("unflagged leniency of a >= b <= -0.25", "a >= b", False, -0.25),
        ],
    )
    def test_requirement_is_parsed_from_text(
        self, text: str, criterion: str | None, at_least: bool, bar: float
    ) -> None:
        found = parse_requirement(text)
        assert (found.criterion, found.at_least, found.limit) == (criterion, at_least, bar)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "not of the form METRIC >= LIMIT"),
            ("flagged kappa = 0.6", "not of the form METRIC >= LIMIT"),
            ("flagged kappa\n>= 0.6", "not of the form METRIC >= LIMIT"),
            (
                "blind kappa >= 0.6",
                "names an unknown metric. Known metrics: [assisted] [flagged|unflagged] accuracy|",
            ),
            ("sampled kappa >= 0.6", "names an unknown metric"),
            ("flagged assisted kappa >= 0.6", "names an unknown metric"),
            ("flagged table >= 0.6", "names an unknown metric"),
            ("flagged >= 0.6", "names an unknown metric"),
            ("flagged miss_rate <= 0.6", "names an unknown metric"),
            ("miss_rate of Clarity <= 0.6", "names an unknown metric"),
            ("__class__ <= 0.6", "names an unknown metric"),
            ("flagged kappa >= 60 %", "has no limit from -1 to 1"),
            ("flagged kappa >= 60", "has no limit from -1 to 1"),
            ("flagged kappa >= nan", "has no limit from -1 to 1"),
            ("flagged kappa >= 1e-1", "has no limit from -1 to 1"),
            ("flagged kappa >= ²", "has no limit from -1 to 1"),
            ("flagged kappa >=", "has no limit from -1 to 1"),
        ],
    )
    def test_invalid_requirement_is_rejected_with_the_known_forms(self, text: str, sentence: str) -> None:
        with pytest.raises(InvalidRequirement) as refused:
            parse_requirement(text)
        assert sentence in str(refused.value)

    @given(st.text() | st.lists(st.sampled_from([*"<>=. 09-", "flagged kappa", " of "])).map("".join))
    def test_any_text_is_parsed_or_rejected(self, text: str) -> None:
        with suppress(InvalidRequirement):
            assert -1 <= parse_requirement(text).limit <= 1


def checked(text: str, value: float, low: float, high: float, n: int = 40) -> GateResult:
    return GateResult(parse_requirement(text), Estimate(value, low, high, n))


class TestGateResult:
    @pytest.mark.parametrize(
        ("text", "low", "high", "outcome"),
        [
            ("flagged kappa >= 0.6", 0.6, 0.8, "met"),
            ("flagged kappa >= 0.6", 0.6, 0.6, "met"),
            ("flagged kappa >= 0.6", 0.6 - 1e-15, 0.8, "met"),
            ("flagged kappa >= 0.6", 0.59, 0.8, "not shown yet"),
            ("flagged kappa >= 0.6", 0.2, 0.6, "not shown yet"),
            ("flagged kappa >= 0.6", 0.2, 0.5999, "shown worse"),
            ("flag_recall >= 0.6", 0.5, 0.5, "shown worse"),
            ("flagged false_pass <= 0.1", 0.01, 0.1, "met"),
            ("flagged false_pass <= 0.1", 0.1 + 1e-16, 0.1 + 1e-16, "met"),
            ("flagged false_pass <= 0.1", 0.01, 0.11, "not shown yet"),
            ("flagged false_pass <= 0.1", 0.1, 0.11, "not shown yet"),
            ("miss_rate <= 0.1", 0.11, 0.2, "shown worse"),
        ],
    )
    def test_limit_is_compared_with_the_confidence_sequence(
        self, text: str, low: float, high: float, outcome: str
    ) -> None:
        found = checked(text, (low + high) / 2, low, high)
        assert found.outcome == outcome
        assert (
            quality_gates.worst_outcome([found]).status
            == {"met": 0, "shown worse": 1, "not shown yet": 2}[outcome]
        )

    @pytest.mark.parametrize(
        "estimate",
        [
            undefined("Nobody said anything."),
            undefined("All 40 pairs are Yes on both sides.", 40),
            Estimate(3.0, 1.0, None, 40, "The divisor may be 0."),
            wilson(9, 9),
            wilson(0, 9),
        ],
    )
    def test_undefined_or_thin_figure_is_not_shown_yet(self, estimate: Estimate) -> None:
        found = GateResult(parse_requirement("flagged accuracy >= 0.5"), estimate)
        assert (found.outcome, quality_gates.worst_outcome([found]).status) == ("not shown yet", 2)

    def test_gate_sentence_has_figure_interval_and_n(self) -> None:
        assert checked(f"flagged kappa of {CLARITY} >= 0.6", 0.7, 0.55, 0.85).sentence == (
            f"not shown yet: flagged kappa of {CLARITY}: 0.700, 95% at any time from 0.550 to 0.850; "
            "n = 40; required: at least 0.6"
        )
        assert checked("miss_rate <= 0.05", 0, 0, 0.3, n=9).sentence == (
            "not shown yet: miss_rate: 0.000, 95% at any time from 0.000 to 0.300, but 10 ratings are "
            "needed; n = 9; required: at most 0.05"
        )
        none = GateResult(parse_requirement("flagged kappa >= 0.6"), undefined("There are none."))
        assert none.sentence == (
            "not shown yet: flagged kappa of the verdict: There are none; n = 0; required: at least 0.6"
        )

    def test_shown_worse_is_worse_than_not_shown_yet(self) -> None:
        missed = checked("miss_rate <= 0.05", 0.5, 0.4, 0.6)
        unknown = GateResult(missed.requirement, undefined("There are none."))
        met = checked("miss_rate <= 0.5", 0.1, 0.0, 0.2)
        assert quality_gates.worst_outcome([met, unknown, missed]).status == 1
        assert quality_gates.worst_outcome([met, unknown]).status == 2
        assert quality_gates.worst_outcome([met]).status == quality_gates.worst_outcome([]).status == 0


def sequence(hits: int, n: int) -> tuple[float | None, float | None, int]:
    """The limits of a share of records that all have the same weight, each in a task of its own."""
    found = share_sequence((np.arange(n) < hits).astype(float), np.ones(n), n)
    return found.low, found.high, n


def limits(found: GateResult) -> tuple[float | None, float | None, int]:
    return found.estimate.low, found.estimate.high, found.estimate.n


@pytest.fixture(scope="class")
def _rated_once(class_world: None) -> None:
    """Create 200 flagged records, 40 of them scored blind, and 100 others: 20 are sampled, 2 wrong."""
    ana, run = UserFactory.create(username="ana", role="reviewer"), RunFactory.create(name="gated")
    flagged = stratum(run, {"Pass": 200})
    others = stratum(run, {"Pass": 100}, is_flagged=False)
    rated(flagged, ana, "Pass", "Pass", 30)
    rated(flagged, ana, "Pass", "Fail", 10)
    rated(flagged, ana, "Pass", "Pass", 30, is_blind=False)
    rated(flagged, ana, '"Yes"', '"Yes"', 40, criterion=f" {CLARITY} ", verdict="Pass")
    rated(others, ana, "Pass", "Pass", 18)
    rated(others, ana, "Pass", "Fail", 2)


@pytest.mark.django_db
class TestReportFigures:
    @pytest.fixture
    def run(self, _rated_once: None) -> Run:
        return Run.objects.get(name="gated")

    @pytest.mark.parametrize(
        ("text", "hits", "n"),
        [
            ("flagged accuracy >= 0.5", 30, 40),
            ("unflagged accuracy >= 0.5", 18, 20),
            ("assisted accuracy >= 0.5", 30, 30),
            ("assisted flagged accuracy >= 0.5", 30, 30),
            (f"flagged accuracy of {CLARITY} >= 0.5", 40, 40),
            ("flag_precision >= 0.5", 10, 40),
            ("miss_rate <= 0.5", 2, 20),
        ],
    )
    def test_requirement_is_checked_against_its_records(self, text: str, hits: int, n: int, run: Run) -> None:
        [found] = quality_gates.check_requirements(
            report.build_report(JudgeScope(run)), [parse_requirement(text)]
        )
        assert found.estimate.value == pytest.approx(hits / n)
        assert limits(found) == pytest.approx(sequence(hits, n), abs=1e-3)

    def test_requirement_without_a_part_is_about_the_whole_run(self, run: Run) -> None:
        """Two thirds of the records are flagged, so a flagged rating counts as a record of the population."""
        built = report.build_report(JudgeScope(run))
        [whole] = quality_gates.check_requirements(built, [parse_requirement("accuracy >= 0.5")])
        assert whole.estimate.value == pytest.approx((2 * 0.75 + 0.9) / 3)
        headline = built.judge_vs_human.headline
        assert headline
        assert whole.estimate.value == pytest.approx(headline.accuracy.value)
        low, high, n = limits(whole)
        assert (low or 0) < (headline.accuracy.low or 0) < (headline.accuracy.high or 0) < (high or 0)
        assert n == 60

    def test_coefficient_is_not_shown_with_fewer_than_50_ratings(self, run: Run) -> None:
        [found] = quality_gates.check_requirements(
            report.build_report(JudgeScope(run)), [parse_requirement("flagged ac1 >= -1")]
        )
        assert (found.outcome, found.estimate.n) == ("not shown yet", 40)
        assert "A coefficient needs 50 ratings or more" in found.sentence

    def test_flag_recall_has_a_sequence(self, run: Run) -> None:
        found = report.build_report(JudgeScope(run))
        [recall] = quality_gates.check_requirements(found, [parse_requirement("flag_recall >= 0")])
        assert recall.estimate.value == pytest.approx(found.missed_errors.flag_recall.value)
        assert recall.outcome == "met"
        assert (recall.estimate.low or 0) < (found.missed_errors.flag_recall.low or 0)

    @pytest.mark.parametrize(
        "text", ["assisted unflagged accuracy", "flagged kappa of Depth", "reviewers alpha"]
    )
    def test_requirement_without_ratings_says_so(self, text: str, run: Run) -> None:
        [found] = quality_gates.check_requirements(
            report.build_report(JudgeScope(run)), [parse_requirement(f"{text} >= 0")]
        )
        assert found.outcome == "not shown yet"
        assert "There is no rating of that kind" in found.sentence

    @pytest.mark.slow
    def test_every_accepted_figure_is_in_the_report(self, run: Run) -> None:
        every = [parse_requirement(f"{figure} >= 0") for figure in chain(JUDGED, AMONG_REVIEWERS, FLAGS)]
        found = quality_gates.check_requirements(report.build_report(JudgeScope(run)), every)
        assert [one.requirement for one in found] == every
