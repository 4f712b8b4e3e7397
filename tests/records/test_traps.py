"""Unusual lines and files have the outcomes of docs/file-outcomes.md, and affect no others."""

import json
import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.conf import settings

from reviews.exports.verify_export import compare
from reviews.models import Evaluation, Import, Run, User
from reviews.records.schema import HUMAN_FIELDS
from reviews.storage.chunks import BOM
from reviews.storage.errors import ImportRefused
from tests.records.test_mapping import MT_BENCH
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "file-outcomes.md"
BEFORE, AFTER = line("eval_before"), line("eval_after")


class Rejected(NamedTuple):
    """A rejected line and its error message."""

    text: bytes
    field: str
    reason: str


DEEP = b'{"a": %b%b}'
REJECTED: dict[str, list[Rejected]] = {
    "a record that is cut off": [
        Rejected(line()[:size], "", "is not JSON") for size in (1, 20, 100, len(line()) - 1)
    ],
    "text that is not JSON": [
        Rejected(text, "", "is not JSON")
        for text in (
            b"no record",
            b"{'evaluation_id': 'eval_1'}",
            line()[:-1] + b",}",
            b"// " + line(),
            b"\0",
        )
    ],
    "JSON that is not an object": [
        Rejected(b"[%b]" % line(), "", "is not a JSON object but an array"),
        Rejected(b"null", "", "is not a JSON object but null"),
        Rejected(b'"eval_1"', "", "is not a JSON object but a string"),
    ],
    "two records in one line": [Rejected(line("eval_1") + line("eval_2"), "", "is not JSON: Extra data")],
    "NaN or Infinity": [
        Rejected(line(parsed_rubric_scores=b'{"A": {"score": %b}}' % word), "", f"holds {word.decode()}")
        for word in (b"NaN", b"Infinity", b"-Infinity")
    ],
    "a control character that is not escaped": [
        Rejected(line(parsing_error=b'"a%bb"' % character), "", "is not JSON: Invalid control character")
        for character in (b"\0", b"\t", b"\r", b"\x1f")
    ],
    "half of a surrogate pair": [
        Rejected(line(x=rb'"\ud800"'), "", "holds half a surrogate pair"),
        Rejected(line(x=rb'{"\udfff": 1}'), "", "holds half a surrogate pair"),
        Rejected(line(x=rb'"\ude00\ud83d"'), "", "holds half a surrogate pair"),
    ],
    "bytes that are not UTF-8": [
        Rejected(line(parsing_error=b'"\xe9"'), "", "is not UTF-8: byte "),
        Rejected(line(parsing_error=b'"\xed\xa0\xbd\xed\xb8\x80"'), "", "is not UTF-8: byte "),
        Rejected(line(parsing_error=b'"\xc0\x80"'), "", "is not UTF-8: byte "),
        Rejected(line().decode().encode("utf-16"), "", "is not UTF-8: byte 1 "),
    ],
    "a byte order mark in a later line": [
        Rejected(BOM + line(), "", "has a byte order mark that is not at the start")
    ],
    "brackets nested deeper than 200": [
        Rejected(line(raw_judge_output=DEEP % (b"[" * depth, b"]" * depth)), "", "is nested ")
        for depth in (199, 300, 1_100, 50_000)
    ],
    "an id or a name of more than 512 bytes": [
        Rejected(line("é" * 257), "evaluation_id", "is longer than 512 bytes"),
        Rejected(line(task_id="x" * 3000), "task_id", "is longer than 512 bytes"),
        Rejected(line(task_id=b"9" * 5000), "task_id", "is longer than 512 bytes"),
    ],
    "a required field missing or null": [
        Rejected(b"{}", "evaluation_id", "is missing"),
        Rejected(line(created_at=...), "created_at", "is missing"),
        Rejected(line(human_review_status=None), "human_review_status", "is null"),
    ],
    "a value of the wrong type": [
        Rejected(line(b"17"), "evaluation_id", "is a number, but takes a string"),
        Rejected(line(task_id=True), "task_id", "is a boolean, but takes a string or a number"),
        Rejected(line(needs_human_review=1), "needs_human_review", "is a number, but takes true or false"),
        Rejected(line(review_reasons="a"), "review_reasons", "is a string, but takes an array of strings"),
        Rejected(line(raw_judge_output="a"), "raw_judge_output", "is a string, but takes an object"),
        Rejected(line(structured_ideal_response=[]), "structured_ideal_response", "is an array, but takes"),
        Rejected(line(created_at=1744422923), "created_at", "is a number, but takes a string"),
    ],
    "an unknown status or verdict": [
        Rejected(line(human_review_status="Done"), "human_review_status", "is 'Done', but takes one of"),
        Rejected(line(aggregated_score="pass"), "aggregated_score", "is 'pass', but takes one of"),
    ],
    "a timestamp that is not in ISO 8601": [
        Rejected(line(created_at=text), "created_at", f"is '{text}', but takes a date and time in ISO 8601")
        for text in ("now", "infinity", "10000-01-01T00:00:00Z", "0044-03-15 BC", "2025-02-30T00:00:00Z")
    ],
    "a timestamp before the year 1900": [
        Rejected(line(created_at="0001-01-01T00:00:00Z"), "created_at", "is in the year 1, before 1900")
    ],
    "an id of an earlier line": [
        Rejected(line("eval_before", task_id="other"), "evaluation_id", "is already in line 1")
    ],
}
ACCEPTED: dict[str, list[bytes]] = {
    "U+0000 (as an escape)": [
        line(rb'"a\u0000b"'),
        line(
            x=rb'{"\u0000": "\u0000"}', human_review_comments=rb'"\u0000"', raw_judge_output=rb'{"\u0000": 1}'
        ),
    ],
    "a number as an id, except as `evaluation_id`": [
        line(task_id=number, model_id=number, response_id=number, ideal_response_id=number)
        for number in (b"5500", b"1.10", b"1E5", b"-0", b"18446744073709551616", b"1e5000")
    ],
    "a number that 64 bits cannot hold": [
        line(x=b"18446744073709551616", parsed_rubric_scores=b'{"A": {"score": -9223372036854775809}}')
    ],
    "a number of 5,000 digits": [
        line(x=b"9" * 5000),
        line(parsed_rubric_scores=b'{"A": {"score": %b}}' % (b"9" * 5000)),
        line(human_corrected_scores=b'{"A": {"score": -%b}}' % (b"9" * 5000)),
        line(x=b"0.%b" % (b"1" * 5000)),
    ],
    "a number like 1e5000": [
        line(x=number, human_corrected_scores=b'{"A": {"score": %b}}' % number)
        for number in (b"1e5000", b"-1E+5000", b"1e-5000", b"1" * 400 + b".0")
    ],
    "numbers like -0, 1.10 and 1E5": [
        line(x=b"[-0, -0.0, 1.10, 1E5, 1e308, 5e-324, 0.1, 18446744073709551615, -9223372036854775808]")
    ],
    "a repeated key": [
        line(task_id=b'1, "task_id": "2"'),
        line(human_review_status=b'"Completed", "human_review_status": "Needs Review"'),
        line(human_reviewer_id=b'null, "human_reviewer_id": null', x=b'1, "x": {"a": 1, "a": 2}'),
    ],
    "U+2028, U+2029 or U+0085 in text": [
        line(parsing_error=b'"a%bb"' % character.encode()) for character in "\u2028\u2029\u0085\x7f\ufeff"
    ],
    "unnecessary escapes": [line(rb'"\u0065val_\/"'), line(rb'"a"', x=rb'"\u00e9\u002f\/\""')],
    "a pair of surrogates": [line(x=rb'"\ud83d\ude00 \uDBFF\uDFFF"'), line(x='"😀"'.encode())],
    "unknown keys": [
        line(run="a", notes=[1, {"deep": None}], id=1, pk="x"),
        line(**{"": 1, "__proto__": {}, "extra": 1, "version": 99, "Evaluation_id": "b", "x" * 5000: []}),
    ],
    "a string as structured response": [
        line(structured_ideal_response="The answer is 2.", structured_model_response="")
    ],
    'criteria in groups, `{"accuracy": {"facts": {"score": "Yes"}}}`': [
        line(parsed_rubric_scores=groups)
        for groups in (
            {"accuracy": {"facts": {"score": "Yes"}, "logic": {"score": 1}}, "depth": {"score": "No"}},
            {"style": {"tone": {"score": "Yes"}}, "form": {"tone": {"score": "No", "justification": "x"}}},
            {"a": {"b": {"c": {"score": True}}}, "d": {"note": "No score."}, "e": {}},
        )
    ],
    "optional keys missing": [
        line(human_reviewer_id=..., human_corrected_scores=...),
        line(
            **dict.fromkeys(
                (*HUMAN_FIELDS[1:], "task_id", "model_id", "response_id", "aggregated_score"), ...
            )
        ),
    ],
    "spacing, or keys in another order": [
        json.dumps(json.loads(line()), separators=(",", ":")).encode(),
        b" \t" + json.dumps(json.loads(line()), separators=(" ,  ", "\t:\r ")).encode() + b"\t ",
        json.dumps(dict(reversed(json.loads(line()).items()))).encode(),
    ],
    "an id of 512 bytes": [
        line("é" * 256, task_id="x" * 512, model_id="😀" * 128, response_id="x" * 512, ideal_response_id="")
    ],
    "brackets nested 200 deep": [
        line(raw_judge_output=DEEP % (b"[" * 198, b"]" * 198)),
        line(x=b'{"a":' * 199 + rb'"\u0000"' + b"}" * 199),
    ],
    "a CR before the line end": [line() + b"\r"],
    "a timestamp with an offset, a space or no zone": [
        line(created_at=text)
        for text in ("2025-04-12T01:55:23+02:00", "2025-04-12 01:55:23.5", "2025-04-12T01:55:23.123456789z")
    ],
    "a timestamp of the year 1900 or 9999": [
        line(created_at="1900-01-01T00:00:00Z"),
        line(created_at="9999-12-31T23:59:59.999999Z", human_review_timestamp="9999-12-31T23:59:59Z"),
    ],
    "markup, formulas and paths in text": [
        line("<script>alert(1)</script>", judge_prompt_template_path="../../etc/passwd"),
        line("=cmd|' /C calc'!A0", model_id="'; DROP TABLE evaluation; --", task_id="%s {0} ${x} \\"),
        line("../../../eval", x="\\copy evaluation from '/etc/passwd'", parsing_error="\\."),
    ],
}
FILES: dict[str, list[tuple[bytes, dict[str, int], bytes]]] = {
    # name: (file, its counts other than zero, its export)
    "begins with a byte order mark": [
        (BOM + file_of(BEFORE, AFTER), {"lines": 2, "new": 2}, BOM + file_of(BEFORE, AFTER)),
        (BOM + b"\n" + BEFORE, {"lines": 2, "new": 1, "blank": 1}, BOM + b"\n" + BEFORE),
        (BOM + file_of(b"no record", AFTER), {"lines": 2, "new": 1, "rejected": 1}, BOM + file_of(AFTER)),
    ],
    "has CRLF line ends": [
        (
            b"%b\r\n\r\n%b\r\n" % (BEFORE, AFTER),
            {"lines": 3, "new": 2, "blank": 1},
            b"%b\r\n\r\n%b\r\n" % (BEFORE, AFTER),
        )
    ],
    "has blank lines": [
        (
            file_of(b"", BEFORE, b" \t", b"", AFTER, b"\x0b\x0c", b""),
            {"lines": 7, "new": 2, "blank": 5},
            file_of(b"", BEFORE, b" \t", b"", AFTER, b"\x0b\x0c", b""),
        ),
    ],
    "has no final line end": [(BEFORE + b"\n" + AFTER, {"lines": 2, "new": 2}, BEFORE + b"\n" + AFTER)],
    "is cut off in its last line": [
        (file_of(BEFORE) + AFTER[:size], {"lines": 2, "new": 1, "rejected": 1}, file_of(BEFORE))
        for size in (1, 100, len(AFTER) - 1)
    ],
}
REFUSED = {
    "is empty": [(b"", "The file is empty.")],
    "is UTF-16": [
        (text.decode().encode(encoding), "UTF-16")
        for text in (file_of(BEFORE), b"no record\nat all")
        for encoding in ("utf-16", "utf-16-le", "utf-16-be")
    ],
    "is an image, a PDF document, an Office document, a database or another known binary format": [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is a PNG image."),
        (b"PAR1\x15\x04\n\x15", "it is a Parquet file."),
        (b"PK\x03\x04" + bytes(26) + b"xl/workbook.xml", "The file is an Excel workbook (XLSX)."),
    ],
    "is CSV or TSV with a header": [
        (b"id,score\r\n1,Yes\r\n", "it is a CSV file with the columns id, score."),
    ],
    "has only blank and rejected lines": [
        (b"\n", "only blank lines, so nothing was imported"),
        (file_of(b"", b"{}"), "1 of 2 lines is invalid, so nothing was imported"),
    ],
    "is a file of a [known tool](mapping.md#shipped-mappings), and its run has no mapping": [
        (MT_BENCH, "It needs the mapping 'mt-bench'."),
    ],
    "has JSON lines with the keys of another tool, and its run has no mapping": [
        (b'{"uid": 1, "score": 5}\n{"uid": 2}\n', "the first line is JSON with the keys uid, score."),
    ],
    "is HTML or XML": [(b"<!DOCTYPE html>\n<p>", "it is an HTML page.")],
    "is one JSON document with its records in a list": [
        (b'{"results": {"results": [{}, {}]}}', "with a list of 2 objects at `results.results`."),
    ],
    "has JSON objects that take several lines": [
        (b'{\n  "evaluation_id": "a"\n}\n', "it is one JSON object in several lines."),
    ],
}


def cases(table: Mapping[str, Sequence[Any]]) -> list[Any]:
    return [
        pytest.param(example, id=f"{name}, {number}")
        for name, examples in table.items()
        for number, example in enumerate(examples, start=1)
    ]


def outcome(done: Import) -> dict[str, int]:
    return {name: count for name, count in done.counts.items() if count}


@pytest.mark.slow
def test_rejected_lines_are_listed_and_other_lines_can_be_reviewed(ana: User) -> None:
    traps = [*chain.from_iterable(REJECTED.values())]
    data = file_of(BEFORE, *(trap.text for trap in traps), AFTER)
    done = import_data(data)
    assert outcome(done) == {"lines": 2 + len(traps), "new": 2, "rejected": len(traps)}
    for number, (exception, trap) in enumerate(zip(done.listed_exceptions(), traps, strict=True), 2):
        listed = (exception["line"], exception["outcome"], exception["field"])
        assert listed == (number, "rejected", trap.field), trap
        assert exception["reason"].startswith(trap.reason), trap
    assert export_data() == file_of(BEFORE, AFTER)
    assert export_data(with_rejected=True) == data
    decide(Evaluation.objects.get(evaluation_id="eval_after"), ana)
    result = compare([lambda: BytesIO(data)], BytesIO(export_data()))
    found = (result.problems, result.identical, result.changed, result.left_out)
    assert found == ([], 1, 1, len(traps))


@pytest.mark.slow
def test_accepted_line_is_exported_unchanged_until_reviewed_and_reimported_without_a_change(
    ana: User,
) -> None:
    texts = [distinct(text, number) for number, text in enumerate(chain.from_iterable(ACCEPTED.values()))]
    original = file_of(BEFORE, *texts, AFTER)
    lines = 2 + len(texts)
    assert outcome(import_data(original)) == {"lines": lines, "new": lines}
    assert export_data() == original
    assert import_data(original).unchanged == lines
    records = list(Evaluation.objects.order_by("first_line")[1 : lines - 1])
    reviews = [decide(record, ana, comments="\u2028 \\frac") for record in records]
    exported = export_data()
    result = compare([lambda: BytesIO(original)], BytesIO(exported))
    assert (result.problems, result.identical, result.changed) == ([], 2, len(texts))
    for text, line_out, review in zip(texts, exported.split(b"\n")[1:-2], reviews, strict=True):
        decided = as_spelled(line_out)
        assert decided["human_corrected_scores"] == review.corrected_scores
        assert {name: value for name, value in decided.items() if name not in HUMAN_FIELDS} == {
            name: value for name, value in as_spelled(text).items() if name not in HUMAN_FIELDS
        }
    for data in (original, exported):
        assert import_data(data).unchanged == lines
    assert export_data() == exported


def distinct(text: bytes, number: int) -> bytes:
    """Give a line that has the id of `line()` an id of its own."""
    return text.replace(b'"eval_1"', b'"eval_1.%d"' % number, 1)


def as_spelled(text: bytes) -> Any:
    """Parse a line with its numbers as text, so that numbers of any size can be compared."""
    return json.loads(text, parse_int=str, parse_float=str)


class TestFiles:
    @pytest.mark.parametrize("case", cases(FILES))
    def test_file_has_the_documented_outcome(self, case: tuple[bytes, dict[str, int], bytes]) -> None:
        data, counts, exported = case
        assert outcome(import_data(data)) == counts
        assert export_data() == exported

    @pytest.mark.parametrize("case", cases(REFUSED))
    def test_file_in_another_format_is_refused(self, case: tuple[bytes, str]) -> None:
        data, sentence = case
        with pytest.raises(ImportRefused) as caught:
            import_data(data)
        assert sentence in str(caught.value)
        assert not Run.objects.exists()

    @pytest.mark.slow
    def test_truncated_file_is_completed_by_the_next_import(self) -> None:
        whole = file_of(BEFORE, AFTER)
        import_data(whole[:-10])
        assert outcome(import_data(whole)) == {"lines": 2, "new": 1, "unchanged": 1}
        assert export_data() == whole


def documented() -> dict[str, str]:
    """Map each content in the document's tables of lines and files to its outcome."""
    lines_and_files = DOCUMENT.read_text().partition("\n## Requests\n")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", lines_and_files, re.MULTILINE)
    return {name: said for name, said in rows if name not in {"In the line", "The file"}}


def test_document_has_a_row_for_each_trap() -> None:
    assert set(documented()) == {*REJECTED, *ACCEPTED, *FILES, *REFUSED}


@pytest.mark.parametrize("name", REJECTED)
def test_document_gives_the_reasons(name: str) -> None:
    said = documented()[name].split(", ")
    assert all(any(reason in trap.reason for reason in said) for trap in REJECTED[name])
