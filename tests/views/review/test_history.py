"""The page with the history of a record, and restoring an older version."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from reviews.history import timeline
from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.review.decisions import revise
from tests.support.factories import EvaluationFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text, url
from tests.support.work import SCORES, decide

pytestmark = pytest.mark.django_db

OTHER_SCORES = SCORES | {"Clarity": {"score": "No", "justification": "Nothing follows."}}


@pytest.fixture
def record(ana: User) -> Evaluation:
    """A record that ana decided and then revised."""
    first = decide(EvaluationFactory.create(task_id="7", model_id="o1"), ana)
    return decide(first.evaluation, ana, by=revise, scores=OTHER_SCORES).evaluation


def posted(record: Evaluation, **changes: Any) -> dict[str, Any]:
    form = {"restored": 1, "version": record.version, "submission": uuid4(), "reason": "It was right."}
    return form | changes


class TestRecordHistory:
    def test_record_page_links_to_history(self, as_bo: Client, record: Evaluation) -> None:
        assert f'href="{url("record-history", record)}">History</a>' in text(
            as_bo.get(url("evaluation", record))
        )

    def test_history_lists_events_with_changes(self, as_bo: Client, record: Evaluation) -> None:
        page = text(as_bo.get(url("record-history", record)))
        assert "<strong>ana</strong> revised it: version 2" in page
        assert "<summary>2 fields changed since version 1</summary>" in page
        assert "<del>Yes</del><ins>No</ins>" in page
        assert page.index("version 2") < page.index("submitted version 1") < page.index("added this record")

    def test_history_shows_claims_with_their_end(self, as_bo: Client, ana: User) -> None:
        record = claims.claim(evaluation_id=EvaluationFactory.create().pk, reviewer=ana)
        until = f"{record.claimed_until:%Y-%m-%d %H:%M}"
        assert f"Claimed until {until} UTC: not over yet." in text(as_bo.get(url("record-history", record)))

    @pytest.mark.slow
    def test_history_links_to_imports(self, as_bo: Client) -> None:
        import_data(file_of(line("eval_1")))
        source = import_data(file_of(line("eval_1", aggregated_score="Fail")))
        page = text(as_bo.get(url("record-history", Evaluation.objects.get())))
        assert f'<a href="{url("import", source)}"><strong>evaluations.jsonl</strong></a> changed it' in page
        assert "<summary>1 field changed since the previous import</summary>" in page

    @pytest.mark.slow
    def test_history_has_pages(
        self, as_bo: Client, record: Evaluation, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(timeline, "PAGE_SIZE", 2)
        response: Any = as_bo.get(url("record-history", record))
        after = response.context["page"].next_after
        assert f'href="{url("record-history", record)}?after={after}"' in text(response)
        older = text(as_bo.get(url("record-history", record), {"after": after}))
        assert "added this record" in older
        assert ">First page</a>" in older

    def test_history_escapes_record_texts(self, as_bo: Client, ana: User) -> None:
        first = decide(EvaluationFactory.create(), ana, comments="<b>one</b>")
        decide(first.evaluation, ana, by=revise, comments="<script>two</script>")
        page = as_bo.get(url("record-history", first.evaluation)).content.decode()
        assert "<b>" not in page
        assert "<script>two" not in page
        assert "script" in page


class TestRestore:
    @pytest.mark.slow
    def test_restore_creates_a_new_version(self, as_ana: Client, record: Evaluation) -> None:
        response = as_ana.post(url("restore", record), posted(record), follow=True)
        assert "Version 1 is current again, as version 3." in text(response)
        assert "restored version 1 as version 3" in text(response)
        record.refresh_from_db()
        assert record.human_corrected_scores == SCORES

    @pytest.mark.slow
    def test_restore_without_reason_keeps_the_form(self, as_ana: Client, record: Evaluation) -> None:
        response = as_ana.post(url("restore", record), posted(record, reason=" "))
        assert response.status_code == 422
        assert "Enter a reason for restoring this version." in text(response)
        assert "<details open>" in text(response)
        assert record.reviews.count() == 2

    @pytest.mark.slow
    def test_restore_on_changed_record_is_a_conflict(self, as_ana: Client, record: Evaluation) -> None:
        response = as_ana.post(url("restore", record), posted(record, version=1, reason="Mine was right."))
        assert response.status_code == 409
        assert "ana revised this at" in text(response)
        assert 'value="Mine was right."' in text(response)
        assert record.reviews.count() == 2

    @pytest.mark.slow
    def test_restore_is_denied_for_reviewers_without_decision(
        self, as_bo: Client, record: Evaluation
    ) -> None:
        assert as_bo.post(url("restore", record), posted(record)).status_code == 403
        page = text(as_bo.get(url("record-history", record)))
        assert "You need the lead role" in page
        assert "Restore version 1" not in page

    @pytest.mark.parametrize("number", [9, 2**31 - 1])
    def test_restore_of_unknown_version_is_not_found(
        self, as_ana: Client, record: Evaluation, number: int
    ) -> None:
        assert as_ana.post(url("restore", record), posted(record, restored=number)).status_code == 404

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "nonsense", [{"restored": "x"}, {"restored": "9" * 40}, {"version": ""}, {"submission": "1"}]
    )
    def test_restore_of_invalid_version_is_rejected(
        self, as_ana: Client, record: Evaluation, nonsense: dict[str, str]
    ) -> None:
        assert as_ana.post(url("restore", record), posted(record, **nonsense)).status_code == 422

    @pytest.mark.slow
    def test_restore_is_not_offered_for_records_in_the_queue(
        self, as_ana: Client, record: Evaluation
    ) -> None:
        as_ana.post(url("reopen", record), {"reason": "Once more"})
        assert "Restore" not in text(as_ana.get(url("record-history", record)))
