"""Odd scores of files can be opened, submitted and exported."""

import json
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.exports.verify_export import compare
from reviews.models import Evaluation, Review, User
from reviews.records.schema import Limits
from reviews.review import decisions, undo
from reviews.rubric.run_rubric import run_rubric
from reviews.rubric.score_input import ScoreInput
from tests.support.decided_files import BY_CARLA, JUDGED, open_record, record_of, submit
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import filled_in, text
from tests.support.work import decide, restore_version

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LONG = "x" * 150_000
ODD: dict[str, Any] = {
    "no object": {"Clarity": "No", "Rigour": 3, "Style": True},
    "no score": {"Clarity": {"justification": "Why?"}, "Rigour": None, "Style": {}},
    "a score that is none of the run's": {"Clarity": {"score": "Perhaps", "justification": "Hm."}},
    "scores of other types": {"Clarity": {"score": ["No"]}, "Rigour": {"score": {"a": 1}}, "Style": [1, [2]]},
    "a justification that is no text": {"Clarity": {"score": "No", "justification": {"a": ["b"]}}},
    "names that no form would take": {
        "": {"score": "No"},
        " a\nb ": {"score": "No"},
        "n" * 600: {"score": "No"},
    },
    "names that differ by spaces": {"Clarity": {"score": "No"}, " Clarity ": {"score": "Yes"}},
    "long texts": {"Clarity": {"score": "No", "justification": LONG}},
    "very large numbers": {"Clarity": {"score": 10**30}, "Rigour": {"score": 1e300}},
    "characters that break things": {"Clarity": {"score": "N\0o", "justification": "<script>\u2028\r\n"}},
    "markup": {"<b>x</b>": {"score": "<i>No</i>", "justification": "</textarea>"}},
    "words that the form uses": {"Clarity": {"score": "as judged"}, "Rigour": {"score": "as in the file"}},
    "nothing": {},
}
# Those whose history is always tried.
USUAL_ODD = ("scores of other types", "names that no form would take", "characters that break things")


def odd_records(**human: Any) -> tuple[bytes, dict[str, Evaluation]]:
    """Import a record for each of the odd scores. Return the file and the records."""
    values = {"parsed_rubric_scores": JUDGED, **BY_CARLA, **human}
    file = file_of(
        *(
            line(name, **values | {"task_id": name, "response_id": name, "human_corrected_scores": scores})
            for name, scores in ODD.items()
        )
    )
    import_data(file)
    return file, {record.evaluation_id: record for record in Evaluation.objects.select_related("run")}


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

    @pytest.mark.parametrize("names", [USUAL_ODD, pytest.param((*ODD,), marks=pytest.mark.exhaustive)])
    def test_odd_file_scores_survive_undo_revision_and_restore(
        self, names: tuple[str, ...], as_ana: Client, as_lea: Client, ana: User, lea: User
    ) -> None:
        given = {"Clarity": {"score": "No", "justification": ""}}
        for name, record in odd_records()[1].items():
            if name not in names:
                continue
            known = Evaluation.objects.filter(pk=record.pk)
            decide(record, ana, scores=given, origins={"Clarity": "human"})
            undo.undo(run=record.run, actor=ana)
            assert as_ana.get(reverse("evaluation", args=[record.pk])).status_code == 200, name
            record.refresh_from_db()
            assert (record.human_corrected_scores or {}).keys() == {
                criterion.replace("\0", "\ufffd") for criterion in ODD[name]
            }
            known.update(human_review_status="Completed")
            decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Once more.")
            decide(known.get(), lea, scores=given, origins={"Clarity": "human"})
            from_file = Review.objects.get(evaluation=record, origin="file")
            restore_version(known.get(), lea, from_file.version)
            for page in ("evaluation", "revise", "record-history"):
                assert as_lea.get(reverse(page, args=[record.pk])).status_code == 200, (name, page)
            undo.undo(run=record.run, actor=lea)
            assert as_lea.get(reverse("evaluation", args=[record.pk])).status_code == 200, name
        assert len(export_data().splitlines()) == len(ODD)


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
