"""The exported file: identical to the imported one except for human_* values of reviewed records."""

import datetime as dt
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reviews.exports import jsonl
from reviews.models import Evaluation, Run, User
from reviews.records.line_splice import splice
from reviews.records.schema import HUMAN_FIELDS
from reviews.storage import chunks
from reviews.storage.chunks import BOM
from tests.support.factories import UserFactory
from tests.support.json_texts import json_texts, strings
from tests.support.lines import RECORD, export_data, file_of, import_data, line
from tests.support.threads import together
from tests.support.work import decide

pytestmark = pytest.mark.django_db

A, B, C = line("eval_a"), line("eval_b"), line("eval_c")


def review(text: bytes, reviewer: User) -> bytes:
    """Review the record in a line, and return the line with the decision."""
    evaluation = Evaluation.objects.get(evaluation_id=json.loads(text)["evaluation_id"])
    decision = decide(evaluation, reviewer, comments="Off by one.")
    return splice(
        text,
        {
            "human_review_status": "Completed",
            "human_reviewer_id": reviewer.username,
            "human_review_timestamp": decision.submitted_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "human_corrected_scores": decision.corrected_scores,
            "human_review_comments": "Off by one.",
        },
    )


class TestUnreviewed:
    @pytest.mark.slow
    def test_sample_is_exported_with_its_sha_256(self, sample: bytes) -> None:
        done = import_data(sample)
        assert (done.new, done.rejected, done.lines) == (75, 0, 75)
        assert hashlib.sha256(export_data()).hexdigest() == done.sha256

    @pytest.mark.parametrize(
        "data",
        [
            file_of(A, B),
            file_of(A, B)[:-1],
            file_of(b"", A, b" ", b"", B, b"\t"),
            b"%b\r\n%b\r\n" % (A, B),
            BOM + file_of(A, B),
            BOM + b"\n" + file_of(A),
        ],
    )
    def test_unreviewed_file_is_exported_verbatim(self, data: bytes) -> None:
        import_data(data)
        assert export_data() == data

    @pytest.mark.slow
    @examples(max_examples=12)
    @given(
        st.lists(
            st.builds(
                lambda key, value, colon, order: (order, b"%b%b%b" % (key.encode(), colon, value.encode())),
                strings.filter(lambda key: json.loads(key) not in RECORD),
                json_texts,
                st.sampled_from([b":", b": ", b"\t:  "]),
                st.integers(0, 30),
            ),
            max_size=4,
        ),
        st.permutations(sorted(RECORD)),
        st.sampled_from([b",", b", ", b" ,\t"]),
    )
    def test_record_of_any_spelling_is_exported_verbatim(
        self, extra: list[tuple[int, bytes]], names: list[str], comma: bytes
    ) -> None:
        members = [b'"%b":%b' % (name.encode(), json.dumps(RECORD[name]).encode()) for name in names]
        for place, member in extra:
            members.insert(place, member)
        text = b"{%b}" % comma.join([*members, b'"evaluation_id":"eval_1"'])
        Evaluation.objects.all().delete()
        run = str(Run.objects.count())
        done = import_data(file_of(text), run=run)
        assert (done.new, export_data(run=run)) == (1, file_of(text))

    @pytest.mark.slow
    def test_file_of_many_chunks_is_exported_verbatim(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(chunks, "BLOCK_SIZE", 3000)
        data = file_of(*(line(f"eval_{number}") for number in range(50)))
        assert import_data(data).chunks.count() > 10
        assert export_data() == data


class TestReviewed:
    @pytest.mark.slow
    def test_reviewed_line_has_its_decision_and_is_otherwise_verbatim(self, ana: User) -> None:
        import_data(file_of(A, B, C))
        decided = review(B, ana)
        assert export_data() == file_of(A, decided, C)
        human = {name: json.loads(decided)[name] for name in HUMAN_FIELDS}
        human["human_review_timestamp"] = dt.datetime.fromisoformat(human["human_review_timestamp"])
        assert Evaluation.objects.values(*HUMAN_FIELDS).get(evaluation_id="eval_b") == human

    @pytest.mark.parametrize("ascii_only", [True, False])
    @pytest.mark.parametrize("parsed", [["Rigor", "Größe der Zahl"], ["Größe der Zahl", "Rigor"]])
    def test_criteria_are_exported_in_the_order_of_the_line(
        self, parsed: list[str], ascii_only: bool, ana: User
    ) -> None:
        """First parsed criteria, then those in the raw output in order, then those added by reviewers."""
        raw = {"raw_content": json.dumps({"Zeta, in the text": {}, "Rigor": {}, "Eta": {}}, indent=1)}
        record = {"raw_judge_output": raw, "parsed_rubric_scores": {name: {} for name in parsed}}
        spelled = {key: json.dumps(value, ensure_ascii=ascii_only).encode() for key, value in record.items()}
        import_data(file_of(line("eval_a", **spelled)))
        order = [*parsed, "Zeta, in the text", "Eta", "A", "New"]
        scores = {name: {"score": "Yes", "justification": ""} for name in reversed(order)}
        decide(Evaluation.objects.get(), ana, scores=scores, origins={})
        assert list(json.loads(export_data())["human_corrected_scores"]) == order

    @pytest.mark.slow
    def test_reviewed_file_keeps_its_byte_order_mark_and_line_ends(self, ana: User) -> None:
        import_data(BOM + b"%b\r\n%b" % (A, B))
        decided = review(A, ana), review(B, ana)
        assert export_data() == BOM + b"%b\r\n%b" % decided

    @pytest.mark.slow
    def test_reviewed_lines_can_be_exported_alone(self, ana: User) -> None:
        done_before = line("eval_d", human_review_status="Reviewed", human_reviewer_id="carla")
        import_data(file_of(A, B, b"", b"no record", done_before))
        decided = review(B, ana)
        assert export_data(only="reviewed") == file_of(decided, done_before)

    def test_reviewed_lines_are_empty_before_the_first_review(self) -> None:
        import_data(file_of(A, line("eval_b", human_review_status="Not Required")))
        assert export_data(only="reviewed") == b""

    @pytest.mark.slow
    def test_reviewed_lines_come_from_every_import(self, ana: User) -> None:
        import_data(A)
        import_data(file_of(B))
        first, second = review(A, ana), review(B, ana)
        assert export_data(only="reviewed") == file_of(first, second)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_streamed_export_is_a_snapshot_of_its_start() -> None:
    ana = UserFactory.create(username="ana", role="reviewer")
    for data in (file_of(A), file_of(B)):
        import_data(data)
    export = jsonl.export_lines(Run.objects.get())
    first = next(export)
    together(lambda: review(B, ana))
    assert first + b"".join(export) == file_of(A, B)
    assert export_data() != file_of(A, B)
