"""The judge's shift between two runs on the same responses, and the models without it."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from cognireview.types import judge
from cognireview.types.encoding import members
from cognireview.types.estimates import Change
from cognireview.types.judge import PairCount
from reviews.judge.comparison import anchors
from reviews.judge.comparison.drift import measure_drift
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from reviews.search import strata
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.contexts import bring, task
from tests.support.factories import RunFactory
from tests.support.gold import CLARITY, judged
from tests.support.pages import text
from tests.support.rubrics import rubric_data

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

TASKS = 40


def run_of(name: str) -> Run:
    return RunFactory.create(name=name, rubric=rubric_data(CLARITY), blind_share=0)


def score(run: Run, model: str, passed: int, **values: Any) -> list[Evaluation]:
    """Import the responses of a model to all tasks. The judge passes those to the first tasks."""
    return judged(run, ["Pass"] * passed + ["Fail"] * (TASKS - passed), model_id=model, **values)


@pytest.fixture(scope="module")
def _scored(module_world: None) -> None:
    """Create the two runs. Tests undo their changes."""
    monday, tuesday = run_of("monday"), run_of("tuesday")
    score(monday, "old", 20)
    score(monday, "anchor", 20)
    score(tuesday, "anchor", 28)
    score(tuesday, "new", 32)
    for each in (monday, tuesday):
        strata.recount(each, {})


@pytest.fixture
def first(_scored: None) -> Run:
    return Run.objects.get(name="monday")


@pytest.fixture
def second(_scored: None) -> Run:
    """The judge passes 8 more responses of the anchor, and 12 more of the new model than of the old one."""
    return Run.objects.get(name="tuesday")


class TestShift:
    def test_shift_is_that_of_the_same_responses(self, first: Run, second: Run) -> None:
        found = measure_drift(first, JudgeScope(second))
        assert (found.first_rate.value, found.second_rate.value) == (0.5, 0.7)
        assert found.shift.value == pytest.approx(0.2)
        assert (found.shift.n, found.shift.clusters) == (TASKS, TASKS)
        assert found.changed.value == pytest.approx(0.2)
        assert found.outcome == "milder"
        assert found.counts == [
            PairCount("Fail", "Fail", 12),
            PairCount("Fail", "Pass", 8),
            PairCount("Pass", "Pass", 20),
        ]
        assert measure_drift(second, JudgeScope(first)).outcome == "stricter"

    def test_scores_shift_by_criterion(self, first: Run, second: Run) -> None:
        [shift] = measure_drift(first, JudgeScope(second)).criteria
        assert (shift.criterion, shift.pairs) == (CLARITY, TASKS)
        assert shift.first_mean == pytest.approx(0.5)
        assert shift.second_mean == pytest.approx(0.7)
        assert shift.shift.value == pytest.approx(0.2)
        assert shift.p < 0.05

    def test_scores_of_a_changed_scale_are_not_compared(self, first: Run, second: Run) -> None:
        scale = {"kind": "integer", "min": 1, "max": 5, "pass_from": 4}
        second.rubric = {**rubric_data(CLARITY), "scale": scale}
        second.save()
        found = measure_drift(first, JudgeScope(second))
        assert found.criteria == []
        assert found.changes[-1].sentence == (
            "Rubric: Clarity → Clarity, with other scales or another verdict rule."
        )

    def test_changed_judge_is_named(self, first: Run, second: Run) -> None:
        third = run_of("friday")
        score(third, "anchor", 20, judge_llm_model="judge-2", judge_prompt_template_path="v2")
        found = measure_drift(first, JudgeScope(third))
        assert found.changes == [
            Change("Judge", "judge-1", "judge-2"),
            Change("Prompt", "prompts/judge.txt", "v2"),
        ]
        assert (found.shift.value, found.outcome) == (0, "not shown")
        assert found.shift.low is not None
        assert found.shift.low < 0

    def test_judges_of_both_runs_are_compared_with_themselves(self, first: Run, second: Run) -> None:
        score(second, "anchor", 0, judge_llm_model="judge-2")
        found = measure_drift(first, JudgeScope(second))
        assert found.shift.value == pytest.approx(0.2)
        assert any(
            "same judge and prompt are compared: judge-1, prompts/judge.txt." in note for note in found.notes
        )

    def test_runs_without_common_responses_have_no_shift(self, first: Run) -> None:
        other = run_of("other")
        score(other, "new", 5)
        found = measure_drift(first, JudgeScope(other))
        assert (found.shift.value, found.counts, found.models) == (None, [], [])
        assert found.shift.why == "The two runs have no response in common with a verdict in both."

    def test_more_pairs_than_the_limit_are_sampled(
        self, first: Run, second: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(anchors, "MOST_PAIRS", 10)
        found = measure_drift(first, JudgeScope(second))
        assert found.shift.n == 10
        assert any("random sample" in note for note in found.notes)

    def test_answers_of_task_context_are_the_same_responses(self) -> None:
        runs = [run_of("context 1"), run_of("context 2")]
        for run, verdicts in zip(runs, (["Pass"], ["Fail"]), strict=True):
            judged(run, verdicts, tasks=["t"], structured_model_response=None, model_id="anchor")
        bring(task(task_id="t", model_responses=[{"model_id": "anchor", "response_text": "Answer"}]))
        assert measure_drift(runs[0], JudgeScope(runs[1])).counts == [PairCount("Pass", "Fail", 1)]


class TestModels:
    def test_shift_is_taken_out_of_the_difference_between_models(self, first: Run, second: Run) -> None:
        found = {
            (one.first_model, one.second_model): one
            for one in measure_drift(first, JudgeScope(second)).models
        }
        assert found.keys() == {("anchor", "new"), ("old", "anchor"), ("old", "new")}
        new = found["old", "new"]
        assert (new.first_rate.value, new.second_rate.value) == (0.5, 0.8)
        assert new.raw.value == pytest.approx(0.3)
        assert new.adjusted.value == pytest.approx(0.1)
        # On its own responses, the anchor is as good as the old model.
        assert found["old", "anchor"].raw.value == pytest.approx(0.2)
        assert found["old", "anchor"].adjusted.value == pytest.approx(0)

    def test_unflagged_records_that_no_draw_can_take_count_on_anchors_only(
        self, first: Run, second: Run
    ) -> None:
        others = {"needs_human_review": False, "human_review_status": "Completed"}
        tasks = [f"other {place}" for place in range(10)]
        for run, verdict in ((first, "Fail"), (second, "Pass")):
            judged(run, [verdict] * 10, tasks=tasks, model_id="anchor", **others)
            strata.recount(run, {})
        found = measure_drift(first, JudgeScope(second))
        shift = (TASKS * 0.2 + 10) / (TASKS + 10)
        assert found.shift.value == pytest.approx(shift)
        new = {(one.first_model, one.second_model): one for one in found.models}["anchor", "new"]
        assert (new.first_rate.value, new.first_rate.n) == (0.5, TASKS)
        assert new.adjusted.value == pytest.approx(0.8 - 0.5 - shift)
        assert sum("not counted: 10 unflagged records whose status" in note for note in found.notes) == 2

    def test_models_of_uncounted_runs_are_not_compared(self, first: Run, second: Run) -> None:
        Run.objects.get(pk=second.pk).strata.all().delete()
        assert measure_drift(first, JudgeScope(second)).models == []


class TestHiddenRecords:
    def test_few_records_to_score_blind_do_not_count(self, first: Run, second: Run) -> None:
        Run.objects.filter(pk=second.pk).update(blind_share=1)
        Evaluation.objects.filter(run=second).exclude(task_id__in=["0", "1"]).update(was_shown=True)
        second.refresh_from_db()
        found = measure_drift(first, JudgeScope(second))
        assert (found.shift.n, len(found.listed), found.criteria[0].pairs) == (38, 38, 38)
        assert any("2 pairs with a record that can still be scored blind" in note for note in found.notes)

    def test_many_records_to_score_blind_count_but_are_not_listed(self, first: Run, second: Run) -> None:
        Run.objects.filter(pk=second.pk).update(blind_share=1)
        Evaluation.objects.filter(run=second, task_id__in=map(str, range(20, 28))).update(was_shown=True)
        second.refresh_from_db()
        found = measure_drift(first, JudgeScope(second))
        assert (found.shift.n, len(found.listed)) == (TASKS, 8)
        assert len(found.listed_with("Pass", "Pass")) == 0


class TestPages:
    def test_page_shows_the_shift_and_lists_the_changed_verdicts(
        self, first: Run, second: Run, client: Client, lea: User
    ) -> None:
        client.force_login(lea)
        page = client.get(reverse("judge-compare", args=[second.pk], query={"with": str(first.pk)}))
        shown = text(page)
        assert (
            "The judge of tuesday is milder: the pass rate on the same responses changed by +20 points"
            in shown
        )
        assert "Judge, prompt and criteria have the same names in both runs." in shown
        sections = {section.name: section for section in page.context["sections"]}
        figures = {column.name: cell for column, cell in sections["drift"].figures}
        assert figures["Fail-Pass"].value == 8
        listed = client.get(figures["Fail-Pass"].url)
        assert len(listed.context["table"].rows) == 8
        rows = [*csv.DictReader(io.StringIO(client.get(listed.context["csv_url"]).getvalue().decode()))]
        assert {(row["first"], row["second"]) for row in rows} == {("Fail", "Pass")}
        for section in ("drift", "models"):
            [table] = sections[section].tables
            lines = client.get(table.csv_url).getvalue().decode().splitlines()
            assert len(lines) == 1 + len(table.table.rows), section
        assert "No difference between models of the two runs is shown" in shown

    def test_pages_hide_runs_that_the_reader_may_not_see(
        self, first: Run, second: Run, client: Client, lea: User
    ) -> None:
        Run.objects.filter(pk=first.pk).update(is_restricted=True)
        client.force_login(lea)
        query = {"with": str(first.pk), "first": "Fail", "second": "Pass"}
        for name in ("judge-anchors", "judge-anchors-csv"):
            assert client.get(reverse(name, args=[second.pk], query=query)).status_code == 404
        assert program_of(lea).get("runs/tuesday/drift?earlier=monday").status_code == 404

    def test_api_and_command_give_the_same_drift(
        self, first: Run, second: Run, lea: User, capfdbinary: Capture
    ) -> None:
        found = program_of(lea).get("runs/tuesday/drift?earlier=monday").json()
        assert found == members(judge.Drift, measure_drift(first, JudgeScope(second)))
        assert {"first": "Fail", "second": "Pass", "pairs": 8} in found["counts"]
        printed = manage(capfdbinary, "judge_report", "tuesday", "--drift", "monday", "--json").out
        assert json.loads(printed) == found
        lines = manage(capfdbinary, "judge_report", "tuesday", "--drift", "monday").out.decode()
        assert "changed by +20 points (" in " ".join(lines.split())
        assert re.search(r"Without\s+the\s+shift.*\+10(\.0)? points", lines, re.DOTALL)
        assert manage(capfdbinary, "judge_report", "monday", "--drift", "monday").status == 2
