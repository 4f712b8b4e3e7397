"""The summary of a run's records, known before any record is reviewed."""

import pytest

from reviews.judge import data_summary
from reviews.judge.data_summary import DataSummary
from reviews.models import Evaluation, FacetCount, Run, StratumCount
from reviews.search import indexing, strata
from reviews.search.filters import Filters
from tests.support import contexts
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

NO_REFERENCE = {
    "final_answer_verified": False,
    "verification_message": "Mismatch (Extracted: '1', Correct: '')",
}
MATCH = {"final_answer_verified": True, "verification_message": "Match (Extracted: '2', Correct: '2')"}
RAW = '{"evaluation": {"Clarity": {"score": "%s", "justification": "It skips step two."}}}'


def facts_of(*lines: bytes) -> DataSummary:
    """Summarise a run with these lines."""
    return data_summary.summarize_data(import_data(file_of(*lines)).target_run)


def unparsed(evaluation_id: str, score: str, **changes: object) -> bytes:
    """Return a record whose scores exist only in its raw output."""
    raw = {"raw_content": RAW % score}
    return line(
        evaluation_id, parsed_rubric_scores={}, aggregated_score=None, raw_judge_output=raw, **changes
    )


def test_summary_of_sample_data_has_its_known_properties(sample: bytes) -> None:
    facts = facts_of(*sample.splitlines())
    assert len(facts.families) == 2
    assert "75 of 75 records flagged for review, for 2 flag reasons." in facts.sentences
    assert facts.records_of("verified", "no reference") == 49
    assert any(sentence.startswith("49 verifications against an empty") for sentence in facts.sentences)
    # A verifier without a reference answer contradicts nobody.
    assert facts.contradictions == ()
    # Verdicts are in the raw output only.
    assert (facts.no_verdict, facts.verdicts_read) == (75, 75)
    assert not facts.blind.is_possible
    assert facts.blind.sentence in facts.sentences


class TestDataSummary:
    def test_summary_counts_all_records(self) -> None:
        facts = facts_of(line("a"), line("b", needs_human_review=False, human_review_status="Not Required"))
        assert (facts.records, facts.flagged, facts.no_verdict) == (2, 1, 0)

    def test_summary_counts_verification_outcomes(self) -> None:
        facts = facts_of(line("a", **NO_REFERENCE), line("b", **NO_REFERENCE), line("c", **MATCH))
        assert [(fact.value, fact.records) for fact in facts.verifications] == [
            ("no reference", 2),
            ("yes", 1),
        ]

    def test_summary_counts_match_the_filtered_list(self) -> None:
        facts = facts_of(line("a", aggregated_score="Fail"), line("b", **MATCH))
        [fact] = [fact for fact in facts.contradictions if fact.value == "verdict"]
        found = Evaluation.objects.filter(
            Filters(((fact.name, fact.value),)).condition(Run.objects.get(), None, is_indexed=True)
        )
        assert [record.evaluation_id for record in found] == ["a"]
        assert fact.records == 1

    def test_summary_counts_verdicts_extracted_from_raw_output(self) -> None:
        facts = facts_of(unparsed("a", "Yes"), unparsed("b", "No"), unparsed("c", "perhaps"), line("d"))
        assert (facts.no_verdict, facts.verdicts_read) == (3, 2)
        counts = dict(StratumCount.objects.values_list("verdict", "evaluations"))
        assert counts == {"Pass": 2, "Fail": 1, "": 1}

    def test_summary_says_that_no_verdict_was_extracted(self) -> None:
        raw = {"raw_content": "No scores"}
        two = [
            line(name, parsed_rubric_scores={}, aggregated_score=None, raw_judge_output=raw) for name in "ab"
        ]
        assert facts_of(*two).sentences[1] == (
            "2 records have no verdict in the file. The judge's scores give none."
        )

    def test_verdicts_that_follow_from_parsed_scores_are_named_so(self) -> None:
        two = [line(name, aggregated_score=None) for name in "ab"]
        assert facts_of(*two).sentences[1] == (
            "2 records have no verdict in the file. The judge's scores give all of them."
        )

    @pytest.mark.slow
    def test_summary_follows_reimported_records(self) -> None:
        facts_of(line("a", **NO_REFERENCE), line("b", **NO_REFERENCE))
        facts = facts_of(line("a", **MATCH), line("b", **NO_REFERENCE))
        assert facts.records_of("verified", "no reference") == 1
        assert facts.records == 2

    @pytest.mark.slow
    def test_summary_is_limited_to_its_run(self) -> None:
        facts_of(line("a", **NO_REFERENCE))
        import_data(file_of(line("b", **MATCH)), run="another")
        assert (
            data_summary.summarize_data(Run.objects.get(name="another")).records_of(
                "verified", "no reference"
            )
            == 0
        )
        assert FacetCount.objects.filter(name="verified").count() == 2

    def test_summary_says_while_records_are_being_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(indexing, "MAX_RECORDS_INLINE", 0)
        facts = facts_of(line("a"))
        assert not facts.is_counted
        assert facts.sentences == (strata.NOT_COUNTED,)
        assert indexing.index_next_chunk()
        assert data_summary.summarize_data(Run.objects.get()).is_counted

    def test_summary_says_that_task_context_allows_blind_review(self) -> None:
        answer = {"model_id": "openai/o4-mini", "response_text": "It is 60."}
        without = facts_of(line("a", task_id="7", structured_model_response=None))
        assert not without.blind.is_possible
        contexts.bring(contexts.task(model_responses=[answer]))
        assert data_summary.summarize_data(Run.objects.get()).blind.is_possible

    def test_summary_of_an_empty_run_counts_nothing(self) -> None:
        run = Run.objects.create(name="empty")
        facts = data_summary.summarize_data(run)
        assert (facts.records, facts.verifications, facts.as_json()["records"]) == (0, (), 0)
