"""Odd scores of files can be opened, submitted and exported."""

import json
from functools import partial
from io import BytesIO

import pytest
from django.test import Client

from reviews.exports.verify_export import compare
from reviews.models import Evaluation, User
from reviews.records.schema import Limits
from reviews.rubric.run_rubric import run_rubric
from reviews.rubric.score_input import ScoreInput
from tests.support.decided_files import open_record, record_of, submit
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.odd_scores import LONG, ODD, odd_records
from tests.support.pages import filled_in, text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestOddScores:
    def test_odd_file_scores_can_be_opened_submitted_and_exported(self, as_ana: Client, ana: User) -> None:
        comments = f" {LONG}\r\n"
        original, records = odd_records(human_review_comments=comments)
        for name, record in records.items():
            page = open_record(as_ana, record, ana)
            assert page.status_code == 200, name
            posted = filled_in(page)
            for row in page.context["form"].rows:
                if not row.value:
                    posted[f"{row.prefix}-removed"] = "yes"
            answer = submit(as_ana, record, posted)
            if any(row.value for row in page.context["form"].rows):
                assert answer.status_code == 303, (name, text(answer)[:2000])
            else:
                assert answer.status_code == 422, name
                submit(as_ana, record, posted | {"criteria-0-score": "Yes", "criteria-0-removed": ""})
        found = [json.loads(one) for one in export_data().splitlines()]
        assert [one["evaluation_id"] for one in found] == [*ODD]
        for one in found:
            given = (one["human_reviewer_id"], one["human_review_comments"])
            assert given == ("ana", comments), one["evaluation_id"]
        compared = compare([partial(BytesIO, original)], BytesIO(export_data()), Limits())
        assert compared.problems == []


def test_file_criteria_beyond_the_form_limit_are_counted(as_ana: Client, ana: User) -> None:
    many = {f"criterion {number}": {"score": "No", "justification": ""} for number in range(1_000)}
    record = record_of(human_corrected_scores=many)
    page = open_record(as_ana, record, ana)
    assert len(page.context["form"].rows) == 150
    assert "This record has 852 more criteria than the form can show" in text(page)
    assert submit(as_ana, record, filled_in(page)).status_code == 303


def test_file_score_outside_the_rubric_can_be_chosen() -> None:
    rubric = run_rubric(record_of().run)
    found = ScoreInput(rubric, "Clarity", judged="Maybe", in_file="Perhaps").choices
    assert [choice.value for choice in found][-2:] == ["as judged", "as in the file"]
    same = ScoreInput(rubric, "Clarity", judged="Maybe", in_file="Maybe").choices
    assert [choice.score for choice in same].count("Maybe") == 1


def test_score_of_another_spelling_is_saved_as_the_judge_wrote_it(as_ana: Client, ana: User) -> None:
    judged = {
        "Clarity": {"score": "YES", "justification": ""},
        "Rigour": {"score": " no ", "justification": ""},
    }
    record_of()  # the scale of the run is inferred from it
    import_data(file_of(line("odd", parsed_rubric_scores=judged)))
    record = Evaluation.objects.get(evaluation_id="odd")
    page = open_record(as_ana, record, ana)
    rows = page.context["form"].rows
    assert [[option.label for option in row.options] for row in rows] == [["Yes", "Partial", "No"]] * 2
    submit(as_ana, record, filled_in(page) | {"criteria-1-score": "Yes"})
    odd = json.loads(export_data().splitlines()[-1])
    saved = {name: entry["score"] for name, entry in odd["human_corrected_scores"].items()}
    assert saved == {"Clarity": "YES", "Rigour": "Yes"}
