"""Records of a run by cell, with the human verdicts on reviewed ones."""

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.judge import leaderboard, missed_errors, population
from reviews.judge.population import PopulationCell
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.population import decided, stratum

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def by_label(scope: JudgeScope) -> dict[str, PopulationCell]:
    return {cell.label: cell for cell in population.read_population(scope).cells}


class TestSmallModels:
    """Figures about few records would reveal the judge's verdict on a blind one."""

    @pytest.fixture
    def blind_record(self, run: Run) -> Evaluation:
        run.blind_share = 1
        return EvaluationFactory.create(run=run, structured_model_response={"final_answer": "2"})

    @pytest.mark.parametrize(("passed", "is_withheld"), [(5, True), (6, False)])
    def test_small_model_is_withheld_while_a_record_is_hidden(
        self, run: Run, blind_record: Evaluation, passed: int, is_withheld: bool
    ) -> None:
        stratum(run, {"Pass": passed, "Fail": 4})
        assert bool(population.read_population(JudgeScope(run)).withheld) == is_withheld

    def test_small_model_is_shown_without_blind_review(self, run: Run, ana: User) -> None:
        stratum(run, {"Pass": 5})
        assert not population.read_population(JudgeScope(run)).withheld
        run.blind_share = 1
        assert not population.read_population(JudgeScope(run)).withheld

    def test_small_model_is_shown_once_all_its_records_are_reviewed(
        self, run: Run, blind_record: Evaluation, ana: User
    ) -> None:
        few = stratum(run, {"Pass": 3})
        decided(few, ana, "Pass", "Fail", 2)
        assert population.read_population(JudgeScope(run)).withheld == 3
        decided(few, ana, "Pass", "Pass", 1)
        assert population.read_population(JudgeScope(run)).withheld == 0

    def test_withheld_model_is_not_in_the_leaderboard(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(population, "_hides_any", lambda _run: True)
        stratum(run, {"Pass": 9}, model_id="few")
        stratum(run, {"Pass": 10}, model_id="many")
        board = leaderboard.rank_models(JudgeScope(run))
        assert [model.name for model in board.models] == ["many"]
        assert board.sentences[0].startswith("Not counted: 9 records of models with fewer than 10")

    def test_withheld_model_is_not_in_missed_errors(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(population, "_hides_any", lambda _run: True)
        stratum(run, {"Pass": 9}, is_flagged=False)
        assert missed_errors.estimate_missed_errors(JudgeScope(run)).records is None
        stratum(run, {"Pass": 20}, is_flagged=False, model_id="many")
        found = missed_errors.estimate_missed_errors(JudgeScope(run))
        assert found.records == 20
        assert found.sentences[-1].startswith("Not counted: 9 records of models with fewer than 10")


class TestCells:
    def test_cells_count_records_and_human_verdicts(self, run: Run, ana: User, bo: User) -> None:
        flagged = stratum(run, {"Pass": 10, "Fail": 4})
        decided(flagged, ana, "Pass", "Fail", 2)
        decided(flagged, bo, "Pass", "Pass", 3, is_blind=True)
        found = by_label(JudgeScope(run))
        assert {key: cell.records for key, cell in found.items()} == {
            "Pass of o1": 10,
            "Fail of o1": 4,
        }
        passed = found["Pass of o1"]
        assert (passed.verdicts, passed.reviewed, passed.wrong, passed.blind) == (
            {"Fail": 2, "Pass": 3},
            5,
            2,
            3,
        )

    def test_only_sampled_records_represent_unflagged_ones(self, run: Run, ana: User) -> None:
        others = stratum(run, {"Pass": 10}, is_flagged=False)
        decided(others, ana, "Pass", "Fail", 1)
        decided(others, ana, "Pass", "Pass", 4, is_sampled=False)
        [cell] = population.read_population(JudgeScope(run)).cells
        assert (cell.reviewed, cell.wrong, cell.unsampled) == (1, 1, 4)

    def test_cells_omit_decisions_without_a_verdict(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 10})
        decided(flagged, ana, "Pass", None, 2)
        [cell] = population.read_population(JudgeScope(run)).cells
        assert cell.reviewed == 0

    def test_cells_include_records_without_a_judge_verdict(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"": 3}, model_id="")
        decided(flagged, ana, None, "Pass", 1)
        [cell] = population.read_population(JudgeScope(run)).cells
        assert (cell.label, cell.verdict, cell.verdicts) == ("no verdict of no model", "", {"Pass": 1})

    def test_number_of_reviews_does_not_change_the_records_of_a_cell(self, run: Run, ana: User) -> None:
        flagged = stratum(run, {"Pass": 1})
        decided(flagged, ana, "Pass", "Pass", 3)
        decided(flagged, ana, "Fail", "Fail", 2)
        [cell] = population.read_population(JudgeScope(run)).cells
        assert (cell.verdict, cell.records) == ("Pass", 1)

    def test_cells_are_limited_to_the_scope(self, run: Run, ana: User) -> None:
        stratum(run, {"Pass": 1})
        stratum(run, {"Pass": 2}, judge_llm_model="judge-2")
        stratum(RunFactory.create(), {"Pass": 4})
        assert sum(cell.records for cell in population.read_population(JudgeScope(run)).cells) == 3
        assert [
            cell.records for cell in population.read_population(JudgeScope(run, judge="judge-2")).cells
        ] == [2]

    def test_cells_take_two_queries(
        self, run: Run, ana: User, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        for model in ("o1", "o3", "gpt-4o"):
            decided(stratum(run, {"Pass": 1, "Fail": 1}, model_id=model), ana, "Pass", "Fail", 1)
        with django_assert_num_queries(2):
            population.read_population(JudgeScope(run))
