"""Values from outside the record, functions, ids from content, and inherited fields in mappings."""

import hashlib
import json
from io import BytesIO
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given

from reviews.exports import formats
from reviews.exports.jsonl import Form
from reviews.imports import importer
from reviews.models import Evaluation, Import, Run, User
from reviews.records import expressions, mapping
from reviews.records.expressions import ExpressionBudget, ExpressionError
from reviews.records.mapping import FieldMapping, MappingError, Outside
from reviews.records.schema import LineError
from reviews.records.translation import read_line
from reviews.storage import chunks
from tests.support.json_texts import texts
from tests.support.lines import RECORD, export_data, file_of, line
from tests.support.work import decide

NEEDED = {"judge_llm_model": "'judge'", "judge_prompt_template_path": "'prompt'", "created_at": "`0`"}


def mapped(fields: dict[str, str] | None = None, **parts: Any) -> FieldMapping:
    return mapping.mapping_from_json({"fields": NEEDED | (fields or {}), **parts})


def value(expression: str, data: Any = None, outside: dict[str, Any] | None = None) -> Any:
    return expressions.value(expression, data, ExpressionBudget(1000, 1000), outside or {})


def import_mapped(how: FieldMapping, *lines: bytes, name: str = "first.jsonl") -> Import:
    with transaction.atomic():
        blocks = chunks.read_blocks(BytesIO(file_of(*lines)))
        return importer.import_stream(
            blocks=blocks, run_name="mapped", file_name=name, actor=None, mapping=how
        )


class TestOutsideValues:
    def test_record_is_a_value_for_parts_of_it(self) -> None:
        criteria = {"each": "metrics", "name": "@", "score": "lookup($record, @)"}
        how = mapped({"evaluation_id": "$record.id"}, criteria=[criteria])
        line = json.dumps({"id": "a", "metrics": ["acc", "f1"], "acc": 1.0, "f1": 0.5}).encode()
        record = read_line(line, mapping=how)
        assert record.evaluation_id == "a"
        assert {name: score["score"] for name, score in record.parsed_rubric_scores.items()} == {
            "acc": 1.0,
            "f1": 0.5,
        }
        assert not how.varies_by_import

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("$doc.config.model", "m"),
            ("items[*].[@, $line]", [["a", 7], ["b", 7]]),
            ("join('/', [$file, to_string($line)])", "x.jsonl/7"),
            ("items[?@ == $doc.keep]", ["b"]),
            ("$run", None),
            ("'$doc'", "$doc"),
            ("'it\\'s $doc'", "it's $doc"),
            ('"$doc"', "a key"),
            ('`"$doc"`', "$doc"),
        ],
    )
    def test_dollar_names_are_values_except_in_quotes(self, expression: str, expected: Any) -> None:
        outside = {"doc": {"config": {"model": "m"}, "keep": "b"}, "file": "x.jsonl", "line": 7}
        assert value(expression, {"items": ["a", "b"], "$doc": "a key"}, outside) == expected

    @pytest.mark.parametrize("expression", ["$", "$docs", "a.$b", "$doc$", "[$x]"])
    def test_unknown_dollar_name_is_refused_with_the_known_ones(self, expression: str) -> None:
        with pytest.raises(ExpressionError, match=r"is not one of \$doc, \$file, \$line, \$import, \$run"):
            expressions.compiled(expression)

    @given(texts)
    def test_quoted_text_keeps_its_dollar_signs(self, text: str) -> None:
        quoted = json.dumps(text + "$doc").replace("`", "\\u0060")
        assert value(f"`{quoted}`") == text + "$doc"

    @pytest.mark.parametrize("name", ["file", "line", "import", "run", "received_at"])
    def test_id_takes_no_value_that_differs_between_imports(self, name: str) -> None:
        with pytest.raises(MappingError, match=rf"fields.evaluation_id: has \${name}, but an id takes"):
            mapped({"evaluation_id": f"join('/', [id, to_string(${name})])"})

    def test_id_takes_values_of_the_document(self) -> None:
        how = mapped({"evaluation_id": "join('/', [$doc.eval, id])"})
        bound = how.of_import(Outside(document={"eval": "e"}))
        assert read_line(b'{"id": "1"}', mapping=bound).evaluation_id == "e/1"

    def test_mapping_keeps_no_document_that_it_does_not_use(self) -> None:
        assert mapped().of_import(Outside(document={"a": 1})).outside.document is None


class TestFunctions:
    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ("sha256('a')", hashlib.sha256(b"a").hexdigest()),
            ("sha256(both)", hashlib.sha256(b'{"a":1,"b":2}').hexdigest()),
            ("default(zero, `5`)", 0),
            ("default(no, `false`)", False),
            ("default(missing, 'x')", "x"),
            ("slug('GPT 4.1 / Größe_x!')", "gpt-4-1-grösse-x"),
            ("slug(`4.10`)", "4-1"),
            ("slug(missing)", None),
            ("lookup(both, key)", 2),
            ("lookup(both, 'c')", None),
            ("lookup(list, `1`)", "two"),
            ("lookup(list, `-3`)", None),
            ("lookup(numbered, `1`)", "one"),
            ("lookup(missing, key)", None),
            ("between('[Q] Why? [A] So.', '[Q] ', ' [A]')", "Why?"),
            ("between('[Q] Why? [A] So.', '[A] ', '')", "So."),
            ("between('[Q] Why? [A] So.', '', ' ')", "[Q]"),
            ("between('a|b|a|c', 'a|', '|')", "b"),
            ("between('[Q] Why?', '[Q]', '[A]')", None),
            ("between('[Q] Why?', '[A]', '')", None),
            ("between(missing, '', '')", None),
        ],
    )
    def test_function_gives_its_value(self, expression: str, expected: Any) -> None:
        data = {
            "both": {"b": 2, "a": 1},
            "zero": 0,
            "no": None,
            "key": "b",
            "list": ["one", "two"],
            "numbered": {"1": "one"},
        }
        assert value(expression, data) == expected

    @pytest.mark.parametrize(
        ("expression", "problem"),
        [
            ("md5(a)", "there is no function md5()"),
            ("a || lookup(b)", "lookup() takes 2 arguments, not 1"),
            ("sha256()", "sha256() takes 1 argument, not 0"),
            ("not_null()", "not_null() takes at least 1 argument, not 0"),
        ],
    )
    def test_unknown_function_and_wrong_number_of_arguments_are_refused_in_the_mapping(
        self, expression: str, problem: str
    ) -> None:
        with pytest.raises(MappingError) as caught:
            mapped({"task_id": expression})
        assert str(caught.value).startswith(f"fields.task_id: {problem}")

    def test_function_of_the_wrong_type_rejects_the_line(self) -> None:
        with pytest.raises(LineError, match=r"has no value by the mapping: slug\(@\)"):
            read_line(b"{}", mapping=mapped({"task_id": "slug(@)"}))

    def test_hashing_spends_the_budget(self) -> None:
        hashes = ", ".join(["sha256(@)"] * 40)
        with pytest.raises(ExpressionError, match="builds more than"):
            expressions.value(f"[{hashes}]", "x" * 10_000, ExpressionBudget(10_000, 10_000))


class TestContentId:
    def test_id_is_a_hash_of_the_values_without_the_decision(self) -> None:
        first = read_line(b'{"b": [1], "a": "\\u00e4"}', mapping=mapped())
        again = read_line(
            '{ "a":"ä","b": [ 1 ], "human_review_status": "Completed"}'.encode(), mapping=mapped()
        )
        other = read_line(b'{"b": [2], "a": "x"}', mapping=mapped())
        assert first.evaluation_id == again.evaluation_id != other.evaluation_id
        assert len(first.evaluation_id) == 32

    def test_missing_value_of_a_mapped_id_is_no_hash(self) -> None:
        with pytest.raises(LineError, match="evaluation_id: is missing"):
            read_line(b"{}", mapping=mapped({"evaluation_id": "id"}))

    @pytest.mark.slow
    @pytest.mark.django_db
    def test_reviewed_export_has_the_same_ids_again_and_a_repeated_line_is_rejected(self, ana: User) -> None:
        done = import_mapped(mapped(), b'{"n": 1}', b'{"n": 2}', b'{"n": 1}')
        assert (done.new, done.rejected) == (2, 1)
        [repeated] = done.listed_exceptions()
        assert (repeated["line"], repeated["reason"]) == (3, "is already in line 1")
        decide(Evaluation.objects.get(first_line=2), ana)
        exported = export_data(run="mapped")
        again = import_mapped(mapped(), *exported.splitlines())
        assert (again.unchanged, again.lines) == (2, 2)


class TestInherit:
    def test_same_named_keys_are_taken_as_they_are(self) -> None:
        how = mapping.mapping_from_json({"inherit": True, "fields": {"model_id": "'mine'"}})
        record = read_line(line("a", model_id="theirs", other=1), mapping=how)
        assert (record.evaluation_id, record.model_id, record.task_id) == ("a", "mine", "4711")
        assert record.parsed_rubric_scores == RECORD["parsed_rubric_scores"]
        assert (record.review_reasons, record.extra) == (RECORD["review_reasons"], {"other": 1})

    def test_rules_and_criteria_replace_inherited_fields(self) -> None:
        how = mapping.mapping_from_json(
            {
                "inherit": True,
                "criteria": [{"name": "'Overall'", "score": "aggregated_score"}],
                "review": [{"when": "final_answer_verified", "reason": "verified"}],
            }
        )
        record = read_line(line("a", human_review_status=...), mapping=how)
        assert record.parsed_rubric_scores == {"Overall": {"score": "Pass", "justification": ""}}
        assert (record.needs_human_review, record.review_reasons) == (False, [])
        assert record.human_review_status == "Not Required"

    def test_line_without_id_gets_a_content_id_and_without_a_required_field_is_refused(self) -> None:
        how = mapping.mapping_from_json({"inherit": True})
        assert len(read_line(line(...), mapping=how).evaluation_id) == 32
        with pytest.raises(LineError, match="judge_llm_model: is missing"):
            read_line(line("a", judge_llm_model=...), mapping=how)

    def test_inherit_is_part_of_the_stored_mapping_and_takes_a_boolean(self) -> None:
        how = mapping.mapping_from_json({"inherit": True})
        assert mapping.mapping_from_json(how.as_json()) == how
        with pytest.raises(MappingError, match="inherit: is a string, but takes true or false"):
            mapping.mapping_from_json({"inherit": "yes", "fields": NEEDED})


@pytest.mark.django_db
class TestOutsideValuesOfImports:
    HOW = mapped(
        {
            "evaluation_id": "id",
            "task_id": "$file",
            "model_id": "to_string($line)",
            "response_id": "to_string($import)",
            "ideal_response_id": "$run",
            "created_at": "$received_at",
        }
    )

    def test_record_has_the_values_of_its_import(self) -> None:
        done = import_mapped(self.HOW, b'{"id": "a"}', b"", b'{"id": "b"}')
        record = Evaluation.objects.get(evaluation_id="b")
        assert (record.task_id, record.model_id, record.ideal_response_id) == ("first.jsonl", "3", "mapped")
        assert record.response_id == str(done.pk)
        done.refresh_from_db()
        assert record.created_at == done.created_at

    @pytest.mark.slow
    def test_reviewed_record_is_unchanged_when_its_export_comes_under_another_name(self, ana: User) -> None:
        import_mapped(self.HOW, b'{"id": "a"}')
        decide(Evaluation.objects.get(), ana)
        again = import_mapped(self.HOW, *export_data(run="mapped").splitlines(), name="second.jsonl")
        assert (again.unchanged, again.updated) == (1, 0)
        assert Evaluation.objects.get().human_review_status == "Completed"

    @pytest.mark.slow
    def test_new_evidence_brings_the_values_of_the_new_import(self) -> None:
        import_mapped(self.HOW, b'{"id": "a"}')
        again = import_mapped(self.HOW, b'{"id": "x"}', b'{"id": "a", "more": 1}', name="second.jsonl")
        record = Evaluation.objects.get(evaluation_id="a")
        assert (again.updated, record.task_id, record.model_id) == (1, "second.jsonl", "2")

    @pytest.mark.slow
    def test_table_has_values_from_the_import_of_each_line(self) -> None:
        import_mapped(self.HOW, b'{"id": "a"}', b'{"id": "b"}')
        import_mapped(self.HOW, b'{"id": "a", "more": 1}', name="second.jsonl")
        lines = export_data(run="mapped", form=Form.RECORDS)
        table = b"".join(formats.convert([lines], "csv")).decode().splitlines()
        assert [row.split(",")[:3] for row in table[1:]] == [
            ['"a"', '"second.jsonl"', '"1"'],
            ['"b"', '"first.jsonl"', '"2"'],
        ]
        assert Run.objects.get().evaluations.count() == 2
