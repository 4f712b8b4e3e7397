"""Quality gates: their syntax, and the interval bound that decides them."""

from contextlib import suppress
from itertools import chain, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.judge import accuracy, quality_gates, report, reviewer_agreement
from reviews.judge.quality_gates import GateResult, InvalidRequirement, parse_requirement
from reviews.judge.scope import JudgeScope
from reviews.models import Run, User
from reviews.statistics.intervals import Estimate, undefined, wilson
from tests.support.factories import RunFactory
from tests.support.population import decided, stratum

CLARITY = "Clarity of the proof"
JUDGED = [" ".join(words) for words in product(accuracy.BASES, accuracy.POPULATIONS, accuracy.FIGURES)]
AMONG_REVIEWERS = [f"reviewers {figure}" for figure in reviewer_agreement.FIGURES]
FLAGS = ["miss_rate", "flagged_error_rate", "flag_recall"]


class TestRequirement:
    @pytest.mark.parametrize("figure", [*JUDGED, *AMONG_REVIEWERS, *FLAGS])
    def test_requirement_accepts_every_figure_of_the_report(self, figure: str) -> None:
        assert parse_requirement(f"{figure} >= 0.5").words == tuple(figure.split())

    @pytest.mark.parametrize(
        ("text", "criterion", "at_least", "bar"),
        [
            ("blind flagged kappa >= 0.6", None, True, 0.6),
            ("  blind  flagged kappa<=.6 ", None, False, 0.6),
            (f"blind flagged kappa of {CLARITY} >= 1", CLARITY, True, 1.0),
            ("blind sampled leniency of a >= b <= -0.25", "a >= b", False, -0.25),
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
            ("blind flagged kappa = 0.6", "not of the form METRIC >= LIMIT"),
            ("blind flagged kappa\n>= 0.6", "not of the form METRIC >= LIMIT"),
            (
                "kappa >= 0.6",
                "names an unknown metric. Known metrics: blind|assisted flagged|sampled|picked agreement|",
            ),
            ("blind kappa >= 0.6", "names an unknown metric"),
            ("blind flagged table >= 0.6", "names an unknown metric"),
            ("miss_rate of Clarity <= 0.6", "names an unknown metric"),
            ("__class__ <= 0.6", "names an unknown metric"),
            ("blind flagged kappa >= 60 %", "has no limit from -1 to 1"),
            ("blind flagged kappa >= 60", "has no limit from -1 to 1"),
            ("blind flagged kappa >= nan", "has no limit from -1 to 1"),
            ("blind flagged kappa >= 1e-1", "has no limit from -1 to 1"),
            ("blind flagged kappa >= ²", "has no limit from -1 to 1"),
            ("blind flagged kappa >=", "has no limit from -1 to 1"),
        ],
    )
    def test_invalid_requirement_is_rejected_with_the_known_forms(self, text: str, sentence: str) -> None:
        with pytest.raises(InvalidRequirement) as refused:
            parse_requirement(text)
        assert sentence in str(refused.value)

    @given(st.text() | st.lists(st.sampled_from([*"<>=. 09-", "blind flagged kappa", " of "])).map("".join))
    def test_any_text_is_parsed_or_rejected(self, text: str) -> None:
        with suppress(InvalidRequirement):
            assert -1 <= parse_requirement(text).limit <= 1


def checked(text: str, value: float, low: float, high: float, n: int = 40) -> GateResult:
    return GateResult(parse_requirement(text), Estimate(value, low, high, n))


class TestGateResult:
    @pytest.mark.parametrize(
        ("text", "low", "high", "outcome"),
        [
            ("blind flagged kappa >= 0.6", 0.6, 0.8, "met"),
            ("blind flagged kappa >= 0.6", 0.6, 0.6, "met"),
            ("blind flagged kappa >= 0.6", 0.6 - 1e-15, 0.8, "met"),
            ("blind flagged kappa >= 0.6", 0.59, 0.8, "cannot tell"),
            ("blind flagged kappa >= 0.6", 0.2, 0.6, "cannot tell"),
            ("blind flagged kappa >= 0.6", 0.2, 0.5999, "missed"),
            ("flag_recall >= 0.6", 0.5, 0.5, "missed"),
            ("blind flagged false_pass <= 0.1", 0.01, 0.1, "met"),
            ("blind flagged false_pass <= 0.1", 0.1 + 1e-16, 0.1 + 1e-16, "met"),
            ("blind flagged false_pass <= 0.1", 0.01, 0.11, "cannot tell"),
            ("blind flagged false_pass <= 0.1", 0.1, 0.11, "cannot tell"),
            ("miss_rate <= 0.1", 0.11, 0.2, "missed"),
        ],
    )
    def test_limit_is_compared_with_the_interval(
        self, text: str, low: float, high: float, outcome: str
    ) -> None:
        found = checked(text, (low + high) / 2, low, high)
        assert found.outcome == outcome
        assert (
            quality_gates.worst_outcome([found]).status == {"met": 0, "missed": 1, "cannot tell": 2}[outcome]
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
    def test_outcome_of_an_undefined_or_thin_figure_is_cannot_tell(self, estimate: Estimate) -> None:
        found = GateResult(parse_requirement("blind flagged agreement >= 0.5"), estimate)
        assert (found.outcome, quality_gates.worst_outcome([found]).status) == ("cannot tell", 2)

    def test_gate_sentence_has_figure_interval_and_n(self) -> None:
        assert checked(f"blind flagged kappa of {CLARITY} >= 0.6", 0.7, 0.55, 0.85).sentence == (
            f"cannot tell: blind flagged kappa of {CLARITY}: 0.700, 95% from 0.550 to 0.850; n = 40; "
            "required: at least 0.6"
        )
        assert checked("miss_rate <= 0.05", 0, 0, 0.3, n=9).sentence == (
            "cannot tell: miss_rate: 0.000, 95% from 0.000 to 0.300, of fewer than 10; n = 9; "
            "required: at most 0.05"
        )
        none = GateResult(parse_requirement("blind flagged kappa >= 0.6"), undefined("There are none."))
        assert none.sentence == (
            "cannot tell: blind flagged kappa of the verdict: There are none; n = 0; required: at least 0.6"
        )

    def test_missed_is_worse_than_cannot_tell(self) -> None:
        missed = checked("miss_rate <= 0.05", 0.5, 0.4, 0.6)
        unknown = GateResult(missed.requirement, undefined("There are none."))
        met = checked("miss_rate <= 0.5", 0.1, 0.0, 0.2)
        assert quality_gates.worst_outcome([met, unknown, missed]).status == 1
        assert quality_gates.worst_outcome([met, unknown]).status == 2
        assert quality_gates.worst_outcome([met]).status == quality_gates.worst_outcome([]).status == 0


@pytest.mark.django_db
class TestReportFigures:
    @pytest.fixture
    def run(self, ana: User) -> Run:
        """Create 40 flagged records scored blind, 30 assisted, and 100 others: 20 are sampled, 2 wrong."""
        run = RunFactory.create()
        flagged = stratum(run, {"Pass": 200})
        others = stratum(run, {"Pass": 100}, is_flagged=False)
        decided(flagged, ana, "Pass", "Pass", 30, is_blind=True)
        decided(flagged, ana, "Fail", "Pass", 10, is_blind=True)
        decided(flagged, ana, "Pass", "Pass", 30)
        decided(flagged, ana, '"Yes"', '"Yes"', 40, is_blind=True, criterion=f" {CLARITY} ")
        decided(others, ana, "Pass", "Pass", 18)
        decided(others, ana, "Pass", "Fail", 2)
        return run

    @pytest.mark.parametrize(
        ("text", "of"),
        [
            ("blind flagged agreement >= 0.5", wilson(30, 40)),
            ("assisted flagged agreement >= 0.5", wilson(30, 30)),
            ("assisted sampled agreement >= 0.5", wilson(18, 20)),
            (f"blind flagged agreement of {CLARITY} >= 0.5", wilson(40, 40)),
        ],
    )
    def test_requirement_is_checked_against_its_group_of_records(
        self, text: str, of: Estimate, run: Run
    ) -> None:
        [found] = quality_gates.check_requirements(
            report.build_report(JudgeScope(run)), [parse_requirement(text)]
        )
        assert found.estimate == of

    def test_requirement_is_checked_against_missed_errors(self, run: Run) -> None:
        found = report.build_report(JudgeScope(run))
        rate, recall = quality_gates.check_requirements(
            found, map(parse_requirement, ("miss_rate <= 1", "flag_recall >= 0"))
        )
        assert rate.estimate.value == pytest.approx(0.1)
        assert rate.estimate.n == 20
        assert recall.estimate == found.missed_errors.flag_recall

    @pytest.mark.parametrize(
        "text", ["blind sampled agreement", "blind flagged kappa of Depth", "reviewers alpha"]
    )
    def test_requirement_without_decisions_says_so(self, text: str, run: Run) -> None:
        [found] = quality_gates.check_requirements(
            report.build_report(JudgeScope(run)), [parse_requirement(f"{text} >= 0")]
        )
        assert found.outcome == "cannot tell"
        assert "There is no current decision of that kind" in found.sentence

    def test_every_accepted_figure_is_in_the_report(self, run: Run) -> None:
        every = [parse_requirement(f"{figure} >= 0") for figure in chain(JUDGED, AMONG_REVIEWERS, FLAGS)]
        assert len(quality_gates.check_requirements(report.build_report(JudgeScope(run)), every)) == len(
            every
        )
