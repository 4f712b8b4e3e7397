"""The export of the data behind the judge's figures: rows, formats and reveals."""

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pytest
from django.test import Client
from pyarrow import parquet

from reviews.judge import judge_data
from reviews.judge.judge_data import InvalidJudgeData, JudgeDataOptions
from reviews.models import AuditEvent, Evaluation, Reveal, Review, Run, StratumCount, User
from reviews.queue import claims
from reviews.review import blind_scoring, decisions
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import url
from tests.support.work import agree, decide

pytestmark = pytest.mark.django_db

NO = {"Clarity": {"score": "No", "justification": "It skips a step."}}


@pytest.fixture(scope="module")
def _rated(module_world: None) -> None:
    """Create the run. Tests undo their changes."""
    rated_run(*(UserFactory.create(username=name, role="reviewer") for name in ("ana", "bo")))


@pytest.fixture
def run(_rated: None) -> Run:
    return Run.objects.get(name="algebra")


@pytest.fixture
def ana(_rated: None) -> User:
    return User.objects.get(username="ana")


def rated_run(ana: User, bo: User) -> None:
    """Create a run in which ana rated a record blind and submitted it, and bo locked in scores of another."""
    Run.objects.create(name="algebra", blind_share=1)
    tasks = {"a": "1", "b": "1", "c": None}
    import_data(file_of(*(line(f"e-{name}", task_id=tasks[name]) for name in tasks)), run="algebra")
    for name, person in (("a", ana), ("b", bo)):
        record = claims.claim(evaluation_id=record_of(name).pk, reviewer=person)
        scores = {"Clarity": "No"}
        blind_scoring.lock_in(
            evaluation_id=record.pk, reviewer=person, version=1, scores=scores, fields=[], active_ms=1000
        )
    agree(record_of("a"), ana, active_ms=4000)


def record_of(name: str) -> Evaluation:
    return Evaluation.objects.get(evaluation_id=f"e-{name}")


def data(run: Run, reader: User | None = None, table: str = "ratings", format_name: str = "jsonl") -> bytes:
    return b"".join(
        judge_data.export_judge_data(options=JudgeDataOptions(run, table, format_name), reader=reader)
    )


def rows(run: Run, reader: User | None = None, table: str = "ratings") -> list[dict[str, Any]]:
    return [json.loads(one) for one in data(run, reader, table).splitlines()]


@pytest.mark.slow
def test_rating_has_the_scores_before_and_after_the_reveal(run: Run) -> None:
    submitted, locked_in = rows(run)
    assert submitted["scores"] == [{"criterion": "Clarity", "judge": "Yes", "human": "No", "final": "Yes"}]
    verdicts = ("judge_verdict", "verdict", "final_verdict")
    assert [submitted[name] for name in verdicts] == ["Pass", "Fail", "Pass"]
    assert locked_in["scores"] == [{"criterion": "Clarity", "judge": "Yes", "human": "No", "final": None}]
    assert locked_in["submitted_at"] is None
    assert (submitted["reviewer"], submitted["basis"], submitted["is_counted"]) == ("ana", "blind", True)
    assert (submitted["probability"], submitted["raters"], submitted["cell_records"]) == (1.0, 1, 3)
    assert submitted["cluster"] == locked_in["cluster"]


def test_decision_without_blind_scores_is_assisted(run: Run, lea: User) -> None:
    Run.objects.filter(pk=run.pk).update(blind_share=0)
    decide(record_of("c"), lea, scores=NO, judged={"Clarity": "Yes"})
    assisted = rows(run)[-1]
    assert (assisted["basis"], assisted["probability"], assisted["final_verdict"]) == (
        "assisted",
        None,
        "Fail",
    )


def test_rating_of_a_record_that_a_file_changed_is_not_counted(run: Run) -> None:
    import_data(
        file_of(line("e-b", task_id="1", structured_model_response={"final_answer": "3"})), run="algebra"
    )
    assert [(row["evaluation_id"], row["is_counted"]) for row in rows(run)] == [("e-a", True), ("e-b", False)]


def test_rating_has_the_time_of_its_decision_while_it_is_current(run: Run, ana: User) -> None:
    assert [(row["active_ms"], row["decision_active_ms"]) for row in rows(run)] == [
        (1000, 4000),
        (1000, None),
    ]
    decisions.undo(review=Review.objects.get(reviewer=ana))
    assert [row["decision_active_ms"] for row in rows(run)] == [None, None]


def test_population_counts_the_records_of_each_cell_and_cluster(run: Run) -> None:
    found = rows(run, table="population")
    assert sorted(row["records"] for row in found) == [1, 2]
    assert {row["cell"] for row in found} == {row["cell"] for row in rows(run)}
    assert {row["judge_verdict"] for row in found} == {"Pass"}


def test_population_is_refused_until_all_records_are_counted(run: Run) -> None:
    StratumCount.objects.all().delete()
    with pytest.raises(InvalidJudgeData, match="not all counted"):
        data(run, table="population")
    assert {row["cell_records"] for row in rows(run)} == {None}


@pytest.mark.slow
def test_tables_have_the_same_values_in_every_format(run: Run) -> None:
    for table in judge_data.TABLES:
        expected = rows(run, table=table)
        read = list(csv.DictReader(io.StringIO(data(run, None, table, "csv").decode())))
        assert [row["cell"] for row in read] == [row["cell"] for row in expected]
        found = parquet.read_table(pa.BufferReader(data(run, None, table, "parquet"))).to_pylist()
        times = {"rated_at", "submitted_at"}
        assert [{name: row[name] for name in row if name not in times} for row in found] == [
            {name: row[name] for name in row if name not in times} for row in expected
        ]


def test_scores_of_others_on_open_records_are_withheld(run: Run, lea: User) -> None:
    submitted, locked_in = rows(run, lea)
    assert (submitted["withheld"], locked_in["withheld"]) == (False, True)
    assert (locked_in["verdict"], locked_in["final_verdict"], locked_in["scores"]) == (None, None, None)
    assert not any(row["withheld"] for row in rows(run))


def test_download_reveals_the_run_and_is_recorded(as_lea: Client, run: Run, lea: User) -> None:
    assert "no longer count as blind" in as_lea.get(url("judge-data", run)).content.decode()
    assert blind_scoring.is_hidden(record_of("c"), lea)
    answer = as_lea.post(url("judge-data", run), {"table": "population", "format": "csv"})
    assert "algebra-judge-population.csv" in answer["Content-Disposition"]
    assert not blind_scoring.is_hidden(record_of("c"), lea)
    assert Reveal.objects.get(evaluation=None).reviewer == lea
    event = AuditEvent.objects.get(action="export judge data")
    assert (event.actor, event.detail) == (lea, {"table": "population", "format": "csv"})


def test_page_refuses_an_unknown_table(as_lea: Client, run: Run) -> None:
    answer = as_lea.post(url("judge-data", run), {"table": "scores", "format": "csv"})
    assert answer.status_code == 422
    assert not AuditEvent.objects.filter(action="export judge data").exists()


def test_api_returns_the_table_of_the_page(run: Run, lea: User) -> None:
    answer = program_of(lea, "export").get("runs/algebra/judge-data?table=population")
    assert answer.getvalue() == data(run, lea, "population")
    assert program_of(lea, "export").get("runs/algebra/judge-data?table=x").status_code == 422


def test_command_prints_the_ratings(run: Run, capfdbinary: Capture) -> None:
    assert manage(capfdbinary, "judge_data", "algebra").out == data(run)
    StratumCount.objects.all().delete()
    refused = manage(capfdbinary, "judge_data", "algebra", "--table", "population")
    assert (refused.status, refused.out) == (2, b"")
    assert "not all counted" in refused.err
