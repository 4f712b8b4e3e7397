"""Records that a file changed after their review: the changes, and the prefilled form."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Review, User
from reviews.queue import claims
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import filled_in, text
from tests.support.work import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SCORES = {
    "Clarity": {
        "score": "Partial",
        "justification": "One step is missing.",
        "justification_by": "reviewer",
    },
    "Rigour": {"score": "No", "justification": "Nothing is proved.", "justification_by": "reviewer"},
}


def record(score: Any, justification: str, **changes: Any) -> bytes:
    judged = {"Clarity": {"score": score, "justification": justification}}
    return line(parsed_rubric_scores=judged, **changes)


@pytest.fixture
def stale(bo: User, ana: User) -> Evaluation:
    """A record decided by bo, changed by a file, and claimed by ana."""
    import_data(file_of(record("Yes", "Every step is there.")))
    decide(Evaluation.objects.get(), bo, scores=SCORES, comments="Checked.")
    import_data(file_of(record("No", "Every step is <b>wrong</b>.", aggregated_score="Fail")))
    return claims.claim(evaluation_id=Evaluation.objects.get().pk, reviewer=ana)


def page(client: Client, evaluation: Evaluation) -> Any:
    return client.get(reverse("evaluation", args=[evaluation.pk]))


def test_outdated_decision_shows_changes_of_the_record(as_ana: Client, stale: Evaluation) -> None:
    shown = text(page(as_ana, stale))
    assert "Changed since the decision by bo" in shown
    assert "<del>Yes</del><ins>No</ins>" in shown
    assert "<ins>&lt;b&gt;wrong&lt;/b&gt;" in shown
    assert '<h3 class="mono">aggregated_score</h3>' in shown
    assert "<del>Pass</del><ins>Fail</ins>" in shown


def test_outdated_decision_prefills_the_form(as_ana: Client, stale: Evaluation) -> None:
    shown = page(as_ana, stale).context["form"]
    assert [(row.typed_name, row.value, row.reason) for row in shown.rows] == [
        ("Clarity", "Partial", "One step is missing."),
        ("Rigour", "No", "Nothing is proved."),
    ]
    assert shown.comment == "Checked."
    assert shown.submit_label == "Submit 2 changes"


def test_outdated_decision_says_in_one_sentence_what_changed(as_ana: Client, stale: Evaluation) -> None:
    shown = text(page(as_ana, stale))
    assert "<strong>Outdated decision by bo.</strong> Clarity: judge Yes → No.</p>" in shown


def test_form_on_outdated_decision_has_the_judges_new_justification(
    as_ana: Client, stale: Evaluation
) -> None:
    clarity = page(as_ana, stale).context["form"].rows[0]
    assert (clarity.judged_text, clarity.reason) == ("Every step is <b>wrong</b>.", "One step is missing.")


def test_outdated_decision_can_be_submitted_by_another_reviewer(
    as_ana: Client, stale: Evaluation, ana: User
) -> None:
    response = as_ana.post(reverse("submit", args=[stale.pk]), filled_in(page(as_ana, stale)))
    assert response.status_code == 303
    review = Review.objects.get(version=2)
    assert (review.reviewer, review.corrected_scores) == (ana, SCORES)
    assert review.origins == {"Clarity": "human", "Rigour": "human"}
    assert "Changed since" not in text(page(as_ana, stale))


def test_outdated_decision_requires_a_score_the_judge_removed(as_ana: Client, bo: User, ana: User) -> None:
    import_data(file_of(record("Mostly", "")))
    decide(Evaluation.objects.get(), bo, scores={"Clarity": {"score": "Mostly", "justification": ""}})
    import_data(file_of(record("Hardly", "")))
    evaluation = claims.claim(evaluation_id=Evaluation.objects.get().pk, reviewer=ana)
    assert page(as_ana, evaluation).context["form"].submit_label == "1 score missing"


def test_outdated_decision_is_readable_without_claim(as_ana: Client, stale: Evaluation, ana: User) -> None:
    claims.release(evaluation_id=stale.pk, actor=ana)
    shown = text(page(as_ana, stale))
    assert "<h2>Outdated decision</h2>" in shown
    assert "Outdated decision by bo.</strong> Clarity: judge Yes → No" in shown
    assert "Decided by bo" in shown
    assert "Needs Review · last" not in shown
    assert " · outdated · Fail" in shown
    assert "Changed since the decision by bo" in shown


def test_outdated_decision_opens_without_stored_file(as_ana: Client, ana: User, bo: User) -> None:
    decide(EvaluationFactory.create(), bo)
    Evaluation.objects.update(is_outdated=True, human_review_status="Needs Review")
    evaluation = claims.claim(evaluation_id=Evaluation.objects.get().pk, reviewer=ana)
    shown = text(page(as_ana, evaluation))
    assert "Outdated decision by bo.</strong>" in shown
    assert "Changed since the decision by bo" not in shown


def test_outdated_decision_is_marked_in_the_list(as_ana: Client, stale: Evaluation) -> None:
    shown = text(as_ana.get(reverse("run", args=[stale.run_id])))
    rows = shown.split("<tbody", 1)[1].split("</tbody>", 1)[0]
    assert "Outdated decision</span>" in rows
    assert "Needs Review" not in rows
