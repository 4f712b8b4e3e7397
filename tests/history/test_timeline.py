"""The paginated timeline of a record: imports, claims, decisions and escalations in one order."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviews.audit import events
from reviews.dashboard import bulk_changes
from reviews.dashboard.bulk_changes import BulkOrder, Kind
from reviews.database.pagination import Page
from reviews.history import timeline
from reviews.history.timeline import TimelineEntry
from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.review import escalations
from reviews.review.decisions import reopen, revise
from reviews.review.undo import undo
from reviews.search.filters import Filters
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import SCORES, decide, end_claim, restore_version

pytestmark = pytest.mark.django_db

OTHER_SCORES = SCORES | {"Clarity": {"score": "No", "justification": "Each step is missing."}}


@pytest.fixture(scope="class")
def _imported(class_world: None) -> None:
    """Import the record for the tests of a class, which undo their changes."""
    import_data(file_of(line("eval_1")))


@pytest.fixture
def record(_imported: None) -> Evaluation:
    """From a kept file."""
    return Evaluation.objects.get()


def page(record: Evaluation, after: str = "") -> Page[TimelineEntry]:
    record = Evaluation.objects.get(pk=record.pk)
    return timeline.load_page(record, after=after)


def entries(record: Evaluation) -> list[TimelineEntry]:
    return page(record).rows


def listed(record: Evaluation) -> list[str]:
    """List actors and events of the record, oldest first."""
    return [f"{entry.who} {entry.what}" for entry in reversed(entries(record))]


def shown(entry: TimelineEntry) -> dict[str, str]:
    """Format the changes of an entry as [-removed-] and [+added+]."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "[+{}+]"}
    return {
        change.label: "".join(marks[piece.kind].format(piece.text) for piece in change.pieces)
        for change in entry.changes
    }


class TestEvents:
    def test_timeline_begins_with_the_import(self, record: Evaluation) -> None:
        [entry] = entries(record)
        assert (entry.who, entry.what) == ("evaluations.jsonl", "added this record in line 1")
        assert entry.source == record.first_import

    @pytest.mark.slow
    def test_events_are_in_order(self, record: Evaluation, ana: User, lea: User) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        claims.release(evaluation_id=record.pk, actor=lea)
        claims.skip(evaluation_id=record.pk, reviewer=ana)
        claims.unskip(evaluation_id=record.pk, reviewer=ana)
        review = decide(record, ana)
        undo(run=record.run, actor=ana)
        decide(Evaluation.objects.get(), ana)
        reopen(evaluation_id=record.pk, actor=ana, reason="I mixed two records up")
        assert review.version == 1
        assert listed(record) == [
            "evaluations.jsonl added this record in line 1",
            "ana claimed it",
            "lea released it from ana",
            "ana skipped it",
            "ana undid the skip",
            "ana submitted version 1",
            "ana undid version 1",
            "ana submitted version 2",
            "ana reopened it; version 2 is current until there is a newer one",
        ]
        assert entries(record)[0].note == "I mixed two records up"

    def test_escalations_are_shown_with_their_answers(self, record: Evaluation, ana: User, lea: User) -> None:
        asked = escalations.escalate(
            evaluation_id=record.pk,
            reviewer=ana,
            kind="cannot judge",
            reason="no reference",
            note="See above.",
        )
        escalations.resolve(escalation_id=asked.pk, actor=lea, outcome="returned", answer="It is 2.")
        answered, question, _file = entries(record)
        assert (question.what, question.note) == (
            "escalated it. There is no reference answer",
            "See above.",
        )
        assert (answered.who, answered.what, answered.note) == (
            "lea",
            "answered: back to the queue",
            "It is 2.",
        )

    @pytest.mark.slow
    def test_bulk_changes_of_the_record_are_shown(self, record: Evaluation, bo: User, lea: User) -> None:
        bulk_changes.apply(
            order=BulkOrder(record.run, Filters.from_query_string(""), Kind.ASSIGN, assigned_to=bo), actor=lea
        )
        change = bulk_changes.apply(
            order=BulkOrder(
                record.run,
                Filters.from_query_string(""),
                Kind.PRIORITISE,
                priority=bulk_changes.PRIORITY_FIRST,
            ),
            actor=lea,
        )
        bulk_changes.undo(change_id=change.pk, actor=lea)
        assigned, first = listed(record)[1:]
        assert assigned == "lea assigned it to bo"
        assert first.startswith("lea gave it priority; undone 20")

    def test_events_of_other_records_are_not_shown(self, record: Evaluation, ana: User, lea: User) -> None:
        other = EvaluationFactory.create(run=record.run)
        claims.claim(evaluation_id=other.pk, reviewer=ana)
        bulk_changes.apply(
            order=BulkOrder(record.run, Filters.from_query_string(f"task={other.task_id}"), Kind.RELEASE),
            actor=lea,
        )
        assert len(listed(record)) == 1

    def test_unknown_event_is_shown_by_its_name(self, record: Evaluation, ana: User) -> None:
        events.record("look closely", actor=ana, run=record.run, evaluation=record)
        assert listed(record)[-1] == "ana look closely"


class TestClaims:
    def hold(self, record: Evaluation, number: int = 0) -> tuple[bool, str]:
        """Return whether a claim has a known end, and the end itself. Claim 0 is the latest."""
        held = [entry.claim for entry in entries(record) if entry.claim]
        return held[number].until is not None, held[number].end

    @pytest.mark.slow
    def test_current_claim_is_not_over(self, record: Evaluation, ana: User) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        assert self.hold(record) == (True, "not over yet")

    def test_claim_ends_with_the_submit(self, record: Evaluation, ana: User) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        decide(record, ana)
        submitted, claimed, _file = entries(record)
        assert claimed.claim == (submitted.at, "submitted")

    @pytest.mark.slow
    def test_expired_claim_ends_at_its_expiry(self, record: Evaluation, ana: User, bo: User) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        end_claim(record)
        assert self.hold(record) == (True, "expired")
        claims.claim(evaluation_id=record.pk, reviewer=bo)
        assert self.hold(record, 1) == (False, "expired")

    def test_bulk_release_ends_a_claim(self, record: Evaluation, ana: User, lea: User) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        bulk_changes.apply(
            order=BulkOrder(record.run, Filters.from_query_string(""), Kind.RELEASE), actor=lea
        )
        freed, claimed, _file = entries(record)
        assert claimed.claim == (freed.at, "released")

    def test_released_prefetch_ends_unseen(self, record: Evaluation, ana: User) -> None:
        first = EvaluationFactory.create(run=record.run)
        claims.prefetch_next(run=record.run, reviewer=ana, after=[first.pk])
        claims.release_prefetched(run=record.run, reviewer=ana)
        assert self.hold(record) == (False, "released unseen")

    @pytest.mark.slow
    def test_undo_starts_a_claim(self, record: Evaluation, ana: User) -> None:
        decide(record, ana)
        undo(run=record.run, actor=ana)
        assert self.hold(record) == (True, "not over yet")

    def test_end_of_a_claim_is_found_on_the_previous_page(
        self, record: Evaluation, ana: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        decide(record, ana)
        monkeypatch.setattr(timeline, "PAGE_SIZE", 1)
        first = page(record)
        claimed = page(record, first.next_after).rows[0]
        assert claimed.claim == (first.rows[0].at, "submitted")


class TestDecisions:
    @pytest.mark.slow
    def test_version_shows_changes_from_the_judge_and_from_the_version_before(
        self, record: Evaluation, ana: User, lea: User
    ) -> None:
        first = decide(record, ana, judged={"Clarity": "Yes", "Conclusion Accuracy": "Yes"})
        decide(first.evaluation, lea, by=revise, scores=OTHER_SCORES, comments="Look again.")
        revised, submitted, _file = entries(record)
        assert submitted.version
        assert [change[:3] for change in submitted.version.changes] == [("Conclusion Accuracy", "Yes", "No")]
        assert (submitted.version.state, submitted.version.before) == ("superseded", None)
        assert submitted.changes == []
        assert revised.version
        assert revised.version.before == first
        assert shown(revised) == {
            "Clarity: score": "[-Yes-][+No+]",
            "Clarity": "Each step [-follows-][+is missing+].",
            "Comments": "[+Look again.+]",
        }

    def test_restored_version_is_a_new_version(self, record: Evaluation, ana: User, lea: User) -> None:
        first = decide(record, ana)
        second = decide(first.evaluation, lea, by=revise, scores=OTHER_SCORES)
        third = restore_version(second.evaluation, lea)
        latest = entries(record)[0]
        assert (latest.what, latest.note) == ("restored version 1 as version 3", "It was right.")
        assert latest.version
        assert latest.version.review == third
        assert latest.version.before == second


@pytest.mark.slow
def test_reopening_shows_the_version_of_a_decision_in_a_file(lea: User) -> None:
    theirs = {"human_review_status": "Reviewed", "human_reviewer_id": "carla"}
    import_data(file_of(line("eval_1", **theirs, human_corrected_scores=SCORES)))
    record = Evaluation.objects.get()
    reopen(evaluation_id=record.pk, actor=lea, reason="Check it")
    reopened = entries(record)[0]
    assert reopened.version
    assert reopened.version.review.origins == dict.fromkeys(SCORES, "file")


class TestFiles:
    @pytest.mark.slow
    def test_import_shows_its_changes(self, record: Evaluation) -> None:
        import_data(file_of(line("eval_1", aggregated_score="Fail")))
        import_data(file_of(line("eval_1", aggregated_score="Fail")))
        import_data(file_of(line("eval_1", aggregated_score="Partial")))
        third, second, first, _brought = entries(record)
        assert first.what == "changed it in line 1"
        assert shown(first) == {"aggregated_score": "[-Pass-][+Fail+]"}
        assert (second.what, second.changes) == ("contains it unchanged in line 1", ())
        assert shown(third) == {"aggregated_score": "[-Fail-][+Partial+]"}

    def test_missing_source_file_shows_the_outcome_of_the_line(self, ana: User) -> None:
        record = EvaluationFactory.create()
        again = EvaluationFactory.create(run=record.run).first_import
        again.exceptions.create(line=7, outcome="updated", reason="taken from the file", evaluation=record)
        entry = entries(record)[0]
        assert (entry.what, entry.note, entry.changes) == ("changed it in line 7", "taken from the file", [])


class TestPages:
    @pytest.mark.slow
    def test_pages_contain_each_event_once_in_order(
        self, record: Evaluation, ana: User, lea: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for score in ("Fail", "Partial", "Pass"):
            claims.claim(evaluation_id=record.pk, reviewer=ana)
            claims.release(evaluation_id=record.pk, actor=ana)
            import_data(file_of(line("eval_1", aggregated_score=score)))
            bulk_changes.apply(
                order=BulkOrder(record.run, Filters.from_query_string(""), Kind.ASSIGN, assigned_to=ana),
                actor=lea,
            )
            bulk_changes.apply(
                order=BulkOrder(record.run, Filters.from_query_string(""), Kind.ASSIGN), actor=lea
            )
        whole = entries(record)
        monkeypatch.setattr(timeline, "PAGE_SIZE", 2)
        found, after = [], ""
        while True:
            part = page(record, after)
            found += [(entry.at, entry.who, entry.what, shown(entry)) for entry in part.rows]
            after = part.next_after
            if not after:
                break
        assert len(found) == 16
        assert found == [(entry.at, entry.who, entry.what, shown(entry)) for entry in whole]

    @pytest.mark.slow
    def test_page_ends_early_after_many_changes(
        self, record: Evaluation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for score in ("Fail", "Partial"):
            import_data(file_of(line("eval_1", aggregated_score=score, verification_message=score)))
        monkeypatch.setattr(timeline, "_MOST_CHANGES", 2)
        first = page(record)
        second = page(record, first.next_after)
        assert [len(entry.changes) for entry in (*first.rows, *second.rows)] == [2, 2]
        assert [entry.what for entry in page(record, second.next_after).rows] == [
            "added this record in line 1"
        ]

    @pytest.mark.parametrize("after", ["x", "1", "9" * 40 + ".1.1", "1.1", "1.-1.1", "\0"])
    def test_invalid_cursor_gives_the_latest_events(self, record: Evaluation, after: str) -> None:
        assert len(page(record, after).rows) == 1

    @pytest.mark.parametrize("after", ["0.0.0", "1.5.0", "999999999999999999.1.1", "1.999999999999999999.1"])
    def test_cursor_at_any_place_is_accepted(self, record: Evaluation, after: str) -> None:
        assert len(page(record, after).rows) <= 1

    @pytest.mark.slow
    def test_number_of_queries_does_not_grow_with_events(self, record: Evaluation, ana: User) -> None:
        def cost() -> int:
            with CaptureQueriesContext(connection) as queries:
                page(record)
            return len(queries)

        decide(record, ana)
        import_data(file_of(line("eval_1", aggregated_score="Fail")))
        few = cost()
        for _ in range(15):
            claims.skip(evaluation_id=record.pk, reviewer=ana)
        decide(Evaluation.objects.get(), ana)
        decide(Evaluation.objects.get(), ana, by=revise)
        assert cost() <= few
