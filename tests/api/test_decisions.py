"""Reviews over the API: claims, idempotent decisions, conflicts with names, and blind records."""

import gzip
from typing import Any

import orjson
import pytest

from reviews.api import entries, saved_decision
from reviews.models import AuditEvent, Evaluation, Review, Run, User
from reviews.queue import claims
from reviews.records.rubric import Criterion, Rubric
from reviews.records.scales import YES_PARTIAL_NO
from reviews.review import decisions, independent_reviews, known_answers
from reviews.rubric.run_rubric import declare_rubric
from tests.support.api_requests import Program, path_of, program_of
from tests.support.factories import SCORES, EvaluationFactory, RunFactory
from tests.support.work import decide, end_claim

pytestmark = pytest.mark.django_db

UNDERSTANDING, ACCURACY = SCORES
DECISION = {
    "corrected_scores": {
        UNDERSTANDING: {"score": "Yes"},
        ACCURACY: {"score": "Yes", "justification": "It is 2."},
    },
    "comments": "The judge read 1/2.",
}


@pytest.fixture
def record() -> Evaluation:
    return EvaluationFactory.create(structured_model_response={"final_answer": "2"})


def review(program: Program, record: Evaluation, sent: Any = None, key: str = "one") -> Any:
    path = path_of(record, "review")
    return program.ask("PUT", path, DECISION if sent is None else sent, Idempotency_Key=key)


def claim(program: Program, run: Run, **filters: Any) -> Any:
    return program.ask("POST", f"runs/{run.name}/claims", {"filters": filters} if filters else None)


def errors(answer: Any) -> dict[str, str]:
    assert answer.status_code == 422
    assert answer["Content-Type"] == "application/problem+json"
    return {each["field"]: each["reason"] for each in answer.json()["errors"]}


class TestClaim:
    def test_claim_returns_the_claimed_record(self, record: Evaluation, of_ana: Program) -> None:
        claimed = claim(of_ana, record.run).json()
        record.refresh_from_db()
        assert (claimed["evaluation_id"], claimed["claimed_by"]) == (record.evaluation_id, "ana")
        assert record.claimed_until
        assert claimed["claimed_until"].startswith(f"{record.claimed_until:%Y-%m-%dT%H:%M:%S}")
        of_judge = {"criterion": ACCURACY, **SCORES[ACCURACY], "origin": "judge"}
        found = next(one for one in claimed["criteria"] if one["criterion"] == ACCURACY)
        assert found.items() >= (of_judge | {"scores": ["Yes", "Partial", "No"]}).items()
        assert found["scale"] == YES_PARTIAL_NO.as_json()
        assert claim(of_ana, record.run).json()["evaluation_id"] == record.evaluation_id

    def test_claim_of_last_record_leaves_none(
        self, record: Evaluation, of_ana: Program, of_lea: Program
    ) -> None:
        claim(of_ana, record.run)
        answer = claim(of_lea, record.run)
        assert (answer.status_code, answer.content) == (204, b"")

    def test_claim_follows_page_filters(self, record: Evaluation, of_ana: Program) -> None:
        other = EvaluationFactory.create(run=record.run, model_id="o1")
        assert claim(of_ana, record.run, model="none").status_code == 204
        found = claim(of_ana, record.run, model=["o1", "o2"], status="done").json()
        assert found["evaluation_id"] == other.evaluation_id

    @pytest.mark.parametrize(
        ("filters", "sentence"),
        [
            ({"model_id": "o1"}, "Unknown filter “model_id”."),
            ({"verdict": ["Good"]}, "“Good” is not one of: Pass, Fail, Partial, none."),
            ({"task": "\0"}, "is not a valid value for task."),
        ],
    )
    def test_claim_with_unknown_filters_is_rejected(
        self, filters: dict[str, Any], sentence: str, record: Evaluation, of_ana: Program
    ) -> None:
        assert sentence in errors(claim(of_ana, record.run, **filters))["filters"]

    def test_claim_can_be_released(self, record: Evaluation, of_ana: Program) -> None:
        claim(of_ana, record.run)
        assert of_ana.ask("DELETE", path_of(record, "claim")).status_code == 204
        record.refresh_from_db()
        assert record.claimed_by is None
        assert of_ana.ask("DELETE", path_of(record, "claim")).status_code == 204

    def test_claim_of_another_reviewer_is_released_by_leads_only(
        self, record: Evaluation, of_ana: Program, of_lea: Program, bo: User
    ) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=bo)
        path = path_of(record, "claim")
        assert of_ana.ask("DELETE", path).status_code == 403
        assert of_lea.ask("DELETE", path).status_code == 204


class TestReview:
    def test_review_becomes_current_decision(self, record: Evaluation, of_ana: Program) -> None:
        sent = DECISION | {"causes": {ACCURACY: "wrong_facts"}, "version": record.version}
        options = claim(of_ana, record.run).json()["causes"]
        cause = next(iter(options))
        answer = review(of_ana, record, sent | {"causes": {ACCURACY: cause}})
        record.refresh_from_db()
        assert record.human_corrected_scores == {
            UNDERSTANDING: SCORES[UNDERSTANDING],
            ACCURACY: {"score": "Yes", "justification": "It is 2.", "justification_by": "reviewer"},
        }
        assert (record.human_review_status, record.human_reviewer_id) == ("Completed", "ana")
        assert answer.status_code == 200
        saved = answer.json()
        assert (saved["outcome"], saved["status"]) == ("current", "Completed")
        assert saved["decision"]["causes"] == {ACCURACY: cause}
        assert saved["decision"]["verdict"] == "Pass"

    def test_review_sent_twice_is_stored_once(self, record: Evaluation, of_ana: Program) -> None:
        first, again = (review(of_ana, record).json() for _ in range(2))
        assert first == again
        assert Review.objects.count() == 1

    def test_review_repeated_while_first_request_is_at_work_gets_its_response(
        self, record: Evaluation, of_ana: Program, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file extends the rubric after the first request is checked, and before the second one is."""
        sent, read = entries.DecisionIn.model_validate(DECISION), entries.decision_arguments
        arguments = read(record, sent, saved_decision.submission_of(ana, "one"), None)
        criteria = tuple(Criterion(name) for name in (*SCORES, "Style"))
        declare_rubric(run_id=record.run_id, actor=None, rubric=Rubric(criteria))

        def finish_first_request(*args: Any) -> Any:
            decisions.submit(evaluation_id=record.pk, reviewer=ana, **arguments)
            return read(*args)

        monkeypatch.setattr(entries, "decision_arguments", finish_first_request)
        answer = review(of_ana, record)
        assert answer.status_code == 200
        assert answer.json() == review(of_ana, record).json()
        assert Review.objects.count() == 1

    def test_review_with_key_of_another_review_is_rejected(self, record: Evaluation, of_ana: Program) -> None:
        review(of_ana, record)
        other = {"corrected_scores": {UNDERSTANDING: {"score": "No"}, ACCURACY: None}}
        assert "Idempotency-Key" in errors(review(of_ana, record, other))
        elsewhere = EvaluationFactory.create(run=record.run)
        assert review(of_ana, elsewhere).status_code == 409
        assert Review.objects.count() == 1

    @pytest.mark.parametrize(
        "change",
        [
            {"comments": "On second thoughts."},
            {"causes": {}},
            {"corrected_scores": {UNDERSTANDING: {"score": "Yes", "justification": "New."}, ACCURACY: None}},
        ],
    )
    def test_review_with_reused_key_is_rejected_for_any_difference(
        self, change: dict[str, Any], record: Evaluation, of_ana: Program
    ) -> None:
        cause = next(iter(claim(of_ana, record.run).json()["causes"]))
        sent = DECISION | {"comments": "So it\r\nis. ", "causes": {ACCURACY: cause}}
        assert [review(of_ana, record, sent).status_code for _ in range(2)] == [200, 200]
        assert "Idempotency-Key" in errors(review(of_ana, record, sent | change))

    def test_review_with_content_encoding_is_rejected(self, record: Evaluation, of_ana: Program) -> None:
        path = path_of(record, "review")
        sent = gzip.compress(orjson.dumps(DECISION))
        answer = of_ana.ask("PUT", path, sent, Idempotency_Key="one", Content_Encoding="gzip")
        assert (answer.status_code, answer.json()["detail"]) == (
            415,
            "The Content-Encoding is gzip; accepted: none.",
        )

    def test_review_keys_are_scoped_to_the_reviewer(
        self, record: Evaluation, of_ana: Program, of_lea: Program
    ) -> None:
        other = EvaluationFactory.create(run=record.run)
        assert [review(of_ana, record).status_code, review(of_lea, other).status_code] == [200, 200]

    def test_review_conflict_names_holder_and_time_of_claim(
        self, record: Evaluation, of_ana: Program, bo: User
    ) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=bo)
        answer = review(of_ana, record)
        assert answer.status_code == 409
        problem = answer.json()
        assert problem["who"] == "bo"
        since = AuditEvent.objects.get(action="claim").at
        assert problem["since"].startswith(f"{since:%Y-%m-%dT%H:%M:%S}")
        assert problem["detail"].startswith("bo has been reviewing this since")

    def test_review_conflict_names_first_decision(
        self, record: Evaluation, of_ana: Program, bo: User
    ) -> None:
        first = decide(record, bo)
        problem = review(of_ana, record).json()
        assert (problem["status"], problem["who"]) == (409, "bo")
        assert problem["since"].startswith(f"{first.submitted_at:%Y-%m-%dT%H:%M:%S}")
        assert "You differ on" in problem["detail"]

    def test_review_of_changed_record_is_rejected(self, record: Evaluation, of_ana: Program) -> None:
        assert review(of_ana, record, DECISION | {"version": 7}).status_code == 409
        assert not Review.objects.exists()

    def test_review_excludes_criterion_with_null(self, record: Evaluation, of_ana: Program) -> None:
        sent = {
            "corrected_scores": {UNDERSTANDING: None, ACCURACY: {"score": "No"}, "Style": {"score": "Yes"}}
        }
        decision = review(of_ana, record, sent).json()["decision"]
        assert list(decision["corrected_scores"]) == [ACCURACY, "Style"]

    @pytest.mark.parametrize(
        ("sent", "field", "reason"),
        [
            (
                {"corrected_scores": {}},
                f"corrected_scores.{ACCURACY}",
                "Missing: give a score, or exclude the criterion.",
            ),
            ({}, "corrected_scores", "“corrected_scores” is missing."),
            ([], "body", "“body” must be an object."),
            (DECISION | {"comment": "a typing error"}, "comment", "“comment” is not a known field."),
            ({"corrected_scores": {ACCURACY: {}}}, f"corrected_scores.{ACCURACY}.score", "is missing."),
            (
                {"corrected_scores": {UNDERSTANDING: {"score": "Perhaps"}, ACCURACY: None}},
                f"corrected_scores.{UNDERSTANDING}.score",
                "Choose one of these scores: Yes, Partial, No.",
            ),
            (
                {"corrected_scores": {UNDERSTANDING: {"score": {"a": [1]}}, ACCURACY: None}},
                f"corrected_scores.{UNDERSTANDING}.score",
                "A score is a text, a number, true or false.",
            ),
            (
                {"corrected_scores": {UNDERSTANDING: None, ACCURACY: None}},
                "corrected_scores",
                "A review needs at least one criterion with a score.",
            ),
            (DECISION | {"comments": "\0"}, "comments", "Null characters are not allowed."),
            (DECISION | {"comments": "x" * 100_001}, "comments", "The limit is 100,000."),
            (DECISION | {"causes": {"Style": "facts"}}, "causes.Style", "There is no score"),
            (DECISION | {"causes": {ACCURACY: "no such"}}, f"causes.{ACCURACY}", "Choose one of the causes."),
            (DECISION | {"version": 2**40}, "version", "“version” must be at most 2,147,483,647."),
        ],
    )
    def test_invalid_review_is_rejected_by_field(
        self, sent: Any, field: str, reason: str, record: Evaluation, of_ana: Program
    ) -> None:
        answer = errors(review(of_ana, record, sent))
        assert any(name.startswith(field) and reason in why for name, why in answer.items()), answer
        assert not Review.objects.exists()

    def test_review_without_key_or_json_is_rejected(self, record: Evaluation, of_ana: Program) -> None:
        path = path_of(record, "review")
        assert "Idempotency-Key" in errors(of_ana.ask("PUT", path, DECISION))
        for sent in (b"{", b"[[" * 2_000, b'"\\ud800"', b"\xff", b'{"a": 1e999}'):
            assert of_ana.ask("PUT", path, sent, Idempotency_Key="one").status_code == 400
        kind = "text/plain"
        assert of_ana.ask("PUT", path, b"{}", kind=kind, Idempotency_Key="one").status_code == 415

    @pytest.mark.slow
    def test_review_counts_as_independent_review(
        self, record: Evaluation, of_ana: Program, of_lea: Program, bo: User
    ) -> None:
        Run.objects.update(overlap_share=1)
        assert review(of_ana, record).json()["outcome"] == "independent review"
        assert review(of_ana, record).json()["outcome"] == "independent review"
        assert review(of_ana, record, key="two").status_code == 409
        other = {"corrected_scores": {UNDERSTANDING: {"score": "No"}, ACCURACY: {"score": "No"}}}
        assert review(program_of(bo), record, other).json()["outcome"] == "disagreement"
        assert len(independent_reviews.open_reviews(record)) == 2
        resolved = review(of_lea, record)
        assert resolved.json()["outcome"] == "current", resolved.content


class TestBlindReview:
    """Every endpoint hides the judge's scores until the reviewer locks in their own."""

    @pytest.fixture
    def record(self) -> Evaluation:
        run = RunFactory.create(blind_share=1)
        return EvaluationFactory.create(run=run, structured_model_response={"final_answer": "2"})

    TELLING = ("Restates the task", "Ends with", "Mismatch", "Final answer does not match", '"Fail"')

    def lock_in(self, program: Program, record: Evaluation, **scores: Any) -> Any:
        sent = {"scores": {UNDERSTANDING: "Yes", ACCURACY: "Yes"} | scores}
        return program.ask("PUT", path_of(record, "blind-scores"), sent)

    def test_blind_record_hides_judge_scores(self, record: Evaluation, of_ana: Program) -> None:
        answers = [
            of_ana.get(path_of(record)),
            of_ana.get(f"runs/{record.run.name}/evaluations"),
            claim(of_ana, record.run),
            review(of_ana, record),
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 409]
        for answer in answers:
            assert [word for word in self.TELLING if word in answer.content.decode()] == []
        answer = answers[0].json()
        assert answer["is_blind"]
        assert [one["score"] for one in answer["criteria"]] == [None, None]
        assert answer["fields"]["structured_model_response"] == {"final_answer": "2"}
        assert not Review.objects.exists()

    @pytest.mark.slow
    def test_blind_scores_are_locked_in_before_the_decision(
        self, record: Evaluation, of_ana: Program
    ) -> None:
        claim(of_ana, record.run)
        shown = self.lock_in(of_ana, record)
        assert shown.status_code == 200
        assert not shown.json()["is_blind"]
        assert {one["criterion"]: one["score"] for one in shown.json()["criteria"]}[ACCURACY] == "No"
        assert self.lock_in(of_ana, record).status_code == 200
        assert self.lock_in(of_ana, record, **{ACCURACY: "No"}).status_code == 409
        assert review(of_ana, record).json()["outcome"] == "current"
        assert Review.objects.get().blind_scores == {UNDERSTANDING: "Yes", ACCURACY: "Yes"}

    def test_blind_scores_require_the_claim(self, record: Evaluation, of_ana: Program) -> None:
        assert self.lock_in(of_ana, record).status_code == 409
        claim(of_ana, record.run)
        end_claim(record)
        assert self.lock_in(of_ana, record).status_code == 200

    def test_invalid_blind_scores_are_rejected_by_field(self, record: Evaluation, of_ana: Program) -> None:
        claim(of_ana, record.run)
        answer = errors(self.lock_in(of_ana, record, **{ACCURACY: "Perhaps"}))
        assert answer == {f"scores.{ACCURACY}": "Choose one of these scores: Yes, Partial, No."}

    def test_blind_scores_of_ordinary_record_are_rejected(self, record: Evaluation, of_ana: Program) -> None:
        Run.objects.update(blind_share=0)
        claim(of_ana, record.run)
        assert self.lock_in(of_ana, record).status_code == 409


class TestUndo:
    @pytest.mark.slow
    def test_undo_names_the_action_and_returns_its_record(
        self, record: Evaluation, of_ana: Program, ana: User
    ) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        claims.skip(evaluation_id=record.pk, reviewer=ana)
        path = f"runs/{record.run.name}/undo"
        action = of_ana.get(path).json()
        assert (action["action"], action["evaluation_id"]) == ("skip", record.evaluation_id)
        answer = of_ana.ask("POST", path, {"event": action["event"]}).json()
        assert answer["undone"] == action | {"decision_version": None}
        assert (answer["record"]["claimed_by"], record.skips.exists()) == ("ana", False)
        again = of_ana.ask("POST", path, {"event": action["event"]})
        assert (again.status_code, again.json()["detail"]) == (409, "This was already undone.")
        assert of_ana.get(path).status_code == 204

    @pytest.mark.slow
    def test_undo_without_a_body_undoes_the_last_action(self, record: Evaluation, of_ana: Program) -> None:
        claim(of_ana, record.run)
        review(of_ana, record)
        undone = of_ana.ask("POST", f"runs/{record.run.name}/undo").json()["undone"]
        assert (undone["action"], undone["decision_version"]) == ("submit", 1)

    def test_refused_undo_says_why(self, record: Evaluation, of_ana: Program, ana: User, bo: User) -> None:
        claims.skip(evaluation_id=record.pk, reviewer=ana)
        claims.claim(evaluation_id=record.pk, reviewer=bo)
        refused = of_ana.ask("POST", f"runs/{record.run.name}/undo")
        said = f"Can't undo: skipped {record.title}. bo has been reviewing this since"
        assert refused.status_code == 409
        assert refused.json()["detail"].startswith(said)


@pytest.mark.slow
def test_independent_review_does_not_tell_how_many_there_are(
    record: Evaluation, of_ana: Program, bo: User, lea: User
) -> None:
    Run.objects.update(overlap_share=1, overlap=2)
    known_answers.start(run_id=record.run_id, actor=lea, count=1)
    record.refresh_from_db()
    for person in (bo, lea):
        decide(record, person)
    claim(of_ana, record.run)
    saved = review(of_ana, record).json()
    assert (saved["outcome"], saved["decision"]["version"]) == ("independent review", None)
    [version] = of_ana.get(f"runs/{record.run.name}/decisions/{record.evaluation_id}").json()
    assert (version["state"], version["version"]) == ("independent review", None)
    undoable = of_ana.get(f"runs/{record.run.name}/undo").json()
    assert (undoable["action"], undoable["decision_version"]) == ("independent review", None)
