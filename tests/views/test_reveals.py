"""Requests that show the judge's scores record a reveal, and open reviews of others are withheld."""

import json
from typing import Any

import pytest
from django.test import Client

from reviews.audit import log
from reviews.audit.hash_chain import ChainVerifier, SealedEvent
from reviews.database.statements import execute
from reviews.exports import jobs, output
from reviews.models import AuditEvent, Evaluation, IndependentReview, Reveal, Run, User
from reviews.queue import claims
from reviews.records.conflicts import Conflict
from reviews.review import blind_scoring
from tests.support.api_requests import program_of
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import HTMX, text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db

SECRET = "Only ana thinks that it is deep."
SCORES = {"Clarity": {"score": "Yes", "justification": SECRET}}
ASSISTED = "your reviews in this run no longer count as blind."


def seal_events() -> None:
    """Run the deferred triggers now, as a commit would."""
    execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


@pytest.mark.slow
class TestExports:
    @pytest.fixture
    def run(self) -> Run:
        Run.objects.create(name="algebra", blind_share=1)
        return import_data(file_of(line("e-1"), b"no record", line("e-2")), run="algebra").target_run

    @pytest.fixture
    def record(self, run: Run) -> Evaluation:
        return Evaluation.objects.get(evaluation_id="e-1")

    def test_export_in_the_browser_reveals_the_run(
        self, as_lea: Client, run: Run, record: Evaluation, lea: User, max: User
    ) -> None:
        assert ASSISTED in text(as_lea.get(url("export", run)))
        assert blind_scoring.is_hidden(record, lea)
        for _ in range(2):
            as_lea.post(url("export", run), {"only": "all"})
        assert not blind_scoring.is_hidden(record, lea)
        assert blind_scoring.is_hidden(record, max)
        [shown] = Reveal.objects.all()
        assert (shown.run, shown.evaluation, shown.reviewer, shown.how) == (run, None, lea, "downloaded")
        assert AuditEvent.objects.filter(action="reveal", actor=lea, run=run).count() == 1

    def test_export_of_reviewed_lines_reveals_nothing(
        self, as_lea: Client, run: Run, record: Evaluation, lea: User
    ) -> None:
        as_lea.post(url("export", run), {"only": "reviewed"})
        assert blind_scoring.is_hidden(record, lea)

    def test_export_by_the_api_reveals_the_run(self, run: Run, record: Evaluation, lea: User) -> None:
        assert b"e-1" in body(program_of(lea).get("runs/algebra/export"))
        assert not blind_scoring.is_hidden(record, lea)

    def test_download_of_another_persons_export_reveals_the_run(
        self, as_lea: Client, run: Run, record: Evaluation, lea: User, max: User
    ) -> None:
        export = jobs.enqueue(options=output.ExportOptions(run), actor=max)
        jobs.build(export_id=export.pk)
        assert ASSISTED in text(as_lea.get(url("export-page", export)))
        assert blind_scoring.is_hidden(record, lea)
        as_lea.get(url("export-receipt", export))
        assert blind_scoring.is_hidden(record, lea)
        as_lea.get(url("export-file", export), headers={"Range": "bytes=0-0"})
        assert not blind_scoring.is_hidden(record, lea)

    def test_download_of_rejected_lines_reveals_the_run(
        self, as_lea: Client, run: Run, record: Evaluation, lea: User
    ) -> None:
        as_lea.get(url("import-rejected", record.first_import))
        assert not blind_scoring.is_hidden(record, lea)

    def test_export_before_blind_review_reveals_the_run(
        self, as_lea: Client, run: Run, record: Evaluation, lea: User
    ) -> None:
        Run.objects.update(blind_share=0)
        as_lea.post(url("export", run), {"only": "all"})
        Run.objects.update(blind_share=1)
        assert not blind_scoring.is_hidden(Evaluation.objects.get(pk=record.pk), lea)


@pytest.mark.slow
class TestDraft:
    """A former way to unblind a record without a reveal."""

    def test_draft_keeps_whether_scores_were_shown(self, as_ana: Client, as_bo: Client, ana: User) -> None:
        run = RunFactory.create(blind_share=1)
        record = EvaluationFactory.create(run=run, structured_model_response={"final_answer": "2"})
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        for client, status in ((as_bo, 409), (as_ana, 204)):
            response = client.post(url("draft", record), {"revision": "1", "comments": "?"}, headers=HTMX)
            assert response.status_code == status
            assert client.get(url("evaluation", record)).context["form"].is_blind
        blind_scoring.lock_in(
            evaluation_id=record.pk,
            reviewer=ana,
            version=record.version,
            scores={"Clarity": "Yes"},
            fields=[],
            active_ms=None,
        )
        as_ana.post(url("draft", record), {"action": "discard"}, headers=HTMX)
        assert not as_ana.get(url("evaluation", record)).context["form"].is_blind
        assert Reveal.objects.get().how == "locked in"


@pytest.mark.slow
class TestOpenIndependentReviews:
    @pytest.fixture
    def record(self) -> Evaluation:
        return EvaluationFactory.create(run=RunFactory.create(name="algebra", overlap_share=1))

    @pytest.fixture
    def independent_review(self, record: Evaluation, ana: User) -> IndependentReview:
        return decide(record, ana, scores=SCORES, comments="A word of ana.").independent_review

    def independent_reviews_of(self, client: Client, run: Run) -> list[dict[str, Any]]:
        return [json.loads(one) for one in body(client.get(url("independent-reviews", run))).splitlines()]

    def events_of(self, person: User) -> list[dict[str, Any]]:
        seal_events()
        answer = program_of(person).get("audit?run=algebra")
        return [json.loads(one) for one in body(answer).splitlines()]

    def independent_review_in(self, entries: list[dict[str, Any]]) -> bool:
        return any(entry.get("event", {}).get("action") == "independent review" for entry in entries)

    @pytest.mark.parametrize("who", ["lea", "max"])
    def test_open_independent_reviews_are_withheld_from_possible_reviewers(
        self,
        request: pytest.FixtureRequest,
        record: Evaluation,
        independent_review: IndependentReview,
        who: str,
    ) -> None:
        [said] = self.independent_reviews_of(request.getfixturevalue(f"as_{who}"), record.run)
        assert said == {
            "evaluation_id": record.evaluation_id,
            "reviewer": "ana",
            "submitted_at": said["submitted_at"],
            "scores": None,
            "comments": None,
            "causes": None,
            "is_current": False,
            "withheld": True,
        }

    def test_open_independent_reviews_are_withheld_from_their_reviewers(
        self, as_lea: Client, record: Evaluation, independent_review: IndependentReview, lea: User
    ) -> None:
        Run.objects.update(overlap=3)
        decide(Evaluation.objects.get(), lea)
        withheld = {
            said["reviewer"]: said["withheld"] for said in self.independent_reviews_of(as_lea, record.run)
        }
        assert withheld == {"ana": True, "lea": False}

    def test_open_independent_reviews_are_digests_in_the_audit_log(
        self, record: Evaluation, independent_review: IndependentReview, lea: User
    ) -> None:
        [entry] = self.events_of(lea)
        assert list(entry) == ["position", "previous", "hash", "digest"]
        previous, hash_, digest = (bytes.fromhex(entry[name]) for name in ("previous", "hash", "digest"))
        assert (
            list(ChainVerifier().verify_next(SealedEvent(entry["position"], None, previous, hash_, digest)))
            == []
        )

    def test_open_independent_reviews_are_complete_in_the_servers_audit_log(
        self, record: Evaluation, independent_review: IndependentReview
    ) -> None:
        seal_events()
        assert SECRET in b"".join(log.jsonl_lines(record.run_id)).decode()

    def test_open_independent_reviews_are_readable_by_adjudicating_lead(
        self, as_lea: Client, record: Evaluation, independent_review: IndependentReview, lea: User
    ) -> None:
        assert SECRET in text(as_lea.post(url("adjudicate", record), headers=HTMX))
        assert Reveal.objects.get().how == "reviews"
        [said] = self.independent_reviews_of(as_lea, record.run)
        assert (said["comments"], said["withheld"]) == ("A word of ana.", False)
        assert self.independent_review_in(self.events_of(lea))
        [raised] = record.escalations.all()
        as_lea.post(url("resolve-escalation", raised), {"outcome": "returned"})
        for name in ("claim", "submit"):
            refused = as_lea.post(url(name, record), headers=HTMX)
            assert refused.status_code in {409, 422}
        assert claims.claim_next(run=record.run, reviewer=lea) is None
        with pytest.raises(Conflict, match="You have read the reviews of others"):
            decide(Evaluation.objects.get(), lea)

    def test_independent_reviews_are_readable_after_the_decision(
        self, as_lea: Client, record: Evaluation, independent_review: IndependentReview, bo: User, lea: User
    ) -> None:
        decide(Evaluation.objects.get(), bo, scores=SCORES)
        assert [said["withheld"] for said in self.independent_reviews_of(as_lea, record.run)] == [
            False,
            False,
        ]
        assert self.independent_review_in(self.events_of(lea))

    def test_blind_scores_are_withheld_from_possible_reviewers(self, ana: User, lea: User) -> None:
        run = RunFactory.create(name="algebra", blind_share=1)
        record = EvaluationFactory.create(run=run, structured_model_response={"final_answer": "2"})
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        scores = {"Clarity": "Yes"}
        blind_scoring.lock_in(
            evaluation_id=record.pk, reviewer=ana, version=1, scores=scores, fields=[], active_ms=None
        )
        actions = [entry["event"]["action"] for entry in self.events_of(lea) if "event" in entry]
        assert "blind scores" not in actions
        assert "claim" in actions
        decide(Evaluation.objects.get(), ana)
        actions = [entry["event"]["action"] for entry in self.events_of(lea) if "event" in entry]
        assert "blind scores" in actions
