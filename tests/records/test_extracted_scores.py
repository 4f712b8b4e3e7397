"""Scores are extracted from raw judge output once, at import, within a budget."""

import json
from typing import Any

import pytest
from django.test import Client

from reviews.api import shapes
from reviews.evidence import siblings
from reviews.models import Evaluation, User
from reviews.records import extracted_scores, partial_json, score_extraction
from reviews.records.extracted_scores import TOO_LONG, encode_extracted
from reviews.records.json_text import MOST_INDENTED, indented
from reviews.records.reading_budget import WORK_AT_LEAST, WORK_PER_CHARACTER
from reviews.records.score_extraction import VERSION, raw_text
from reviews.rubric.run_rubric import run_rubric
from reviews.search.verdicts import with_judged_scores
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

READABLE = {"evaluation": {"Clarity": {"score": "No", "justification": r"Off by \(\frac{1}{2}\)."}}}
# Each hostile text repeats one of these.
UNITS = (
    '{"a": [',
    '{"a": "',
    '{"a": {"score": "Yes", "justification": "\\"',
    '"c": {"score": "Yes", "justification": "a\\" b a\\" b" b", ',
    '{"a": {"score": "Yes", ',
    '{"a": {"score": "Yes", "b": ["',
    '{ "',
    '{"a": {"score": 1} "',
    '"\\',
    "{",
)
SIZE = 200_000


def unparsed(raw: Any, evaluation_id: str = "eval_1", **changes: Any) -> bytes:
    output = raw if isinstance(raw, dict) else {"raw_content": raw}
    fields: dict[str, Any] = {"parsed_rubric_scores": {}, "aggregated_score": None} | changes
    return line(evaluation_id, raw_judge_output=output, **fields)


def hostile(unit: str, size: int = SIZE) -> str:
    return ('{"evaluation": {' + unit * (size // len(unit) + 1))[:size]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collect every call of the extractor."""
    calls: list[Any] = []

    def count(output: Any) -> score_extraction.Extraction:
        calls.append(output)
        return score_extraction.extract_scores(output)

    monkeypatch.setattr(extracted_scores, "extract_scores", count)
    return calls


class TestStorage:
    def test_import_stores_scores_with_place_repairs_and_version(self) -> None:
        raw = json.dumps(READABLE).replace("\\\\", "\\")
        import_data(file_of(unparsed(raw)))
        record = Evaluation.objects.get()
        assert record.extracted_scores is not None
        assert record.extracted_scores["version"] == VERSION
        assert (
            extracted_scores.read_extracted(record).proposals
            == score_extraction.extract_scores({"raw_content": raw}).proposals
        )
        assert extracted_scores.read_extracted(record).proposals[0].repairs

    def test_record_with_parsed_scores_costs_nothing(self, counted: list[Any]) -> None:
        import_data(file_of(line()))
        assert Evaluation.objects.get().extracted_scores is None
        assert counted == []

    @pytest.mark.parametrize("spelled", ["1e2", "100.0", "-0", "1E-300", "123456789012345678"])
    def test_stored_score_is_the_number_that_was_read(self, spelled: str) -> None:
        import_data(file_of(unparsed(f'{{"a": {{"score": {spelled}}}}}')))
        [proposal] = extracted_scores.read_extracted(Evaluation.objects.get()).proposals
        assert proposal.score == json.loads(spelled)

    @pytest.mark.slow
    def test_changed_line_is_extracted_again(self) -> None:
        import_data(file_of(unparsed('{"a": {"score": "Yes"}}'), unparsed("{}", "eval_2"), line("eval_3")))
        again = file_of(
            unparsed('{"b": {"score": "No"}}'), line("eval_2"), unparsed('{"c": {"score": "No"}}', "eval_3")
        )
        assert import_data(again).updated == 3
        by_id = {one.evaluation_id: one for one in Evaluation.objects.all()}
        assert [one.criterion for one in extracted_scores.read_extracted(by_id["eval_1"]).proposals] == ["b"]
        assert by_id["eval_2"].extracted_scores is None
        assert [one.criterion for one in extracted_scores.read_extracted(by_id["eval_3"]).proposals] == ["c"]

    @pytest.mark.slow
    def test_every_generated_record_keeps_its_four_scores(self) -> None:
        """A twin of the real sample: 75 records whose four scores are in the raw output only."""
        names = ("Clarity", "Depth", "Method", "Conclusion")
        lines = []
        for number in range(75):
            scores = {
                name: {"score": "No", "justification": rf"\(\frac{{{number}}}{{2}}\)"} for name in names
            }
            text = f"```json\n{json.dumps({'evaluation': scores}, indent=2)}\n```"
            lines.append(unparsed(text.replace("\\\\", "\\") if number % 10 == 0 else text, f"eval_{number}"))
        import_data(file_of(*lines))
        found = [extracted_scores.read_extracted(record).proposals for record in Evaluation.objects.all()]
        assert [len(proposals) for proposals in found] == [4] * 75


class TestReaders:
    @pytest.mark.slow
    def test_pages_and_siblings_do_not_extract_scores_again(self, ana: User, counted: list[Any]) -> None:
        import_data(
            file_of(*(unparsed(json.dumps(READABLE), f"eval_{n}", model_id=f"m{n}") for n in range(21)))
        )
        assert len(counted) == 21
        record = with_judged_scores(Evaluation.objects.order_by("pk")).last()
        assert record
        client = Client()
        client.force_login(ana)
        for place in (f"/evaluations/{record.pk}/", f"/runs/{record.run_id}/"):
            assert client.get(place).status_code == 200
        assert shapes.evaluation_out(record, run_rubric(record.run), is_hidden=False)
        assert len(counted) == 21

    def test_verdict_of_every_sibling_is_known(self) -> None:
        import_data(
            file_of(*(unparsed(json.dumps(READABLE), f"eval_{n}", model_id=f"m{n}") for n in range(20)))
        )
        found = siblings.find_siblings(Evaluation.objects.latest("pk")).records
        assert [one.judged for one in found] == ["Fail"] * 20

    @pytest.mark.slow
    def test_record_beyond_the_budget_says_so_on_its_page(self, ana: User) -> None:
        import_data(file_of(unparsed(hostile(UNITS[0])), line("eval_2")))
        client = Client()
        client.force_login(ana)
        cut, parsed = Evaluation.objects.order_by("pk")
        assert TOO_LONG in client.get(f"/evaluations/{cut.pk}/").text.replace("&#x27;", "'")
        assert TOO_LONG not in client.get(f"/evaluations/{parsed.pk}/").text.replace("&#x27;", "'")


class _Counting:
    """A decoder that counts the characters it may examine."""

    def __init__(self, decoder: json.JSONDecoder) -> None:
        self._decoder = decoder
        self.characters = 0

    def raw_decode(self, text: str, start: int) -> Any:
        try:
            value, end = self._decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            self.characters += (len(text) if "Unterminated" in error.msg else error.pos) - start
            raise
        self.characters += end - start
        return value, end

    def decode(self, text: str) -> Any:
        self.characters += len(text)
        return self._decoder.decode(text)


class TestBudget:
    @pytest.mark.parametrize("unit", UNITS)
    @pytest.mark.parametrize("size", [SIZE // 10, SIZE])
    def test_work_is_in_proportion_to_the_text(
        self, unit: str, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counting = _Counting(score_extraction._DECODER)
        monkeypatch.setattr(score_extraction, "_DECODER", counting)
        score_extraction.extract_scores({"raw_content": hostile(unit, size)})
        # The last step may go through the whole text once more.
        most = WORK_AT_LEAST + (WORK_PER_CHARACTER + 1) * 2 * size
        assert counting.characters <= most

    @pytest.mark.parametrize("unit", UNITS)
    def test_stored_scores_are_no_larger_than_the_text_allows(self, unit: str) -> None:
        stored = encode_extracted({}, {"raw_content": hostile(unit)})
        assert len(json.dumps(stored)) < 4 * SIZE

    def test_criteria_inside_each_other_do_not_multiply(self) -> None:
        value: Any = "x" * 50_000
        for number in range(100):
            value = {"score": "Yes", "justification": [f"c{number}", value]}
        stored = encode_extracted({}, {"raw_content": json.dumps({"a": value})})
        assert len(json.dumps(stored)) < 4 * SIZE

    @pytest.mark.slow
    def test_deeply_nested_output_is_not_blown_up_by_indentation(self) -> None:
        deep: Any = [0] * 100_000
        for _ in range(150):
            deep = [deep]
        assert len(raw_text({"x": deep})) <= len(json.dumps({"x": deep}))
        assert len(indented(deep, 2)) <= MOST_INDENTED


class TestBrokenObjects:
    @pytest.mark.parametrize(
        ("text", "members"),
        [
            ('{"a": "b" "c": 1', {"a": "b", "c": 1}),
            ('{"a": "it says "x" and "y".", "c": No}', {"a": 'it says "x" and "y".', "c": "No"}),
            ('{"a": "b\\"c', {"a": 'b"c'}),
            ('{"a": ["b", "c', {"a": ["b", "c"]}),
            ('{"a": ["b"], "c": true,}', {"a": ["b"], "c": True}),
            ('{"a": {"b": 1}', {}),
            ('{"a": "b\\', {"a": "b"}),
            ('{"a": "b\\u12', {"a": "b\\u12"}),
            ('{"a":', {}),
            ("{", {}),
        ],
    )
    def test_broken_object_is_read_as_far_as_it_goes(self, text: str, members: dict[str, Any]) -> None:
        assert partial_json.members(text) == members
