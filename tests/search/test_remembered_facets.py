"""Remembered facets equal those that are computed for each record."""

from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records.rubric import Criterion, Rubric, VerdictRule
from reviews.records.scales import RangeScale, ValueScale
from reviews.search import remembered_facets
from reviews.search.facets import MAX_FACETS, JudgedCriterion, record_facets
from reviews.search.remembered_facets import facets_by

_TRUTH = ValueScale((True, False), pass_from=True)
_NUMBERS = ValueScale((1, 0), pass_from=1)
RUBRICS = (
    Rubric(),
    Rubric((Criterion("Final Answer"), Criterion("Rigor", scale=RangeScale(0, 4, pass_from=3))), _TRUTH),
    Rubric((Criterion("Final Answer"), Criterion("Rigor")), _NUMBERS),
    Rubric(scale=RangeScale(0, 4), rule=VerdictRule("mean", pass_from=3, partial_from=2)),
)
SCORES: st.SearchStrategy[Any] = st.sampled_from(
    [
        "Yes",
        "Partial",
        "No",
        "no ",
        "",
        "1",
        0,
        1,
        4,
        -(10**20),
        True,
        False,
        0.0,
        -0.0,
        1.0,
        3.5,
        None,
        [],
        {"a": 1},
    ]
)
JUSTIFICATIONS = st.sampled_from(
    ["", " ", "The proof is correct.", "It is wrong.", "No errors.", "Steps are missing"]
)
CRITERIA = st.sampled_from(["Final Answer", "Rigor", "Correctness", "x" * 300])


class Record(NamedTuple):
    """The fields of a record that facets depend on."""

    aggregated_score: str | None
    final_answer_verified: bool | None
    verification_message: str | None
    parsing_error: str | None
    review_reasons: list[str]
    model_id: str | None = "model"
    judge_llm_model: str = "judge"
    judge_prompt_template_path: str = "prompt"


RECORDS = st.builds(
    Record,
    st.sampled_from(["Pass", "Partial", "Fail", None]),
    st.sampled_from([True, False, None]),
    st.sampled_from(
        [None, "Match (Extracted: '1', Correct: '')", "Verification skipped: Correct answer was None."]
    ),
    st.sampled_from([None, "broken"]),
    st.lists(st.sampled_from(["Sampled (1 of 10)", "Low score", "Low score: 3"]), max_size=3),
)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            RECORDS, st.lists(st.builds(JudgedCriterion, CRITERIA, SCORES, JUSTIFICATIONS), max_size=4)
        ),
        min_size=2,
        max_size=12,
    )
)
def test_facets_equal_those_of_the_record_alone(records: list[tuple[Any, list[JudgedCriterion]]]) -> None:
    for record, judged in records:
        for rubric in RUBRICS:
            assert facets_by(rubric).facets(record, judged) == record_facets(record, judged, rubric)


def test_number_of_facets_is_limited() -> None:
    record: Any = Record(None, None, None, None, [])
    judged = [JudgedCriterion(f"criterion {number}", "Yes", "") for number in range(2 * MAX_FACETS)]
    assert len(facets_by(Rubric()).facets(record, judged).keys) == MAX_FACETS


def test_remembered_scores_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_facets, "_MAX_KNOWN", 3)
    record: Any = Record(None, None, None, None, [])
    by = remembered_facets.RubricFacets(Rubric())
    for number in range(10):
        by.facets(record, [JudgedCriterion("Rigor", f"score {number}", "")])
    assert len(by._known) == 3


def test_batches_with_equal_rubrics_share_what_is_remembered() -> None:
    first = facets_by(Rubric((Criterion("Rigor"),)))
    assert facets_by(Rubric((Criterion("Rigor"),))) is first
    for number in range(10):
        facets_by(Rubric((Criterion(str(number)),)))
    assert facets_by(Rubric((Criterion("Rigor"),))) is not first
