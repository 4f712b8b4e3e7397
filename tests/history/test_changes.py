"""Comparison of two versions of a record, and the sentence about a re-import."""

from typing import Any

import pytest
from hypothesis import given

from reviews.evidence.response_diff import DiffPiece
from reviews.history.changes import FieldChange, changes_since_review, compare_records, summarise_changes
from reviews.models import Evaluation, User
from reviews.records.schema import parse_line
from reviews.rubric.proposals import read_proposals
from reviews.rubric.run_rubric import run_rubric
from tests.support.json_texts import texts
from tests.support.lines import file_of, import_data, line
from tests.support.work import agree, decide

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


RAW = '{"Clarity": {"score": "%s", "justification": "Read."}}'


def raw(score: str) -> dict[str, Any]:
    """Fields of a record whose scores are extracted from raw output."""
    return {"parsed_rubric_scores": {}, "raw_judge_output": {"raw_content": RAW % score}}


def summary(name: str = "eval_1") -> str:
    evaluation = Evaluation.objects.get(evaluation_id=name)
    proposals = read_proposals(evaluation, run_rubric(evaluation.run))
    return summarise_changes(evaluation, proposals, changes_since_review(evaluation))


def scored(score: str, **others: str) -> dict[str, Any]:
    scores = {"Clarity": score, **others}
    judged = {
        name: {"score": given, "justification": "Every step is there."} for name, given in scores.items()
    }
    return {"parsed_rubric_scores": judged}


CHANGES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (scored("Yes"), scored("No"), "Clarity: judge Yes → No"),
    (scored("Yes"), scored("No") | {"aggregated_score": "Fail"}, "Clarity: judge Yes → No"),
    (scored("Yes"), scored("Yes", Rigour="No"), "Rigour: new, judge No"),
    (scored("Yes", Rigour="No"), scored("Yes"), "Rigour: no longer scored by the judge"),
    (
        scored("Yes"),
        {"parsed_rubric_scores": {"Clarity": {"score": "Yes", "justification": "Clear."}}},
        "Clarity: justification changed",
    ),
    (scored("Yes"), scored("Yes") | {"structured_model_response": "54"}, "Model response changed"),
    (
        scored("Yes"),
        scored("No") | {"structured_model_response": "54", "structured_ideal_response": "60"},
        "Clarity: judge Yes → No; model response changed; 1 more change",
    ),
    (
        scored("Yes"),
        scored("Partial", Rigour="No") | {"structured_model_response": "54", "parsing_error": "Cut off."},
        "Clarity: judge Yes → Partial; Rigour: new, judge No; 2 more changes",
    ),
    (scored("Yes"), scored("Yes") | {"task_id": "other"}, "Other fields changed"),
    (raw("Yes"), raw("No"), "Clarity: judge Yes → No"),
]


@pytest.mark.slow
def test_summary_names_the_changes_for_a_reviewer(bo: User) -> None:
    names = [f"eval_{number}" for number in range(len(CHANGES))]
    import_data(file_of(*(line(name, **before) for name, (before, _, _) in zip(names, CHANGES, strict=True))))
    for name in names:
        agree(Evaluation.objects.get(evaluation_id=name), bo)
    import_data(file_of(*(line(name, **after) for name, (_, after, _) in zip(names, CHANGES, strict=True))))
    assert all(one.is_outdated for one in Evaluation.objects.all())
    assert [summary(name) for name in names] == [sentence for _, _, sentence in CHANGES]


@pytest.mark.slow
def test_summary_after_a_decision_without_the_judges_scores_compares_the_lines(bo: User) -> None:
    import_data(file_of(line(**scored("Yes", Rigour="No"))))
    decide(Evaluation.objects.get(), bo)
    import_data(file_of(line(**scored("No"))))
    assert summary() == "Clarity: judge Yes → No; Rigour: no longer scored by the judge"


def test_summary_without_stored_line_says_so(bo: User) -> None:
    import_data(file_of(line(**scored("Yes"))))
    agree(Evaluation.objects.get(), bo)
    evaluation = Evaluation.objects.get()
    proposals = read_proposals(evaluation, run_rubric(evaluation.run))
    assert summarise_changes(evaluation, proposals, []) == "Re-imported with changes"
