"""The precision and cost of each flag reason."""

import pytest

from reviews.judge import flag_precision
from reviews.judge.flag_precision import FlagReason
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, FacetCount, ReasonCount, Run, User
from reviews.review import undo
from reviews.statistics.intervals import wilson
from tests.support.factories import RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db

RIGHT = {"Clarity": {"score": "Yes", "justification": "It is."}}
WRONG = {"Clarity": {"score": "No", "justification": "It is not."}}


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def counted(
    run: Run, reviewer: User, *, changed: int, of: int, minutes: float = 0, family: str = "sampled"
) -> FlagReason:
    """Return a flag reason with these numbers of reviewed and changed records."""
    FacetCount.objects.create(run=run, name="reason", value=family, evaluations=1000)
    ReasonCount.objects.create(
        run=run,
        reviewer=reviewer,
        family=family,
        reviews=of,
        compared=of,
        changed=changed,
        verdicts=of,
        verdict_changed=changed // 2,
        timed=of if minutes else 0,
        active_ms=minutes * 60_000,
    )
    return next(
        one for one in flag_precision.measure_flag_precision(JudgeScope(run)).families if one.key == family
    )


class TestFlagReason:
    def test_flag_reason_counts_outcomes_of_its_records(self, ana: User) -> None:
        done = import_data(
            file_of(
                line("a", review_reasons=["Parsing failed at line 3", "Sampled"]),
                line("b", review_reasons=["Parsing failed at line 9"]),
                line("c", review_reasons=["Parsing failed at line 1"]),
            )
        )
        for name, scores in (("a", WRONG), ("b", RIGHT)):
            decide(
                Evaluation.objects.get(evaluation_id=name),
                ana,
                scores=scores,
                origins={"Clarity": "human"},
                judged={"Clarity": "Yes"},
                active_ms=90_000,
            )
        parsing, sampled = flag_precision.measure_flag_precision(JudgeScope(done.target_run)).families
        assert (parsing.title, parsing.flagged, parsing.reviewed) == ("Parsing failed", 3, 2)
        assert (parsing.changed, parsing.verdict_changed) == (1, 1)
        assert parsing.precision == wilson(1, 2, "reviewed records")
        assert parsing.minutes_per_error == 3
        assert (sampled.title, sampled.flagged, sampled.reviewed, sampled.changed) == ("Sampled", 1, 1, 1)

    def test_flag_reason_counts_current_decisions(self, ana: User) -> None:
        done = import_data(file_of(line("a")))
        decide(
            Evaluation.objects.get(),
            ana,
            scores=WRONG,
            origins={"Clarity": "human"},
            judged={"Clarity": "Yes"},
        )
        undo.undo(run=done.target_run, actor=ana)
        [family] = flag_precision.measure_flag_precision(JudgeScope(done.target_run)).families
        assert (family.flagged, family.reviewed) == (1, 0)

    def test_flag_reason_can_be_limited_to_a_reviewer(self, run: Run, ana: User, bo: User) -> None:
        counted(run, ana, changed=1, of=4)
        [family] = flag_precision.measure_flag_precision(JudgeScope(run, reviewer=bo)).families
        assert (family.flagged, family.reviewed) == (1000, 0)
        [family] = flag_precision.measure_flag_precision(JudgeScope(run, reviewer=ana)).families
        assert family.reviewed == 4


class TestMinutesPerError:
    def test_minutes_per_error_divide_time_by_precision(self, run: Run, ana: User) -> None:
        """Twenty reviews of three minutes find four errors."""
        assert counted(run, ana, changed=4, of=20, minutes=60).minutes_per_error == 15

    def test_minutes_per_error_without_an_error_give_the_time_spent(self, run: Run, ana: User) -> None:
        family = counted(run, ana, changed=0, of=20, minutes=60)
        assert family.minutes_per_error is None
        assert family.minutes_why == "No error found in 60 active minutes."

    def test_minutes_per_error_without_timed_reviews_are_none(self, run: Run, ana: User) -> None:
        family = counted(run, ana, changed=2, of=20)
        assert family.minutes_per_error is None
        assert family.minutes_why == "No review of a record with this reason was timed."


class TestAdvice:
    @pytest.mark.parametrize(
        ("changed", "of", "advice"),
        [
            (0, 0, "not enough data"),
            (1, 1, "not enough data"),
            (9, 9, "not enough data"),  # however they came out: fewer than ten
            (5, 20, "keep"),
            (10, 10, "keep"),
            (2, 20, "not enough data"),
            (0, 30, "not enough data"),
            (0, 40, "retire"),
            (5, 200, "retire"),
        ],
    )
    def test_advice_follows_the_interval(
        self, run: Run, ana: User, changed: int, of: int, advice: str
    ) -> None:
        family = counted(run, ana, changed=changed, of=of)
        assert family.advice == advice
        assert family.because.lower().startswith(advice)

    def test_advice_has_its_rule(self, run: Run) -> None:
        reasons = flag_precision.measure_flag_precision(JudgeScope(run))
        assert reasons.families == ()
        assert "one in 10" in reasons.rule
        assert reasons.as_json()["rule"] == reasons.rule

    def test_advice_gives_its_numbers(self, run: Run, ana: User) -> None:
        assert counted(run, ana, changed=5, of=20).because == (
            "Keep: 5 of 20 reviewed records contained an error; the share is between 11% and "
            "47%, more than one in 10."
        )


def test_reason_with_most_flagged_records_comes_first(run: Run, ana: User) -> None:
    FacetCount.objects.create(run=run, name="reason", value="rare", evaluations=2)
    counted(run, ana, changed=0, of=1)
    assert [family.key for family in flag_precision.measure_flag_precision(JudgeScope(run)).families] == [
        "sampled",
        "rare",
    ]
