"""Lines of other tools are imported by a mapping, reviewed, and exported in the tool's own format."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from cognireview.environment import BASE_DIR
from reviews.imports import importer
from reviews.imports.runs import get_or_create_run
from reviews.imports.shipped_mappings import BY_NAME
from reviews.models import AuditEvent, Evaluation, ImportLine, Run, User
from reviews.records import mapping
from reviews.records.mapping import FieldMapping, MappingError, Outside
from reviews.records.schema import Limits, LineError, Record
from reviews.records.translation import read_line
from reviews.storage.copy_encoding import RowKeys, encode_line
from tests.support.commands import Capture, Finished, manage
from tests.support.json_texts import json_texts
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import decide

MAPPINGS = BASE_DIR / "reviews" / "imports" / "mappings"
NEEDED = {
    "evaluation_id": "id",
    "judge_llm_model": "'judge'",
    "judge_prompt_template_path": "'prompt'",
    "created_at": "at",
}

# Spelled and spaced as the tools write them.
MT_BENCH = (
    b'{"question_id": 81, "model": "alpaca-13b", "judge": ["gpt-4", "single-v1"], "user_prompt": "[Rules]'
    b'\\nRate it.", "judgment": "Rather thin. Rating: [[2]]", "score": 2, "turn": 1, "tstamp": 1686945889.28}'
)
MT_BENCH_GOOD = MT_BENCH.replace(b'"turn": 1', b'"turn": 2').replace(b'"score": 2', b'"score": 9')
PROMPTFOO = (
    b'{"id":"5f9a","testIdx":3,"promptIdx":0,"success":false,"score":0.5,"error":null,'
    b'"provider":{"id":"openai:gpt-4.1"},"prompt":{"raw":"Why?","label":"prompts/why.txt"},'
    b'"response":{"output":"Because."},"namedScores":{},"gradingResult":{"pass":false,"score":0.5,"reason":"no",'
    b'"componentResults":[{"pass":true,"score":1,"reason":"Has it.","assertion":{"type":"contains"}},'
    b'{"pass":false,"score":0,"reason":"Too short.","assertion":{"type":"llm-rubric","value":"is long"}},'
    b'{"pass":false,"score":0,"reason":"Rude.","assertion":{"type":"llm-rubric","value":"is kind"}}]}}'
)
DEEPEVAL = json.dumps(
    {
        "name": "test_case_0",
        "success": False,
        "metrics_data": [
            {
                "name": "Correctness [GEval]",
                "threshold": 0.5,
                "success": False,
                "score": 0.31,
                "reason": "The answer is 54, not 60.",
                "evaluation_model": "gpt-4.1",
                "error": None,
                "verbose_logs": "Steps: ...",
            }
        ],
        "input": "What is it?",
        "actual_output": "54",
        "expected_output": "60",
    }
).encode()


def named(name: str) -> FieldMapping:
    received = Outside(received_at="2026-11-22T08:00:00+00:00")
    return mapping.parse_mapping((MAPPINGS / f"{name}.toml").read_bytes()).of_import(received)


def mapped(fields: dict[str, str] | None = None, **parts: Any) -> FieldMapping:
    return mapping.mapping_from_json({"fields": NEEDED | (fields or {}), **parts})


def record_of(source: dict[str, Any], how: FieldMapping) -> Record:
    return read_line(json.dumps({"id": "a", "at": 0, **source}).encode(), mapping=how)


@pytest.mark.parametrize("name", BY_NAME)
def test_formatted_mapping_is_read_as_the_same(name: str) -> None:
    known = BY_NAME[name].read()
    assert mapping.parse_mapping(mapping.format_mapping(known).encode()) == known


class TestDocumentedMappings:
    def test_documented_mapping_reads_mt_bench(self) -> None:
        record = read_line(MT_BENCH, mapping=named("mt-bench"))
        assert record.evaluation_id == "mt-bench/81/alpaca-13b/1"
        assert (record.task_id, record.model_id, record.judge_llm_model) == ("81", "alpaca-13b", "gpt-4")
        assert record.raw_judge_output == {"raw_content": "Rather thin. Rating: [[2]]"}
        assert record.parsed_rubric_scores == {
            "Rating": {"score": 2, "justification": "Rather thin. Rating: [[2]]"}
        }
        assert (record.needs_human_review, record.review_reasons) == (True, ["A low rating"])
        assert record.created_at.isoformat() == "2023-06-16T20:04:49.280000+00:00"
        assert record.extra == {
            "judge": ["gpt-4", "single-v1"],
            "user_prompt": "[Rules]\nRate it.",
            "score": 2,
            "turn": 1,
        }
        good = read_line(MT_BENCH_GOOD, mapping=named("mt-bench"))
        assert (good.human_review_status, good.review_reasons) == ("Not Required", [])

    def test_documented_mapping_reads_promptfoo_and_numbers_duplicate_criteria(self) -> None:
        record = read_line(PROMPTFOO, mapping=named("promptfoo"))
        assert (record.evaluation_id, record.task_id, record.aggregated_score) == ("5f9a", "3", "Fail")
        assert record.structured_model_response == "Because."
        assert record.parsed_rubric_scores == {
            "contains": {"score": True, "justification": "Has it."},
            "llm-rubric": {"score": False, "justification": "Too short."},
            "llm-rubric (2)": {"score": False, "justification": "Rude."},
        }

    def test_documented_mapping_reads_deepeval(self) -> None:
        record = read_line(DEEPEVAL, mapping=named("deepeval"))
        assert record.judge_llm_model == "gpt-4.1"
        assert record.parsed_rubric_scores == {
            "Correctness [GEval]": {"score": 0.31, "justification": "The answer is 54, not 60."}
        }
        assert (record.structured_model_response, record.structured_ideal_response) == ("54", "60")
        assert record.review_reasons == ["The test failed"]


class TestFields:
    def test_mapped_values_fit_the_fields_of_a_record(self) -> None:
        how = mapped({"model_id": "n", "verification_message": "list", "review_reasons": "why"})
        record = record_of({"n": 1.5, "list": [1, "ü"], "why": "odd", "at": 1686945889280}, how)
        assert (record.model_id, record.verification_message) == ("1.5", '[1, "ü"]')
        assert record.review_reasons == ["odd"]
        assert record.created_at.year == 2023

    def test_every_mapped_record_is_flagged_without_a_rule(self) -> None:
        assert record_of({}, mapped()).human_review_status == "Needs Review"

    def test_rule_flags_records_with_its_reason(self) -> None:
        how = mapped(review=[{"when": "score < `3`", "reason": "low"}, {"when": "odd", "reason": "odd"}])
        assert record_of({"score": 2, "odd": True}, how).review_reasons == ["low", "odd"]
        assert record_of({"score": 3, "odd": []}, how).human_review_status == "Not Required"

    def test_criteria_can_be_members_of_an_object(self) -> None:
        how = mapped(criteria=[{"each": "scores", "name": "key", "score": "value"}])
        scores = record_of({"scores": {"Clarity": 1, "Depth": None}}, how).parsed_rubric_scores
        assert scores == {"Clarity": {"score": 1, "justification": ""}}

    def test_decisions_are_read_from_the_lines_own_keys(self) -> None:
        record = record_of({"human_review_status": "Completed", "human_reviewer_id": "ana"}, mapped())
        assert (record.human_review_status, record.human_reviewer_id) == ("Completed", "ana")

    def test_unmapped_key_named_like_a_field_is_ignored(self) -> None:
        record = record_of({"task_id": "theirs", "other": 1}, mapped())
        assert (record.task_id, record.extra) == (None, {"other": 1})

    @pytest.mark.parametrize(
        ("fields", "source", "field", "reason"),
        [
            ({}, {"id": None}, "evaluation_id", "is missing (by the mapping: id)"),
            (
                {},
                {"id": None, "at": None},
                "evaluation_id",
                "is missing (by the mapping: id); also missing: created_at",
            ),
            ({}, {"at": True}, "created_at", "is a boolean, but takes a string (by the mapping: at)"),
            ({}, {"at": 1e300}, "created_at", "is 1e+300, but takes seconds since 1970"),
            ({}, {"id": {}}, "evaluation_id", "is an object, but takes a string (by the mapping: id)"),
            ({"task_id": "join('', id)"}, {}, "task_id", "has no value by the mapping: join('', id): "),
            ({"aggregated_score": "v"}, {"v": "maybe"}, "aggregated_score", "is 'maybe', but takes one of"),
        ],
    )
    def test_field_error_names_its_expression(
        self, fields: dict[str, str], source: dict[str, Any], field: str, reason: str
    ) -> None:
        with pytest.raises(LineError) as caught:
            record_of(source, mapped(fields))
        assert caught.value.field == field
        assert caught.value.reason.startswith(reason)

    @pytest.mark.parametrize(
        ("criteria", "source", "reason"),
        [
            ({"name": "n", "score": "s"}, {"s": 1}, "has a score without a name: n gives nothing"),
            ({"name": "'n'", "score": "s"}, {"s": [1]}, "has an array as a score: s gives that"),
            ({"each": "e", "name": "n", "score": "s"}, {"e": 1}, "is a number by the mapping"),
        ],
    )
    def test_criteria_error_names_its_expression(
        self, criteria: dict[str, str], source: dict[str, Any], reason: str
    ) -> None:
        with pytest.raises(LineError, match=reason) as caught:
            record_of(source, mapped(criteria=[criteria]))
        assert caught.value.field == "parsed_rubric_scores"

    @given(json_texts)
    @pytest.mark.slow
    def test_any_mapped_line_is_a_record_or_refused(self, text: str) -> None:
        any_line = text.encode()
        how = mapped(
            {"evaluation_id": "'one'", "created_at": "'2026-11-22T00:00:00Z'", "raw_judge_output": "@"},
            criteria=[{"each": "a", "name": "'n'", "score": "to_number(b)", "justification": "@"}],
        )
        limits = Limits()
        try:
            record = read_line(any_line, limits, how)
        except LineError:
            return
        encoded = encode_line(any_line, limits, RowKeys(1, 1, 1, 1, bytes(16)), mapping=how)
        assert (record.evaluation_id, encoded.evaluation_id) == ("one", "one")
        assert encoded.row


class TestInvalidMapping:
    @pytest.mark.parametrize(
        ("toml", "problems"),
        [
            (b"x", ["mapping: is not TOML"]),
            (b"\xff", ["mapping: is not UTF-8: byte 1"]),
            (b"#" * (mapping.MOST_BYTES + 1), ["mapping: is longer than 65,536 bytes"]),
            (b"fields = 1", ["fields: is a number, but takes a table", "fields.judge_llm_model: is missing"]),
            (b"criteria = 1979-05-27", ["criteria: is a date or time, but takes tables"]),
            (
                b"[field]",
                ["field: is not part of a mapping: records, inherit, archive, fields, criteria, review"],
            ),
            (
                b"[fields]\ntask = 'a'\ntask_id = 1",
                ["fields.task_id: is a number", "fields.task: is not a field"],
            ),
            (b"[fields]\ntask_id = 'a['", ["fields.task_id: is not valid JMESPath: 'a['"]),
            (b"[fields]\nhuman_review_comments = 'a'", ["fields.human_review_comments: is read from"]),
            (
                b"[[criteria]]\nname = 'a'\nwho = 'b'",
                ["criteria[1].who: is not one of", "criteria[1].score: is"],
            ),
            (b"[[review]]\nwhen = 'a('\nreason = 'b('", ["review[1].when: is not valid JMESPath"]),
            (
                b"[fields]\nresponses = 'a'\nstructured_model_response = 'a'",
                ["fields.responses: conflicts with fields.structured_model_response: set one of them"],
            ),
            (
                b"[fields]\nparsed_rubric_scores = 'a'\nreview_reasons = 'a'\n[[criteria]]\n[[review]]",
                ["fields.parsed_rubric_scores: conflicts with", "fields.review_reasons: conflicts with"],
            ),
        ],
    )
    def test_invalid_mapping_is_refused_with_place_and_reason(self, toml: bytes, problems: list[str]) -> None:
        with pytest.raises(MappingError) as caught:
            mapping.parse_mapping(toml)
        reported = [": ".join(problem) for problem in caught.value.problems]
        assert [problem for problem in problems if not any(one.startswith(problem) for one in reported)] == []

    def test_deeply_nested_mapping_is_refused(self) -> None:
        with pytest.raises(MappingError):
            mapping.mapping_from_json({"fields": NEEDED | {"task_id": "(" * 5000 + "a" + ")" * 5000}})

    def test_stored_mapping_is_read_again(self) -> None:
        assert all(
            mapping.mapping_from_json(named(path.stem).as_json()) == named(path.stem)
            for path in MAPPINGS.iterdir()
        )


@pytest.mark.django_db
class TestMappedRun:
    """A tool's file is exported with decisions."""

    @pytest.fixture
    def original(self, tmp_path: Path) -> Path:
        path = tmp_path / "original.jsonl"
        path.write_bytes(file_of(MT_BENCH, b"", b"no record", MT_BENCH_GOOD))
        return path

    def bring(self, capture: Capture, path: Path, *options: str) -> Finished:
        name = "mt-bench"
        return manage(capture, "import_run", str(path), "--run", "evaluations", "--map", name, *options)

    def test_mapped_run_without_decisions_is_exported_byte_for_byte(
        self, original: Path, capsysbinary: Capture
    ) -> None:
        assert self.bring(capsysbinary, original).status == 1
        assert export_data(with_rejected=True) == original.read_bytes()

    @pytest.mark.slow
    @pytest.mark.django_db(transaction=True)  # events are sealed at commit
    def test_decisions_are_appended_to_the_mapped_line(
        self, original: Path, capsysbinary: Capture, ana: User, tmp_path: Path
    ) -> None:
        self.bring(capsysbinary, original)
        record = Evaluation.objects.get(human_review_status="Needs Review")
        scores = {"Rating": {"score": 5, "justification": "Not that thin."}}
        decide(record, ana, scores=scores, origins={"Rating": "human"})
        exported = tmp_path / "exported.jsonl"
        audit_log, receipt = tmp_path / "audit.jsonl", f"{exported}.receipt.json"
        manage(capsysbinary, "export_run", "evaluations", "-o", str(exported))
        manage(capsysbinary, "export_audit", "-o", str(audit_log))
        first = exported.read_bytes().splitlines()[0]
        assert first.startswith(MT_BENCH.removesuffix(b"}") + b', "human_review_status": "Completed", ')
        assert json.loads(first)["human_corrected_scores"] == scores
        assert exported.read_bytes().splitlines()[1:] == [b"", MT_BENCH_GOOD]

        files = (str(original), str(exported), "--map", "mt-bench")
        for more in ([], ["--receipt", receipt], ["--audit-log", str(audit_log)]):
            assert manage(capsysbinary, "verify_export", *files, *more).status == 0
        again = self.bring(capsysbinary, exported)
        assert again.status == 0
        assert Evaluation.objects.get(pk=record.pk).human_corrected_scores == scores
        assert set(ImportLine.objects.filter(source__pk__gt=1).values_list("outcome", flat=True)) <= {
            "unchanged",
            "rejected",
        }

    def test_mapped_run_is_exported_as_a_table_of_record_fields(
        self, original: Path, capsysbinary: Capture
    ) -> None:
        self.bring(capsysbinary, original)
        table = manage(capsysbinary, "export_run", "evaluations", "--format", "csv").out.decode()
        assert "mt-bench/81/alpaca-13b/1" in table

    @pytest.mark.slow
    def test_reimported_mapped_line_brings_new_evidence(
        self, original: Path, capsysbinary: Capture, ana: User
    ) -> None:
        self.bring(capsysbinary, original)
        record = Evaluation.objects.get(human_review_status="Needs Review")
        decide(record, ana, scores={"Rating": {"score": 5, "justification": ""}}, origins={"Rating": "human"})
        original.write_bytes(original.read_bytes().replace(b"Rather thin", b"Too thin", 1))
        done = import_data(original.read_bytes())  # by the mapping of the run
        assert (done.updated, done.unchanged, done.rejected) == (1, 1, 1)
        record.refresh_from_db()
        assert record.is_outdated
        assert record.raw_judge_output == {"raw_content": "Too thin. Rating: [[2]]"}

    def test_mapping_of_a_run_with_records_cannot_change(
        self, original: Path, capsysbinary: Capture, tmp_path: Path
    ) -> None:
        self.bring(capsysbinary, original)
        other = tmp_path / "other.toml"
        other.write_bytes((MAPPINGS / "mt-bench.toml").read_bytes().replace(b"'Rating'", b"'Mark'"))
        finished = manage(
            capsysbinary, "import_run", str(original), "--run", "evaluations", "--map", str(other)
        )
        assert finished.status == 2
        assert "has records that were read with another mapping" in finished.err
        assert Run.objects.get().mapping == named("mt-bench").as_json()

    def test_mapping_of_an_empty_run_can_change(self) -> None:
        get_or_create_run(name="evaluations", mapping=mapped(), actor=None)
        done = importer.import_stream(
            blocks=[MT_BENCH],
            run_name="evaluations",
            file_name="a.jsonl",
            actor=None,
            mapping=BY_NAME["mt-bench"].read(),
        )
        assert done.new == 1
        assert export_data() == MT_BENCH
        assert AuditEvent.objects.filter(action="map run").count() == 2

    def test_mapped_dry_run_stores_nothing(self, original: Path, capsysbinary: Capture) -> None:
        finished = self.bring(capsysbinary, original, "--dry-run")
        assert b"2 new" in finished.out
        assert not Run.objects.exists()

    def test_run_of_plain_records_accepts_no_mapping(self, original: Path, capsysbinary: Capture) -> None:
        import_data(file_of(line("eval_a")))
        assert self.bring(capsysbinary, original).status == 2
        assert export_data() == file_of(line("eval_a"))

    def test_import_with_an_invalid_mapping_reports_every_problem(
        self, original: Path, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        bad = tmp_path / "bad.toml"
        bad.write_text("[fields]\ntask_id = 'a['")
        finished = manage(capsysbinary, "import_run", str(original), "--map", str(bad))
        assert finished.status == 2
        assert f"{bad}: fields.task_id: is not valid JMESPath: 'a['" in finished.err
        assert f"{bad}: fields.created_at: is missing" in finished.err
        missing = manage(capsysbinary, "import_run", str(original), "--map", str(tmp_path / "none.toml"))
        assert missing.status == 2
        assert f"There is no file '{tmp_path / 'none.toml'}', and no shipped mapping" in missing.err
