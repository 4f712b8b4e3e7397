"""The rubric of a run: the default, the inferred one, and edits by a lead."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.records.scores import AS_JUDGED, identity, is_score
from reviews.records.verdict import VerdictRule
from reviews.rubric.definition import (
    COMMAND_LETTERS,
    Rubric,
    causes_named,
    configure_rubric,
    extend_rubric,
    run_rubric,
)
from reviews.rubric.run_settings import InvalidSettings
from tests.support.factories import RunFactory

MEAN = VerdictRule.from_json({"kind": "mean", "pass": 4, "partial": 2})
MINE = Rubric(
    criteria=("rigor", "clarity"),
    scores=("Good", "Fair", "Poor"),
    rule=VerdictRule("worst", ("Good",), ("Fair",), ("Poor",)),
    causes=causes_named(["Typo", "Other"]),
)


@pytest.fixture
def run(db: None) -> Run:
    return RunFactory.create()


def put(run: Run, wanted: Rubric, actor: User) -> Run:
    return configure_rubric(run_id=run.pk, actor=actor, rubric=wanted, seen=run_rubric(run).fingerprint)


class TestDefaults:
    def test_empty_run_has_the_default_rubric(self) -> None:
        usual = run_rubric(Run())
        assert usual == Rubric()
        assert usual.scores == ("Yes", "Partial", "No")
        assert usual.rule == VerdictRule()
        assert [cause.word for cause in usual.causes] == [
            *("too strict", "too lenient", "misread answer", "arithmetic", "missed a step", "invented fact"),
            *("right score wrong reason", "reference wrong", "verifier wrong", "rubric unclear", "other"),
        ]

    def test_first_ten_causes_have_digits_as_keys(self) -> None:
        assert [cause.key for cause in Rubric().causes] == [*"1234567890", ""]

    def test_cause_is_found_by_its_word(self) -> None:
        assert Rubric().cause("arithmetic") == ("arithmetic", "Arithmetic", "4")
        assert Rubric().cause("mood") is None


class TestChoices:
    def test_choice_has_value_label_key_and_level(self) -> None:
        assert [choice[1:] for choice in Rubric().choices()] == [
            ("Yes", "Yes", "y", "yes", None),
            ("Partial", "Partial", "p", "partial", None),
            ("No", "No", "n", "no", None),
        ]

    def test_numbers_have_keys_in_their_order(self) -> None:
        choices = Rubric(scores=(2, 1, "1", True), rule=MEAN).choices()
        assert [choice[1:] for choice in choices] == [
            ("2", "2", "q", "partial", 2),
            ("1", "1", "w", "no", 1),
            ('"1"', "1", "t", None, None),
            ("true", "true", "y", None, None),
        ]

    @pytest.mark.parametrize(
        ("scores", "keys"),
        [
            (("Pass", "Fail"), ["p", "i"]),
            (("Correct", "Partially correct", "Incorrect"), ["o", "p", "i"]),
            (("Да", "Нет"), ["q", "w"]),
        ],
    )
    def test_choice_has_the_first_free_letter_of_its_word(
        self, scores: tuple[str, ...], keys: list[str]
    ) -> None:
        assert [choice.key for choice in Rubric(scores=scores).choices()] == keys

    def test_score_of_the_judge_comes_last(self) -> None:
        *usual, own = Rubric().choices(4)
        assert tuple(usual) == Rubric().choices()
        assert own == (4, AS_JUDGED, "4", "q", None, 4)

    @pytest.mark.parametrize("judged", [None, "", "Yes", ["Yes"], float("nan")])
    def test_choices_have_no_duplicates_and_no_invalid_scores(self, judged: Any) -> None:
        assert Rubric().choices(judged) == Rubric().choices()

    @given(
        st.lists(st.text() | st.integers() | st.floats() | st.booleans(), max_size=15),
        st.none() | st.text() | st.integers(),
    )
    def test_choices_have_distinct_values_and_keys(self, found: list[Any], judged: Any) -> None:
        scores = tuple({identity(score): score for score in found if is_score(score)}.values())
        choices = Rubric(scores=scores).choices(judged)
        keys = [choice.key for choice in choices if choice.key]
        assert len(keys) == len(set(keys))
        assert not COMMAND_LETTERS.intersection(keys)
        assert len({choice.value for choice in choices}) == len(choices)


class TestConfigure:
    def test_configured_rubric_is_saved(self, run: Run, lea: User) -> None:
        kept = run_rubric(put(run, MINE, lea))
        assert replace(kept, scores_left_out=()) == MINE
        assert kept.scores_left_out == ("Yes", "Partial", "No")

    @pytest.mark.parametrize("scores", [(5, "5", True, 2.5), (False, 0)])
    def test_configured_scores_keep_their_json_type(
        self, run: Run, lea: User, scores: tuple[Any, ...]
    ) -> None:
        kept = run_rubric(put(run, replace(MINE, scores=scores, rule=MEAN), lea))
        kept = run_rubric(Run.objects.get(pk=run.pk))
        assert [(type(score), score) for score in kept.scores] == [(type(score), score) for score in scores]
        assert kept.rule == MEAN

    def test_configuration_records_an_event_with_both_rubrics(self, run: Run, lea: User) -> None:
        put(run, MINE, lea)
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.run) == ("configure run", lea, run)
        assert event.detail["before"] == Rubric().as_json()
        assert event.detail["after"]["rubric"]["scores"] == ["Good", "Fair", "Poor"]
        assert event.detail["after"]["verdict_rule"] == MINE.rule.as_json()

    def test_configuration_is_for_leads(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied, match="Only a lead or an admin can change the settings of a run"):
            put(run, MINE, ana)

    def test_configuration_after_a_change_by_another_lead_is_refused(self, run: Run, lea: User) -> None:
        seen = run_rubric(run).fingerprint
        put(run, MINE, lea)
        with pytest.raises(SettingsChanged):
            configure_rubric(run_id=run.pk, actor=lea, rubric=Rubric(), seen=seen)
        run.refresh_from_db()
        assert run_rubric(run).scores == MINE.scores

    @pytest.mark.parametrize(
        ("change", "problems"),
        [
            ({"scores": ("Yes",)}, {"scores": ["A run has 2 to 15 scores, not 1."]}),
            ({"scores": tuple(range(16))}, {"scores": ["A run has 2 to 15 scores, not 16."]}),
            ({"scores": ("a", "b", "a")}, {"scores": ["“a” is listed twice."]}),
            (
                {"scores": ("a", "b" * 41)},
                {"scores": ["A score is a number, true, false, or a text of 1 to 40 printable characters."]},
            ),
            ({"criteria": ("a", "a")}, {"criteria": ["“a” is listed twice."]}),
            (
                {"criteria": tuple(map(str, range(101)))},
                {"criteria": ["A run has at most 100 criteria, not 101."]},
            ),
            (
                {"criteria": ("a" * 201,)},
                {"criteria": ["Each criterion has 1 to 200 characters, all of them printable."]},
            ),
            ({"causes": causes_named(["Typo", "TYPO"])}, {"causes": ["“typo” is listed twice."]}),
            ({"rule": MEAN}, {"scores": ["A mean needs numbers among the scores."]}),
            (
                {"rule": VerdictRule("worst", ("Good",), (), ())},
                {"rule": ["At least one score must count as Yes, and one as No."]},
            ),
            (
                {"rule": replace(MEAN, pass_from=1), "scores": (2, 1)},
                {"rule": ["The lowest mean of a Partial cannot be above that of a Pass."]},
            ),
        ],
    )
    def test_invalid_rubric_names_every_problem(
        self, run: Run, lea: User, change: dict[str, Any], problems: dict[str, list[str]]
    ) -> None:
        with pytest.raises(InvalidSettings) as wrong:
            put(run, replace(MINE, **change), lea)
        assert wrong.value.problems == problems
        assert not AuditEvent.objects.exists()


class TestExtend:
    def extended(self, run: Run, criteria: list[str], scores: list[Any]) -> Rubric:
        extend_rubric(run_id=run.pk, criteria=criteria, scores=scores)
        run.refresh_from_db()
        return run_rubric(run)

    def test_extension_fills_an_empty_rubric(self, run: Run) -> None:
        found = self.extended(run, ["b", "a"], [5, 4, 1])
        assert (found.criteria, found.scores) == (("b", "a"), (5, 4, 1))
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.run) == ("extend rubric", None, run)
        assert event.detail["after"]["rubric"]["criteria"] == ["b", "a"]

    def test_extension_appends_to_the_rubric(self, run: Run, lea: User) -> None:
        run = put(run, MINE, lea)
        found = self.extended(run, ["style", "clarity"], ["Awful", "Good"])
        assert found.criteria == ("rigor", "clarity", "style")
        assert found.scores == ("Good", "Fair", "Poor", "Awful")
        assert (found.rule, found.causes) == (MINE.rule, MINE.causes)

    def test_extension_skips_removed_criteria_and_scores(self, run: Run, lea: User) -> None:
        self.extended(run, ["rigor", "noise"], ["Yes", "Partial", "No"])
        put(run, MINE, lea)
        found = self.extended(run, ["noise"], ["Partial"])
        assert (found.criteria, found.scores) == (MINE.criteria, MINE.scores)

    def test_restored_score_is_no_longer_skipped(self, run: Run, lea: User) -> None:
        run = put(run, MINE, lea)
        run = put(run, Rubric(), lea)
        assert set(run_rubric(run).scores_left_out) == set(MINE.scores)
        assert run_rubric(run).scores == Rubric().scores

    def test_extension_sorts_numbers(self, run: Run) -> None:
        self.extended(run, [], [5, 3, 1])
        assert self.extended(run, [], [4, 5]).scores == (5, 4, 3, 1)

    def test_extension_keeps_the_order_of_a_lead(self, run: Run, lea: User) -> None:
        put(run, replace(MINE, scores=(1, 2, 4), rule=MEAN), lea)
        assert self.extended(run, [], [3]).scores == (1, 2, 4, 3)

    def test_scale_begins_with_the_second_score(self, run: Run) -> None:
        assert self.extended(run, ["a"], [5]).scores == ("Yes", "Partial", "No")
        assert self.extended(run, ["a"], [5, 4]).scores == (5, 4)

    def test_extension_without_news_changes_nothing(self, run: Run) -> None:
        self.extended(run, ["a"], ["Yes", "Partial", "No"])
        self.extended(run, ["a"], ["Yes", "Partial", "No"])
        assert AuditEvent.objects.count() == 1
