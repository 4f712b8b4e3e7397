"""Changes that a file made to a record, by field and word."""

from typing import Any

import pytest
from hypothesis import given

from reviews.evidence.response_diff import DiffPiece
from reviews.history.changes import FieldChange, compare_records
from reviews.records.schema import parse_line
from tests.support.json_texts import texts
from tests.support.lines import line

JUSTIFICATION = "The sum is wrong."


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[FieldChange]:
    return compare_records(parse_line(line(**before)), parse_line(line(**after)))


def clarity(score: Any, justification: str = JUSTIFICATION) -> dict[str, Any]:
    return {"parsed_rubric_scores": {"Clarity": {"score": score, "justification": justification}}}


def test_equal_records_have_no_changes() -> None:
    assert changed({}, {}) == []


def test_human_values_are_not_compared() -> None:
    assert changed({}, {"human_review_status": "Completed", "human_review_comments": "Checked."}) == []


def test_score_change_is_labelled_with_its_criterion() -> None:
    [change] = changed(clarity("Yes"), clarity("No"))
    assert change == FieldChange(
        "Clarity: score",
        [DiffPiece("removed", "Yes"), DiffPiece("added", "No")],
        "parsed_rubric_scores",
        "Clarity",
    )


def test_criterion_of_one_version_is_added_or_removed() -> None:
    for before, after, kind in (({}, clarity("No"), "added"), (clarity("No"), {}, "removed")):
        judged: dict[str, Any] = {"parsed_rubric_scores": {}}
        assert changed(judged | before, judged | after) == [
            FieldChange("Clarity: score", [DiffPiece(kind, "No")], "parsed_rubric_scores", "Clarity"),
            FieldChange("Clarity", [DiffPiece(kind, JUSTIFICATION)], "parsed_rubric_scores", "Clarity"),
        ]


def test_texts_are_compared_by_words() -> None:
    [change] = changed(
        {"parsing_error": "missing key evaluation"}, {"parsing_error": "missing value evaluation"}
    )
    assert [piece for piece in change.pieces if piece.kind != "same"] == [
        DiffPiece("removed", "key "),
        DiffPiece("added", "value "),
    ]


def test_latex_command_is_one_word() -> None:
    [change] = changed({"parsing_error": r"\frac{1}{2}"}, {"parsing_error": r"\dfrac{1}{2}"})
    assert change.pieces[:2] == [DiffPiece("removed", r"\frac"), DiffPiece("added", r"\dfrac")]


def test_raw_output_is_compared_as_text() -> None:
    [change] = changed(
        {"raw_judge_output": {"raw_content": "one\ntwo"}}, {"raw_judge_output": {"raw_content": "one\n2"}}
    )
    assert (change.label, change.pieces[0]) == ("raw_judge_output", DiffPiece("same", "one\n"))


def test_verdict_lists_and_unknown_keys_are_compared() -> None:
    found = changed({}, {"aggregated_score": None, "review_reasons": ["late"], "batch": 2})
    assert [change.label for change in found] == ["aggregated_score", "review_reasons", "extra"]


def test_unchanged_text_is_shown_only_next_to_a_change() -> None:
    words = "word " * 500
    [change] = changed({"parsing_error": f"{words}old {words}"}, {"parsing_error": f"{words}new {words}"})
    assert [piece.kind for piece in change.pieces] == ["same", "removed", "added", "same"]
    assert all(len(piece.text) < 300 for piece in change.pieces)


def test_long_different_texts_are_replaced_as_a_whole() -> None:
    [change] = changed({"parsing_error": "a b " * 1000}, {"parsing_error": "b c " * 1000})
    assert [piece.kind for piece in change.pieces] == ["removed", "added"]


@pytest.mark.parametrize("odd", [{}, [1], None, 1.5, "", True])
def test_scores_of_any_type_can_be_compared(odd: Any) -> None:
    assert [change.label for change in changed(clarity(odd), clarity("Yes"))] == ["Clarity: score"]


@given(texts, texts)
def test_pieces_of_short_texts_are_the_texts(old: str, new: str) -> None:
    before, after = (parse_line(line(parsing_error=text)) for text in (old, new))
    shown = [piece for change in compare_records(before, after) for piece in change.pieces]
    if before.parsing_error == after.parsing_error:
        assert shown == []
    else:
        assert "".join(piece.text for piece in shown if piece.kind != "added") == before.parsing_error
        assert "".join(piece.text for piece in shown if piece.kind != "removed") == after.parsing_error


def test_shortening_cuts_no_formula() -> None:
    formula = "$" + "x + " * 60 + "y$"
    before = clarity("No", f"{formula} is so. {'Words. ' * 60}{formula} The sum is 54.")
    after = clarity("No", f"{formula} is so. {'Words. ' * 60}{formula} The sum is 60.")
    [change] = changed(before, after)
    assert all(piece.text.count("$") % 2 == 0 for piece in change.pieces)
    assert DiffPiece("removed", "54") in change.pieces
