"""The evidence pane of a record's page."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.records.scores import criterion_title
from tests.support.contexts import bring, task
from tests.support.factories import SCORES, EvaluationFactory, RunFactory
from tests.support.pages import text
from tests.support.questions import (
    CONVERSATION,
    PAIR,
    PASSAGES,
    import_question,
    import_questions,
    source_line,
)

pytestmark = pytest.mark.django_db


def record(**fields: Any) -> Evaluation:
    return EvaluationFactory.create(**({"task_id": "7", "model_id": "o1"} | fields))


def shown(client: Client, evaluation: Evaluation) -> str:
    return text(client.get(reverse("evaluation", args=[evaluation.pk])))


def panes(page: str) -> list[str]:
    return re.findall(r'<section class="pane [^>]*tabindex="0" role="region" aria-label="([^"]+)"', page)


def chosen(page: str) -> list[str]:
    return re.findall(r'name="pane" value="(\w+)" checked', page)


@pytest.mark.slow
def test_evidence_panes_are_regions_and_one_is_selected(as_ana: Client) -> None:
    bring(task(model_responses=[{"model_id": "o1", "response_text": "It is 54."}]))
    page = shown(as_ana, record())
    assert panes(page) == ["Compare", "Model response", "Reference answer", "Raw judge output"]
    assert chosen(page) == ["compare"]
    assert 'What is <span class="math" data-display="false">6 \\cdot 10</span>?' in page
    assert "from the task context" in page


def test_record_with_only_raw_output_shows_it_open(as_ana: Client) -> None:
    page = shown(as_ana, record(structured_model_response=None, structured_ideal_response=None))
    assert panes(page) == ["Raw judge output"]
    assert "only the judge's output is available" in page
    assert chosen(page) == []


def test_empty_reference_answer_is_not_a_mismatch(as_ana: Client) -> None:
    message = "Mismatch (Extracted: '54', Correct: '')"
    evaluation = record(verification_message=message, review_reasons=[])
    assert "Verifier: No reference answer." in shown(as_ana, evaluation)
    bring(task())
    page = shown(as_ana, evaluation)
    assert (
        'No reference given to the verifier. Reference for this task: <span class="answer">60</span>.' in page
    )
    assert "does not match" not in page


def test_final_answer_is_highlighted(as_ana: Client) -> None:
    page = shown(
        as_ana,
        record(
            structured_model_response={"final_answer": "$54$", "steps": ["Add."]},
            structured_ideal_response={"final_answer": "$60$", "steps": ["Add."]},
        ),
    )
    assert '<section class="pair always" aria-label="Final answer">' in page
    assert '<section class="pair" aria-label="Steps">' in page
    assert '<del><span class="math" data-display="false">54</span></del>' in page


def test_signals_are_chips_that_open_their_sentences(as_ana: Client) -> None:
    long = "The final answer was checked, and " + "it differs " * 20
    page = shown(as_ana, record(review_reasons=["Sampled.", long], aggregated_score="Pass"))
    assert '<summary class="chip bad"><span>Verdict and scores disagree</span></summary>' in page
    assert "but its scores result in Fail." in page
    assert '<span class="chip warn"><span>Sampled.</span></span>' in page
    assert "<span>The final answer was checked, and it differs …</span></summary>" in page
    assert long.strip() in page


def test_final_answers_are_shown_once_with_the_verifiers_word(as_ana: Client) -> None:
    page = shown(
        as_ana,
        record(
            structured_model_response={"final_answer": "$54$"},
            structured_ideal_response={"final_answer": "$60$"},
            verification_message="Mismatch (Extracted: '54', Correct: '60')",
        ),
    )
    assert '<span class="badge">verifier: mismatch</span>' in page
    assert "Verifier: mismatch" not in page
    head = page[page.index('id="evidence"') : page.index('data-pane="model"')]
    assert [head.count(f'data-display="false">{answer}<') for answer in ("54", "60")] == [2, 2]


def test_other_models_are_listed_with_answer_and_scores(as_ana: Client) -> None:
    run = RunFactory.create()
    message = "Mismatch (Extracted: '$54$', Correct: '')"
    values: dict[str, Any] = {"run": run, "verification_message": message, "structured_model_response": None}
    own, other = (record(model_id=model, **values) for model in ("o1", "o3"))
    page = shown(as_ana, own)
    assert "Other models on this task (1) · 1 same answer" in page
    place, peek = reverse("evaluation", args=[other.pk]), reverse("peek", args=[own.pk, other.pk])
    assert f'<a href="{place}" data-peek="{peek}">o3</a>' in page
    table = page[page.index('id="siblings"') :]
    assert table.count('<span class="math" data-display="false">54</span>') == 2
    assert sorted(re.findall(r'class="score" title="([^"]+)"', table)) == sorted(map(criterion_title, SCORES))
    assert table.count('data-counts="no">No<') == 2


def test_answer_in_the_comparison_is_not_repeated_among_other_models(as_ana: Client) -> None:
    run = RunFactory.create()
    values: dict[str, Any] = {"run": run, "structured_ideal_response": {"final_answer": "60"}}
    own, _ = (
        record(model_id=model, structured_model_response={"final_answer": "54"}, **values) for model in "ab"
    )
    page = shown(as_ana, own)
    assert "see above" in page[page.index('id="siblings"') :]


@pytest.mark.slow
def test_many_siblings_are_cut_and_linked(as_ana: Client) -> None:
    run = RunFactory.create()
    own = record(run=run, model_id="z", task_id="7 b")
    place = reverse("evaluation", args=[own.pk])
    with CaptureQueriesContext(connection) as alone:
        as_ana.get(place)
    EvaluationFactory.create_batch(200, run=run, task_id="7 b", model_id="m")
    with CaptureQueriesContext(connection) as among_many:
        page = text(as_ana.get(place))
    assert len(among_many) == len(alone)
    assert "Other models on this task (24+)" in page
    assert page.count("data-peek=") == 24
    assert f'href="{reverse("run", args=[run.pk])}?task=7%20b"' in page


def test_two_responses_are_shown_side_by_side_under_their_names(as_ana: Client) -> None:
    page = shown(as_ana, import_question(prompt="What is $6$?", responses=PAIR, reference="It is 54."))
    assert panes(page) == ["Compare", "Reference answer", "Raw judge output"]
    assert re.findall(r'side-title">([^<]+)<', page) == ["A: gpt-4", "B: claude-3"]
    assert "It is <strong>54</strong>." in page
    assert 'What is <span class="math" data-display="false">6</span>?' in page


def test_question_with_conversation_passages_and_metadata_is_shown(as_ana: Client) -> None:
    page = shown(
        as_ana,
        import_question(
            conversation=CONVERSATION,
            context=PASSAGES,
            responses={"name": "o1", "response": "54"},
            metadata={"difficulty": "hard"},
        ),
    )
    assert re.findall(r'data-role="(\w+)"', page) == ["system", "user", "assistant", "tool"]
    assert "<h3>Tool: calculator</h3>" in page
    assert "2 passages" in page
    assert "<summary>The Guide</summary>" in page
    assert "https://guide.example" in page
    assert '<th scope="row">Difficulty</th>' in page
    assert 'Model response <span class="small muted">o1</span>' in page


@pytest.mark.slow
def test_blind_question_has_neither_own_metadata_nor_judge(as_ana: Client, ana: User) -> None:
    values: dict[str, Any] = {"prompt": "Why?", "responses": PAIR, "metadata": {"verdict": "secret-1"}}
    import_questions(source_line(why="secret-2", **values), blind_share=1)
    record = Evaluation.objects.get()
    claims.claim(evaluation_id=record.pk, reviewer=ana)
    page = shown(as_ana, record)
    assert "Why?" in page
    assert "B: claude-3" in page
    assert "secret" not in page


def test_damaged_latex_is_repaired_on_page_and_unchanged_in_record(as_ana: Client) -> None:
    damaged = {"Clarity": {"score": "No", "justification": "Ends with $\x0crac{1}{2}$."}}
    evaluation = record(parsed_rubric_scores=damaged, raw_judge_output={"raw_content": "none"})
    page = shown(as_ana, evaluation)
    assert "<summary>1 repair</summary><code>␌rac</code> shown as <code>\\frac</code>" in page
    evaluation.refresh_from_db()
    assert evaluation.parsed_rubric_scores == damaged
