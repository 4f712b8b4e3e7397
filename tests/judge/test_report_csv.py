"""The report on a judge as one CSV table: every estimate and count of the JSON report is a row."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from reviews.judge import report
from reviews.judge.report_csv import report_csv
from reviews.judge.scope import JudgeScope
from reviews.models import User
from tests.judge.test_report import reviewed
from tests.support.commands import Capture, manage

pytestmark = pytest.mark.django_db


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def estimates(found: Any) -> Iterator[dict[str, Any]]:
    """Yield every estimate in a report as JSON."""
    if isinstance(found, dict):
        if {"value", "low", "high"} <= {*found}:
            yield found
        for value in found.values():
            yield from estimates(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from estimates(value)


@pytest.mark.slow
def test_report_csv_has_a_row_for_each_estimate(ana: User) -> None:
    found = report.build_report(JudgeScope(reviewed(ana))).as_json()
    rows = [row for row in table(b"".join(report_csv(found))) if row["n"]]
    expected = [(str(one["value"]), str(one["n"]), one["why"]) for one in estimates(found)]
    assert expected
    assert sorted((row["value"] or "None", row["n"], row["why"]) for row in rows) == sorted(expected)


def test_report_csv_names_what_a_figure_is_about() -> None:
    estimate = {"value": 0.5, "low": 0.2, "high": 0.8, "n": 12, "why": ""}
    group = {"judge": "=1+1", "template": "p.txt", "model": "o1"}
    figures = {"criterion": "Clarity", "basis": "blind", "group": group, "accuracy": estimate, "n": 12}
    matrix = {"scores": ["Yes", "No"], "judge_by_human": [[5, 1], [0, 6]]}
    found = {"version": 2, "accuracy": {"groups": [figures | {"table": matrix}]}}
    rows = table(b"".join(report_csv(found)))
    about = "criterion: Clarity; basis: blind; judge: =1+1; template: p.txt; model: o1"
    assert [(row["part"], row["figure"], row["value"], row["high"]) for row in rows] == [
        ("accuracy", "groups.accuracy", "0.5", "0.8"),
        ("accuracy", "groups.n", "12", ""),
        *(("accuracy", "groups.table", value, "") for value in ("5", "1", "0", "6")),
    ]
    assert rows[0]["subject"] == about
    assert rows[3]["subject"] == f"{about}; judge: Yes; human: No"


@pytest.mark.slow
def test_judge_command_prints_csv(ana: User, capfdbinary: Capture) -> None:
    reviewed(ana)
    rows = table(manage(capfdbinary, "judge_report", "evaluations", "--csv").out)
    assert {"progress", "missed_errors", "leaderboard"} <= {row["part"] for row in rows}
