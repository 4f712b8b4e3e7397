"""Questions and responses that a mapping takes from lines: stored with the record, and updated."""

import csv
import io
from typing import Any

import pytest

from reviews.evidence import task_context
from reviews.evidence.reading_time import count_words_to_read
from reviews.history.changes import changes_since_review
from reviews.models import Evaluation, ImportLine, User
from reviews.review import blind_scoring
from tests.support.commands import manage
from tests.support.contexts import bring, task
from tests.support.lines import export_data
from tests.support.questions import (
    CONVERSATION,
    PAIR,
    PASSAGES,
    import_question,
    import_questions,
    source_line,
)
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def test_mapped_question_is_stored_with_its_record() -> None:
    import_questions(source_line("a", prompt="Why?"), source_line("b", responses=PAIR))
    found = Evaluation.objects.order_by("evaluation_id")
    assert [one.task_context for one in found] == [{"prompt": "Why?"}, {"responses": PAIR}]


def test_wrong_question_rejects_its_line_only() -> None:
    done = import_questions(source_line("a", prompt=3), source_line("b", prompt="Why?"))
    rejected = ImportLine.objects.get(source=done)
    assert (done.new, rejected.line, rejected.field) == (1, 1, "prompt")
    assert rejected.reason == (
        "is a number, but takes a text, or a list of messages with role and content (by the mapping: prompt)"
    )


@pytest.mark.parametrize(
    ("values", "is_answered"),
    [
        ({"prompt": "Why?"}, False),
        ({"responses": "It is 54."}, True),
        ({"responses": ["", "It is 54."]}, True),
        ({"responses": ["", ""]}, False),
        ({"responses": PAIR}, True),
    ],
)
def test_record_with_mapped_responses_has_an_answer(values: dict[str, Any], is_answered: bool) -> None:
    record = import_question(**values)
    assert record.has_answer == blind_scoring.has_answer(record) == is_answered


@pytest.mark.slow
def test_changed_question_outdates_the_decision(ana: User) -> None:
    record = import_question(prompt="Why?", responses=PAIR)
    decide(record, ana)
    changed = source_line(prompt="Why not?", responses=PAIR)
    done = import_questions(changed)
    record.refresh_from_db()
    assert record.task_context == {"prompt": "Why not?", "responses": PAIR}
    assert (record.is_outdated, record.version, done.updated) == (True, 3, 1)
    assert ImportLine.objects.get(source=done).field == "prompt"
    assert [change.label for change in changes_since_review(record)] == ["prompt"]


@pytest.mark.slow
def test_same_question_in_another_spelling_changes_nothing(ana: User) -> None:
    record = import_question(prompt="Why?", context=["One."])
    decide(record, ana)
    import_questions(source_line(context=[{"text": "One."}], prompt="Why?"))
    record.refresh_from_db()
    assert not record.is_outdated


def test_run_with_questions_is_exported_byte_for_byte() -> None:
    lines = [source_line("a", prompt="Why?", conversation=[]), source_line("b", responses=PAIR)]
    import_questions(*lines)
    assert export_data(run="questions") == b"\n".join(lines)


def test_table_of_a_run_with_questions_has_the_task_context(capsysbinary: Any) -> None:
    import_questions(source_line("a", prompt="Why?"), source_line("b"))
    written = manage(capsysbinary, "export_run", "questions", "--format", "csv").out.decode()
    rows = list(csv.DictReader(io.StringIO(written)))
    assert [row["task_context"] for row in rows] == ['{"prompt":"Why?"}', ""]
    assert [row["extra"] for row in rows] == ['{"score":"No"}', '{"score":"No"}']


class TestContextOfARecord:
    def test_own_fields_replace_those_of_the_task(self) -> None:
        bring(task(prompt="For all.", ideal_response="60"))
        record = import_question(task=7, conversation=CONVERSATION, context=PASSAGES[:1])
        found = task_context.find_context(record)
        assert found
        assert (found.prompt, found.conversation) == ("", CONVERSATION)
        assert found.passages == [{"text": PASSAGES[0]}]
        assert (found.ideal_response, found.final_answer) == ("60", "60")
        assert found.own == {"conversation", "passages"}

    def test_own_reference_replaces_the_final_answer_of_the_task(self) -> None:
        bring(task())
        found = task_context.find_context(import_question(task=7, reference="54"))
        assert found
        assert (found.ideal_response, found.final_answer) == ("54", None)
        assert found.prompt

    def test_record_without_task_has_its_own_context(self) -> None:
        found = task_context.find_context(import_question(prompt="Why?"))
        assert found
        assert (found.prompt, found.responses) == ("Why?", [])


def test_question_counts_as_reading_in_records_without_task() -> None:
    values = {"prompt": "Three more words", "responses": ["One.", "And two."], "reference": "not counted"}
    assert count_words_to_read(import_question(**values), []) == 6
    Evaluation.objects.update(task_id="7")
    assert count_words_to_read(Evaluation.objects.get(), []) == 3
