"""The work of leads over the API: escalations, inbox, bulk changes, spot checks, settings and conflicts."""

from typing import Any

import pytest

from reviews.api import entries
from reviews.dashboard import spot_checks
from reviews.models import Escalation, Evaluation, ImportProgress, Run, SpotCheck, User
from reviews.review import escalations
from tests.support.api_requests import Program, path_of
from tests.support.factories import SCORES, EvaluationFactory, ImportFactory, RunFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide, evaluations

pytestmark = pytest.mark.django_db

NO: dict[str, Any] = {"corrected_scores": {name: {"score": "No"} for name in SCORES}, "comments": "Wrong."}


@pytest.fixture
def record() -> Evaluation:
    return EvaluationFactory.create(parsed_rubric_scores=SCORES)


def ask_lead(record: Evaluation, person: User) -> Escalation:
    return escalations.escalate(
        evaluation_id=record.pk, reviewer=person, kind="question", reason="question", note="Is it 2?"
    )


@pytest.mark.slow
class TestEscalations:
    def test_question_is_listed_and_answered(
        self, record: Evaluation, ana: User, of_ana: Program, of_lea: Program
    ) -> None:
        raised = ask_lead(record, ana)
        listed = of_lea.get("escalations").json()
        assert (listed["total"], [one["id"] for one in listed["escalations"]]) == (1, [raised.pk])
        path = f"escalations/{raised.pk}/resolve"
        assert of_ana.ask("POST", path, {"outcome": "returned", "answer": "Yes."}).status_code == 403
        assert of_lea.ask("POST", path, {"outcome": "returned"}).json()["errors"][0]["field"] == "answer"
        answer = of_lea.ask("POST", path, {"outcome": "returned", "answer": "Yes."})
        assert (answer.json()["outcome"], answer.json()["resolved_by"]) == ("returned", "lea")
        assert of_lea.ask("POST", path, {"outcome": "returned", "answer": "Yes."}).status_code == 409

    def test_answer_is_read_by_the_person_who_asked(
        self, record: Evaluation, ana: User, lea: User, of_ana: Program, of_lea: Program
    ) -> None:
        raised = ask_lead(record, ana)
        escalations.resolve(escalation_id=raised.pk, actor=lea, outcome="returned", answer="Yes.")
        assert of_lea.ask("POST", f"escalations/{raised.pk}/read").status_code == 403
        assert of_ana.ask("POST", f"escalations/{raised.pk}/read").status_code == 204
        (own,) = of_ana.get("escalations/own").json()
        assert own["answer"] == "Yes."
        assert own["answer_read_at"]

    def test_escalation_is_withdrawn_by_the_person_who_asked(
        self, record: Evaluation, ana: User, of_ana: Program, of_lea: Program
    ) -> None:
        raised = ask_lead(record, ana)
        assert of_lea.ask("DELETE", f"escalations/{raised.pk}").status_code == 403
        assert of_ana.ask("DELETE", f"escalations/{raised.pk}").status_code == 204
        assert of_ana.ask("DELETE", f"escalations/{raised.pk}").status_code == 409

    def test_disagreement_lists_who_differs_on_what(
        self, of_ana: Program, of_bo: Program, of_lea: Program
    ) -> None:
        run = RunFactory.create(overlap=2, overlap_share=1)
        record = EvaluationFactory.create(run=run, parsed_rubric_scores=SCORES)
        yes = {"corrected_scores": {name: {"score": "Yes"} for name in SCORES}, "comments": "Fine."}
        for program, sent in ((of_ana, yes), (of_bo, NO)):
            program.ask("PUT", path_of(record, "review"), sent, Idempotency_Key="one")
        (found,) = of_lea.get("escalations?kind=disagreement").json()["escalations"]
        assert found["disagreement"]["verdicts"] == [
            {"reviewer": "ana", "value": "Pass"},
            {"reviewer": "bo", "value": "Fail"},
        ]
        assert len(found["disagreement"]["criteria"]) == len(SCORES)


class TestInbox:
    def test_items_are_listed_by_kind(self, record: Evaluation, ana: User, of_lea: Program) -> None:
        raised = ask_lead(record, ana)
        listed = of_lea.get("inbox").json()
        assert listed["counts"]["question"] == 1
        (item,) = [one for one in listed["items"] if one["kind"] == "question"]
        assert (item["id"], item["evaluation_id"], item["point"]) == (
            raised.pk,
            record.evaluation_id,
            "Is it 2?",
        )
        assert of_lea.get("inbox?kind=check").json()["items"] == []

    def test_failed_import_is_dismissed(self, of_max: Program, of_lea: Program) -> None:
        failed = ImportFactory.create(state="failed", error="It broke.")
        ImportProgress.objects.create(source=failed, size=0)
        path = f"inbox/failures/import-{failed.pk}"
        assert of_lea.ask("DELETE", path).status_code == 403
        assert of_max.ask("POST", f"{path}/retry").status_code == 409  # its file is not stored
        assert of_max.ask("DELETE", path).status_code == 204
        assert of_max.ask("DELETE", path).status_code == 404


class TestBulkChanges:
    @pytest.mark.slow
    def test_records_are_assigned_and_the_change_undone(
        self, record: Evaluation, of_lea: Program, ana: User
    ) -> None:
        path = f"runs/{record.run.name}/bulk-changes"
        sent = {"kind": "assign", "assigned_to": ana.username}
        assert of_lea.ask("POST", f"{path}/preview", sent).json()["evaluations"] == 1
        made = of_lea.ask("POST", path, sent).json()
        assert (made["evaluations"], made["assigned_to"]) == (1, "ana")
        assert [one["id"] for one in of_lea.get(path).json()] == [made["id"]]
        undone = of_lea.ask("POST", f"bulk-changes/{made['id']}/undo")
        assert undone.json() == {"restored": 1, "stayed": 0}
        assert of_lea.ask("POST", f"bulk-changes/{made['id']}/undo").status_code == 409

    def test_selected_records_are_split(self, record: Evaluation, of_lea: Program, ana: User) -> None:
        other = EvaluationFactory.create(run=record.run)
        path = f"runs/{record.run.name}/bulk-changes"
        shares = [{"person": "ana", "number": 1}]
        sent = {"kind": "split", "shares": shares, "evaluation_ids": [other.evaluation_id]}
        assert of_lea.ask("POST", f"{path}/preview", sent).json()["given"] == {"ana": 1}
        assert of_lea.ask("POST", path, sent).json()["evaluations"] == 1
        other.refresh_from_db()
        assert other.assigned_to == ana

    @pytest.mark.parametrize(
        ("sent", "field"),
        [
            ({"kind": "assign", "assigned_to": "nobody"}, "assigned_to"),
            ({"kind": "split"}, "shares"),
            ({"kind": "split", "shares": [{"person": "lea", "number": 9}]}, "shares"),
            ({"kind": "escalate"}, "note"),
            ({"kind": "due", "due_on": "9999-01-01"}, "due_on"),
            ({"kind": "release", "evaluation_ids": ["unknown"]}, "evaluation_ids"),
            ({"kind": "release", "filters": {"status": "nothing"}}, "filters"),
        ],
    )
    def test_invalid_change_names_the_field(
        self, sent: dict[str, Any], field: str, record: Evaluation, of_lea: Program
    ) -> None:
        answer = of_lea.ask("POST", f"runs/{record.run.name}/bulk-changes", sent)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


class TestKnownAnswers:
    @pytest.fixture
    def run(self) -> Run:
        made = RunFactory.create(name="Shared", overlap_share=1, overlap=2)
        evaluations(made, tasks=["1", "2"])
        return made

    @pytest.mark.slow
    def test_check_is_started_read_and_ended(
        self, run: Run, ana: User, lea: User, of_lea: Program, of_max: Program
    ) -> None:
        started = of_lea.ask("POST", "runs/Shared/known-answers", {"count": 2}).json()
        assert (started["records"], started["started_by"], started["ended_at"]) == (2, "lea", None)
        assert of_lea.ask("POST", "runs/Shared/known-answers", {"count": 2}).status_code == 409
        for record in run.evaluations.order_by("pk"):
            for person in (lea, ana):
                decide(record, person)
        [seen] = of_lea.get("runs/Shared/known-answers").json()
        [answers] = seen["reviewers"]
        assert (answers["reviewer"], answers["answers"], answers["same_verdict"]) == ("ana", 2, 2)
        assert {(one["answers"], one["same"]) for one in answers["criteria"]} == {(2, 2)}
        path = f"known-answers/{started['id']}/end"
        assert of_max.get("runs/Shared/known-answers").json() == []
        assert of_max.ask("POST", path).json()["ended_at"]
        assert of_lea.ask("POST", path).status_code == 409
        assert len(of_max.get("runs/Shared/known-answers").json()) == 1
        assert run.evaluations.filter(review__isnull=False).count() == 2

    @pytest.mark.parametrize("count", [0, 101, "x"])
    def test_invalid_number_names_the_field(self, run: Run, count: Any, of_lea: Program) -> None:
        answer = of_lea.ask("POST", "runs/Shared/known-answers", {"count": count})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "count")


class TestSpotChecks:
    @pytest.fixture
    def drawn(self, record: Evaluation, ana: User, of_lea: Program) -> int:
        decide(record, ana)
        (found,) = of_lea.ask("POST", "spot-checks", {"reviewer": "ana", "count": 5}).json()
        assert [one["id"] for one in of_lea.get("spot-checks").json()] == [found["id"]]
        return int(found["id"])

    @pytest.mark.slow
    def test_lead_agrees_once(self, drawn: int, of_lea: Program) -> None:
        assert of_lea.ask("POST", f"spot-checks/{drawn}/agree").json()["outcome"] == "agreed"
        assert of_lea.ask("POST", f"spot-checks/{drawn}/agree").status_code == 409
        assert of_lea.get(f"spot-checks/{drawn}").json()["resolved_by"] == "lea"

    @pytest.mark.slow
    def test_lead_reopens_with_a_reason(self, drawn: int, of_lea: Program) -> None:
        assert of_lea.ask("POST", f"spot-checks/{drawn}/reopen", {"reason": ""}).status_code == 422
        answer = of_lea.ask("POST", f"spot-checks/{drawn}/reopen", {"reason": "A typo."})
        assert answer.json()["outcome"] == "reopened"

    @pytest.mark.slow
    def test_correction_is_saved_once(self, drawn: int, of_lea: Program) -> None:
        sent = NO | {"reason": "It is 3."}
        path = f"spot-checks/{drawn}/correct"
        first, again = (of_lea.ask("POST", path, sent, Idempotency_Key="one").json() for _ in range(2))
        assert first == again
        assert first["outcome"] == "corrected"
        assert SpotCheck.objects.get().correction

    @pytest.mark.slow
    def test_correction_repeated_while_first_request_is_at_work_gets_its_response(
        self, drawn: int, lea: User, of_lea: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read = entries.decision_arguments

        def finish_first_request(*args: Any) -> Any:
            arguments = read(*args)
            spot_checks.correct(check_id=drawn, actor=lea, reason="It is 3.", **arguments)
            return arguments

        monkeypatch.setattr(entries, "decision_arguments", finish_first_request)
        path, sent = f"spot-checks/{drawn}/correct", NO | {"reason": "It is 3."}
        answer = of_lea.ask("POST", path, sent, Idempotency_Key="one")
        assert (answer.status_code, answer.json()["outcome"]) == (200, "corrected")
        assert of_lea.ask("POST", path, sent, Idempotency_Key="two").status_code == 409

    def test_lead_selects_decisions_once(self, record: Evaluation, ana: User, of_lea: Program) -> None:
        decide(record, ana)
        path = f"runs/{record.run.name}/spot-checks"
        sent = {"evaluation_ids": [record.evaluation_id]}
        (found,) = of_lea.ask("POST", path, sent).json()
        assert (found["evaluation_id"], found["outcome"]) == (record.evaluation_id, "open")
        assert SpotCheck.objects.get().is_selected
        assert of_lea.ask("POST", path, sent).json() == []

    @pytest.mark.parametrize("ids", [[], ["nosuch"], ["a"] * 101])
    def test_invalid_selection_names_the_field(
        self, ids: list[str], record: Evaluation, of_lea: Program
    ) -> None:
        answer = of_lea.ask("POST", f"runs/{record.run.name}/spot-checks", {"evaluation_ids": ids})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "evaluation_ids")
        assert not SpotCheck.objects.exists()

    def test_unknown_reviewer_is_refused(self, of_lea: Program) -> None:
        answer = of_lea.ask("POST", "spot-checks", {"reviewer": "nobody", "count": 5})
        assert answer.json()["errors"][0]["field"] == "reviewer"


class TestDrafts:
    @pytest.mark.slow
    def test_draft_is_saved_read_and_discarded(self, record: Evaluation, of_ana: Program) -> None:
        path = f"runs/{record.run.name}/drafts/{record.evaluation_id}"
        entries = [
            {"criterion": name, "score": "No", "justification": "", "cause": "", "is_excluded": False}
            for name in SCORES
        ]
        sent = {"revision": 1, "entries": entries, "comments": "Not yet."}
        assert of_ana.ask("PUT", path, sent).status_code == 409  # not claimed
        of_ana.ask("POST", path_of(record, "claim"))
        assert of_ana.ask("PUT", path, sent | {"revision": 2}).status_code == 200
        assert of_ana.ask("PUT", path, sent).status_code == 409
        found = of_ana.get(path).json()
        assert (found["revision"], found["entries"], found["comments"]) == (2, entries, "Not yet.")
        assert of_ana.ask("DELETE", path).status_code == 204
        assert of_ana.get(path).status_code == 204


class TestSettings:
    def test_settings_are_read_and_set(self, record: Evaluation, of_lea: Program) -> None:
        path = f"runs/{record.run.name}/settings"
        before = of_lea.get(path).json()
        queue = before["queue"] | {"claim_minutes": 45, "due_on": "2027-01-31"}
        refused = of_lea.ask("PUT", f"{path}/queue", queue | {"claim_minutes": 0, "due_on": "9999-01-01"})
        assert [one["field"] for one in refused.json()["errors"]] == ["claim_minutes", "due_on"]
        assert of_lea.ask("PUT", f"{path}/queue", queue).json()["queue"] == queue
        sampling = before["sampling"] | {"blind_share": 0.5, "overlap": 2}
        sent = sampling | {"seen": before["fingerprint"]}
        assert of_lea.ask("PUT", f"{path}/sampling", sent).json()["sampling"] == sampling
        assert of_lea.ask("PUT", f"{path}/sampling", sent).status_code == 409
        again = sent | {"seen": of_lea.get(path).json()["fingerprint"], "blind_share": 2}
        assert of_lea.ask("PUT", f"{path}/sampling", again).json()["errors"][0]["field"] == "blind_share"

    def test_views_are_saved_listed_and_removed(self, record: Evaluation, of_ana: Program) -> None:
        path = f"runs/{record.run.name}/views"
        sent = {"name": "Failed", "filters": {"verdict": ["Fail"]}}
        saved = of_ana.ask("POST", path, sent).json()
        assert (saved["name"], saved["query"]) == ("Failed", "verdict=Fail")
        assert of_ana.ask("POST", path, sent | {"is_shared": True}).status_code == 403
        assert of_ana.get(path).json() == [saved]
        assert of_ana.ask("DELETE", f"{path}/{saved['id']}").status_code == 204
        assert of_ana.get(path).json() == []


class TestConflicts:
    @pytest.mark.slow
    def test_conflict_is_listed_and_resolved(self, ana: User, of_lea: Program) -> None:
        import_data(file_of(line("one", parsed_rubric_scores=SCORES)), run="nightly")
        decide(Evaluation.objects.get(), ana)
        decided = {
            "human_review_status": "Completed",
            "human_reviewer_id": "bo",
            "human_review_timestamp": "2026-01-01T00:00:00Z",
            "human_corrected_scores": SCORES,
            "human_review_comments": "Mine.",
        }
        import_data(file_of(line("one", parsed_rubric_scores=SCORES, **decided)), run="nightly")
        (found,) = of_lea.get("runs/nightly/conflicts").json()["conflicts"]
        assert (found["evaluation_id"], found["theirs"]["comments"]) == ("one", "Mine.")
        which = {"id": found["id"], "version": found["version"]}
        path, sent = "runs/nightly/conflicts/resolve", {"keep": "theirs", "conflicts": [which]}
        assert of_lea.ask("POST", path, sent).json() == {"resolved": 1, "refused": []}
        assert of_lea.ask("POST", path, sent).json()["refused"][0]["id"] == found["id"]
        assert Run.objects.get().evaluations.get().human_review_comments == "Mine."
