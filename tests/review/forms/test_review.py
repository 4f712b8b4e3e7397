"""The review form: from posted fields to a decision."""

import re
from typing import Any
from uuid import UUID

import pytest

from reviews.models import Draft, Evaluation, Review
from reviews.records import score_extraction
from reviews.records.rubric import Cause, Rubric, VerdictRule
from reviews.records.scales import ValueScale
from reviews.records.scores import AS_JUDGED
from reviews.review.entries import MAX_CRITERIA, MAX_TEXT
from reviews.review.forms.escalation import EscalationForm
from reviews.review.forms.review import ReviewForm
from tests.support.factories import EvaluationFactory
from tests.support.rubrics import rubric_of

pytestmark = pytest.mark.django_db

SUBMISSION = "6d0b4a52-9f6f-4c8e-9d0e-0c7d3a1f2b11"
SCORES: dict[str, dict[str, Any]] = {
    "Clarity": {"score": "Yes", "justification": "Each step\nfollows.", "confidence": 0.9},
    "Depth": {"score": "No", "justification": r"Ends with \(\frac{1}{2}\)."},
}


def made(**fields: Any) -> Evaluation:
    return EvaluationFactory.build(**({"version": 1} | fields))


@pytest.fixture
def record() -> Evaluation:
    return made(parsed_rubric_scores=SCORES, aggregated_score="Fail", version=3)


def posted(record: Evaluation, **changes: Any) -> dict[str, str]:
    """The fields that a browser posts, with changes such as `score_1="Yes"`. None omits a field."""
    form = ReviewForm(record)
    data: dict[str, Any] = {"version": str(record.version), "submission": SUBMISSION, "comments": ""}
    for row in form.rows:
        data |= {f"{row.prefix}-name": row.typed_name, f"{row.prefix}-score": row.value}
        data[f"{row.prefix}-justification"] = re.sub(r"\r\n|\n", "\r\n", row.reason)
    for key, value in changes.items():
        field, _, number = key.partition("_")
        data[f"criteria-{number}-{field}" if number else field] = value
    return {key: value for key, value in data.items() if value is not None}


def sent(record: Evaluation, **changes: Any) -> ReviewForm:
    return ReviewForm(record, posted(record, **changes))


def valid(record: Evaluation, **changes: Any) -> ReviewForm:
    form = sent(record, **changes)
    assert form.is_valid(), form.errors
    return form


def test_form_is_prefilled_with_the_judges_scores(record: Evaluation) -> None:
    form = ReviewForm(record)
    assert [(row.title, row.value, row.judged_text, row.reason) for row in form.rows] == [
        ("Clarity", "Yes", "Each step\nfollows.", ""),
        ("Depth", "No", r"Ends with \(\frac{1}{2}\).", ""),
    ]
    assert (form.submit_label, form.verdict_change) == ("Agree & next", "Fail")


def test_agreeing_saves_the_judges_entries_unchanged(record: Evaluation) -> None:
    form = valid(record)
    assert form.decision["scores"] == SCORES
    assert form.decision["origins"] == {"Clarity": "judge", "Depth": "judge"}
    assert form.cleaned_data["submission"] == UUID(SUBMISSION)
    assert form.changes == 0


def test_decision_stores_judge_scores_and_words_to_read(record: Evaluation) -> None:
    form = valid(record, score_1="Partial")
    assert form.decision["judged"] == {"Clarity": "Yes", "Depth": "No"}
    assert form.decision["words"] == 6


def test_extracted_score_is_not_called_the_judges() -> None:
    raw = r'{"clarity": {"score": "Yes", "justification": "So \(x\)."}, "depth": {"score": "No"}}'
    record = made(parsed_rubric_scores={}, raw_judge_output={"raw_content": raw})
    form = valid(record, score_1="Partial")
    assert form.decision["origins"] == {"clarity": "extracted", "depth": "human"}
    assert form.decision["scores"]["clarity"] == {"score": "Yes", "justification": r"So \(x\)."}
    assert form.decision["judged"] == {"clarity": "Yes", "depth": "No"}


def test_other_score_is_the_reviewers(record: Evaluation) -> None:
    form = valid(record, score_1="Partial", justification_1="Only\r\nhalf.")
    assert form.decision["scores"] == {
        **SCORES,
        "Depth": {"score": "Partial", "justification": "Only\nhalf.", "justification_by": "reviewer"},
    }
    assert form.decision["origins"] == {"Clarity": "judge", "Depth": "human"}
    assert (form.rows[1].change, form.submit_label) == ("No → Partial", "Submit 1 change")
    assert form.verdict_change == "Fail → Partial"


def test_same_score_with_other_justification_is_the_judges(record: Evaluation) -> None:
    form = valid(record, justification_1="Too shallow.")
    assert form.decision["scores"]["Depth"] == {
        "score": "No",
        "justification": "Too shallow.",
        "justification_by": "reviewer",
    }
    assert form.decision["origins"]["Depth"] == "judge"
    assert form.changes == 1


def test_no_reason_leaves_the_judges_words_to_another_score(record: Evaluation) -> None:
    judged = SCORES["Depth"]["justification"]
    form = valid(record, score_1="Partial", justification_1=" ")
    assert form.decision["scores"]["Depth"] == {
        "score": "Partial",
        "justification": judged,
        "justification_by": "judge",
    }
    assert not form.rows[1].is_edited


class TestEarlierReason:
    """The reason of an earlier decision, on a form that revises it."""

    def revised(self, record: Evaluation, entry: dict[str, Any], origin: str = "human") -> Evaluation:
        scores = {"Clarity": SCORES["Clarity"], "Depth": entry}
        record.review = Review(corrected_scores=scores, origins={"Clarity": "judge", "Depth": origin})
        return record

    def test_earlier_reason_is_prefilled_and_can_be_cleared(self, record: Evaluation) -> None:
        entry = {"score": "Partial", "justification": "Half.", "justification_by": "reviewer"}
        form = valid(self.revised(record, entry))
        assert [row.reason for row in form.rows] == ["", "Half."]
        assert form.decision["scores"]["Depth"] == entry
        cleared = valid(record, justification_1="").decision["scores"]["Depth"]
        assert cleared == {
            "score": "Partial",
            "justification": SCORES["Depth"]["justification"],
            "justification_by": "judge",
        }

    @pytest.mark.parametrize(
        ("entry", "origin"),
        [
            ({"score": "Partial", "justification": "Before.", "justification_by": "judge"}, "human"),
            ({"score": "No", "justification": "Before."}, "judge"),
        ],
    )
    def test_judges_words_of_an_earlier_import_become_those_of_today(
        self, record: Evaluation, entry: dict[str, Any], origin: str
    ) -> None:
        form = valid(self.revised(record, entry, origin))
        assert form.rows[1].reason == ""
        saved = form.decision["scores"]["Depth"]
        assert saved == entry | {"justification": SCORES["Depth"]["justification"]}

    def test_entry_of_a_file_without_words_is_unchanged(self, record: Evaluation) -> None:
        record.human_corrected_scores = {"Clarity": SCORES["Clarity"], "Depth": {"score": "Partial"}}
        assert valid(record).decision["scores"]["Depth"] == {"score": "Partial"}


@pytest.mark.parametrize("score", [4, 0.5, True, "Mostly"])
def test_agreeing_keeps_the_type_of_a_score_outside_the_rubric(score: Any) -> None:
    record = made(parsed_rubric_scores={"Rigour": {"score": score, "justification": "."}})
    form = valid(record, justification_0="Quite so.")
    assert form.rows[0].value == AS_JUDGED
    entry = {"score": score, "justification": "Quite so.", "justification_by": "reviewer"}
    assert form.decision["scores"] == {"Rigour": entry}
    assert type(form.decision["scores"]["Rigour"]["score"]) is type(score)


def test_criterion_can_be_added(record: Evaluation) -> None:
    form = valid(record, name_2=" Elegance ", score_2="Yes", justification_2="")
    assert form.decision["scores"]["Elegance"] == {"score": "Yes", "justification": ""}
    assert form.decision["origins"]["Elegance"] == "human"


def test_blank_added_row_is_ignored(record: Evaluation) -> None:
    form = valid(record, name_2="", justification_2=" ")
    assert form.decision["scores"] == SCORES
    assert form.submit_label == "Agree & next"


def test_criterion_can_be_excluded(record: Evaluation) -> None:
    form = valid(record, removed_1="yes", score_1=None)
    assert list(form.decision["scores"]) == ["Clarity"]
    assert form.verdict_change == "Fail → Pass"


def test_added_criterion_needs_a_name(record: Evaluation) -> None:
    form = sent(record, name_2="", score_2="Yes")
    assert not form.is_valid()
    assert form.rows[2].errors["name"] == ["Name the criterion."]


def test_criterion_needs_a_score(record: Evaluation) -> None:
    form = sent(record, score_0=None, score_1="")
    assert not form.is_valid()
    assert form.rows[0].errors["score"] == ["Choose a score."]
    assert form.non_field_errors() == ["Nothing is submitted yet: 2 criteria need your attention."]
    assert form.submit_label == "2 scores missing"


def test_score_must_be_one_of_the_choices(record: Evaluation) -> None:
    for made_up in ("Maybe", AS_JUDGED):
        form = sent(record, score_0=made_up)
        assert not form.is_valid()
        assert form.rows[0].errors["score"] == ["Choose one of these scores: Yes, Partial, No."]


def test_criteria_need_different_names(record: Evaluation) -> None:
    form = sent(record, name_2=" Depth", score_2="Yes")
    assert not form.is_valid()
    assert form.rows[2].errors["name"] == ["Another criterion has this name."]


def test_review_needs_a_criterion(record: Evaluation) -> None:
    form = sent(record, removed_0="yes", removed_1="yes")
    assert not form.is_valid()
    assert form.non_field_errors() == ["A review needs at least one criterion with a score."]


def test_form_without_all_criteria_is_invalid(record: Evaluation) -> None:
    form = ReviewForm(record, {"version": "3", "submission": SUBMISSION})
    assert not form.is_valid()
    assert [row.title for row in form.rows] == ["Clarity", "Depth"]


def test_null_character_is_refused_at_its_field(record: Evaluation) -> None:
    form = sent(record, justification_1="a\x00b", name_2="c\x00d", score_2="No", comments="e\x00f")
    assert not form.is_valid()
    assert form.rows[1].errors["justification"] == ["Null characters are not allowed."]
    assert form.rows[2].errors["name"] == ["Null characters are not allowed."]
    assert form.errors["comments"] == ["Null characters are not allowed."]


def test_text_of_megabytes_is_refused_with_its_length(record: Evaluation) -> None:
    form = sent(record, justification_0="x" * 2_000_000, comments="y" * 2_000_000)
    assert not form.is_valid()
    assert form.rows[0].errors["justification"] == [
        f"This has 2,000,000 characters. The limit is {MAX_TEXT:,}."
    ]
    assert "comments" in form.errors


@pytest.mark.slow
def test_judge_text_of_megabytes_can_be_agreed_with() -> None:
    text = "A long proof.\r\n" * 100_000
    record = made(parsed_rubric_scores={"Proof": {"score": "Yes", "justification": text}})
    assert valid(record).decision["scores"]["Proof"]["justification"] == text
    assert ReviewForm(record).is_heavy


def test_too_many_rows_are_refused(record: Evaluation) -> None:
    rows = {f"name_{number}": f"criterion {number}" for number in range(2, MAX_CRITERIA + 1)}
    form = sent(record, **rows)
    assert not form.is_valid()
    assert form.non_field_errors() == [f"A review takes at most {MAX_CRITERIA} criteria."]


def test_record_with_too_many_criteria_says_how_many_are_left_out() -> None:
    many = {f"criterion {number}": {"score": "Yes"} for number in range(MAX_CRITERIA + 10)}
    form = ReviewForm(made(parsed_rubric_scores=many))
    assert (len(form.rows), form.left_out) == (MAX_CRITERIA, 10)


def test_form_without_version_and_submission_is_outdated(record: Evaluation) -> None:
    for version, submission in ((None, None), ("x", "y"), ("99999999999999999999", "0"), ("-1", "")):
        form = sent(record, version=version, submission=submission)
        assert not form.is_valid()
        assert form.errors["version"] == form.errors["submission"]
        assert "outdated" in form.errors["version"][0]


def test_record_without_scores_starts_with_one_empty_row() -> None:
    form = ReviewForm(made(parsed_rubric_scores={}, aggregated_score=None))
    assert [(row.typed_name, row.value) for row in form.rows] == [("", "")]
    assert (form.submit_label, form.verdict_change) == ("1 score missing", "incomplete")


def test_adding_a_row_shows_no_errors(record: Evaluation) -> None:
    form = ReviewForm(record, posted(record, name_2="Elegance", justification_2="Short."), added=1)
    assert [row.typed_name for row in form.rows] == ["Clarity", "Depth", "Elegance", ""]
    assert form.rows[2].reason == "Short."
    assert not form.shows_errors


def test_posted_form_of_a_reimported_record_matches_criteria_by_name(
    record: Evaluation,
) -> None:
    typed = posted(record, score_1="Partial")
    record.parsed_rubric_scores = {
        "Depth": {"score": "Yes", "justification": "New."},
        "Style": {"score": "No"},
    }
    form = ReviewForm(record, typed)
    changes = {row.title: (row.judged, row.value) for row in form.rows}
    assert changes == {"Clarity": ("", "Yes"), "Depth": ("Yes", "Partial"), "Style": ("No", "No")}
    assert not form.is_valid()


class TestRunRubric:
    @pytest.fixture
    def graded(self) -> Evaluation:
        record = made(
            parsed_rubric_scores={"Rigour": {"score": 2, "justification": "."}}, aggregated_score=None
        )
        scale, rule = ValueScale((4, 2), unranked=("n/a",)), VerdictRule("mean", 3, 1)
        record.run.rubric = rubric_of("Rigour", "Style", scale=scale, rule=rule).as_json()
        return record

    def test_form_scores_keep_their_json_type(self, graded: Evaluation) -> None:
        form = valid(graded, score_0="4", score_1="n/a")
        scores = form.decision["scores"]
        assert (scores["Rigour"]["score"], scores["Style"]["score"]) == (4, "n/a")
        assert form.rows[0].change == "2 → 4"

    def test_form_has_blank_rows_for_missing_criteria_of_the_rubric(self, graded: Evaluation) -> None:
        form = ReviewForm(graded)
        assert [(row.title, row.value) for row in form.rows] == [("Rigour", "2"), ("Style", "")]
        assert form.submit_label == "1 score missing"
        decided = valid(graded, score_1="4", justification_1="Fine.").decision
        assert decided["scores"]["Style"] == {
            "score": 4,
            "justification": "Fine.",
            "justification_by": "reviewer",
        }
        assert decided["origins"]["Style"] == "human"

    def test_form_verdict_follows_the_rule_of_the_run(self, graded: Evaluation) -> None:
        assert sent(graded, score_0="4", score_1="4").verdict_change == "Partial → Pass"

    def test_form_passes_the_rule_to_the_script(self, graded: Evaluation) -> None:
        assert ReviewForm(graded).rule_json == '{"rule": "mean", "pass_from": 3, "partial_from": 1}'


class TestCauses:
    def test_cause_counts_only_for_changed_entries(self, record: Evaluation) -> None:
        form = valid(record, score_1="Yes", cause_0="too strict", cause_1="too strict")
        assert form.decision["causes"] == {"Depth": "too strict"}

    def test_cause_may_explain_a_right_score_with_a_wrong_reason(self, record: Evaluation) -> None:
        form = valid(record, justification_1="Not for that.", cause_1="right score, wrong reasoning")
        assert form.decision["causes"] == {"Depth": "right score, wrong reasoning"}

    def test_causes_about_reference_and_verifier_need_them(self) -> None:
        record = made(parsed_rubric_scores=SCORES, final_answer_verified=None, verification_message="")
        form = ReviewForm(record)
        assert not {"wrong reference", "verifier error"} & {one.word for one in form.rows[0].causes}
        form.note_evidence(has_evidence=True, has_reference=True)
        words = {one.word for one in form.rows[0].causes}
        assert ("wrong reference" in words, "verifier error" in words) == (True, False)

    def test_cause_is_optional(self, record: Evaluation) -> None:
        assert valid(record, score_1="Yes", cause_1="").decision["causes"] == {}

    def test_form_offers_the_causes_of_the_run(self, record: Evaluation) -> None:
        record.run.rubric = Rubric(causes=(Cause("Sloppy"),)).as_json()
        assert valid(record, score_1="Yes", cause_1="sloppy").decision["causes"] == {"Depth": "sloppy"}
        form = sent(record, score_1="Yes", cause_1="too strict")
        assert not form.is_valid()
        assert form.rows[1].errors["cause"] == ["Choose one of the causes."]


def test_incomplete_draft_fills_a_new_form(record: Evaluation) -> None:
    fields = [["criteria-0-name", "Depth"], ["criteria-0-score", ""], ["comments", "I was here."]]
    form = ReviewForm(record, draft=Draft(fields=fields, revision=4))
    assert [(row.title, row.value) for row in form.rows] == [("Depth", ""), ("Clarity", "Yes")]
    assert (form.comment, form.revision, form.shows_errors) == ("I was here.", 4, False)
    assert form["version"].value() == record.version


def test_decision_stores_the_version_of_the_extractor(record: Evaluation) -> None:
    raw = {"raw_content": '{"clarity": {"score": "Yes", "justification": "."}}'}
    extracted = made(parsed_rubric_scores={}, raw_judge_output=raw)
    assert valid(extracted).decision["extractor"] == score_extraction.VERSION
    assert valid(record).decision["extractor"] is None


class TestEscalationForm:
    @pytest.mark.parametrize(
        ("posted", "reason"),
        [
            ({"kind": "cannot judge", "reason": "no response"}, "no response"),
            ({"kind": "cannot judge", "note": "It is in Finnish."}, ""),
            ({"kind": "question", "reason": "no response", "note": "Is it?"}, "question"),
        ],
    )
    def test_escalation_needs_a_reason_or_a_note(self, posted: dict[str, str], reason: str) -> None:
        form = EscalationForm(posted)
        assert form.is_valid()
        assert form.cleaned_data["reason"] == reason

    def test_escalation_reasons_are_in_the_order_of_their_keys(self) -> None:
        values = [reason.value for reason in EscalationForm().reasons]
        assert values == ["no response", "no reference", "unreadable output", "out of my field"]


def test_rows_share_their_fields_and_keep_their_own_values(record: Evaluation) -> None:
    first, second = sent(record, score_0="No").rows, ReviewForm(record).rows
    assert first[0].fields["score"] is second[1].fields["score"]
    assert first[0].fields is not second[0].fields
    assert [row.value for row in (*first, *second)] == ["No", "No", "Yes", "No"]
    assert 'name="criteria-1-name" value="Depth"' in str(first[1]["name"])
