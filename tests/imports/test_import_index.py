"""Entries that the parser computes equal those of the stored records."""

from collections.abc import Sequence
from typing import Any, LiteralString

import orjson
import pytest
from django.conf import LazySettings

from reviews.imports import import_index
from reviews.imports.bulk_insert import execute_with_bound_parameters
from reviews.models import EvaluationFacets, EvaluationWords, Run, RunFacet
from reviews.search import indexing
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

_RAW = {"raw_content": '{"evaluation": {"Clarity": {"score": "No", "justification": "Is correct."}}}'}
LINES = (
    line("words", parsing_error="É—x_y naïve 中文 STRASSE", human_review_comments="Seen"),
    line("numbers", parsed_rubric_scores=b'{"a": {"score": 1e2}, "b": {"score": -0.0}, "c": {"score": 4.0}}'),
    line("extracted", parsed_rubric_scores={}, raw_judge_output=_RAW, aggregated_score=None),
    line("answer", structured_model_response={"steps": ['é\n"', {"b": 1.5, "aa": None, "a": [True]}]}),
    line("no answer", structured_model_response={}, needs_human_review=False),
    line("exponent", structured_model_response=b'{"final_answer": 1e2}'),
    line("unusual", another=1, model_id=None, task_id=7, review_reasons=["Sampled (1 of 10)"]),
)


def entries() -> list[object]:
    facets = EvaluationFacets.objects.order_by("pk").values_list()
    options = RunFacet.objects.order_by("name", "value").values_list("name", "value", "title")
    return [*facets, *EvaluationWords.objects.order_by("pk").values_list(), *options]


@pytest.mark.slow
@pytest.mark.parametrize("text", LINES)
def test_entry_of_a_line_equals_that_of_its_record(text: bytes) -> None:
    import_data(file_of(line("first")))
    done = import_data(file_of(text))
    written = entries()
    for table in (EvaluationFacets, EvaluationWords, RunFacet):
        table.objects.all().delete()
    for source in Run.objects.get().files:
        indexing._index_lines(source, indexing.LineRange(0, done.lines))
    assert entries() == written


def test_words_of_names_are_indexed_once() -> None:
    import_data(file_of(line("eval_17", parsing_error="The eval stopped.")))
    words = EvaluationWords.objects.values_list("words", flat=True).get()
    assert "'_eval'" in words
    assert "'eval'" not in words
    assert "'stopped'" in words


def test_new_records_need_no_stored_record(monkeypatch: pytest.MonkeyPatch) -> None:
    import_data(file_of(line("first")))
    monkeypatch.setattr(indexing, "_new_records", None)
    import_data(file_of(line("second"), b"no record", line("third")))
    assert EvaluationWords.objects.count() == 3


def test_records_of_a_new_run_need_no_stored_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_new_records", None)
    import_data(file_of(b"no record", line("first"), line("second")))
    assert EvaluationWords.objects.count() == 2


def test_new_record_among_known_ones_is_indexed() -> None:
    import_data(file_of(line("first")))
    import_data(file_of(line("first"), line("second")))
    assert EvaluationWords.objects.count() == 2


def test_option_of_several_batches_is_written_once(
    monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    import_data(file_of(line("first")))
    settings.MAX_REJECTED_LINES = 1  # and so a batch has one line
    written: list[list[dict[str, str]]] = []

    def execute(statement: LiteralString, parameters: Sequence[Any]) -> None:
        if statement == import_index._KEEP_OPTIONS:
            written.append(orjson.loads(parameters[0]))
        execute_with_bound_parameters(statement, parameters)

    monkeypatch.setattr(import_index, "execute_with_bound_parameters", execute)
    import_data(file_of(line("second"), line("third"), line("fourth", model_id="another")))
    assert [[option["name"] for option in batch] for batch in written[1:]] == [["model"]]
    assert RunFacet.objects.filter(name="model").count() == 2
