"""Drafts: stored on the server, restored in any browser, never overwritten by another person."""

import pytest
from django.test import Client

from reviews.models import Draft, Evaluation, User
from reviews.queue import claims
from reviews.review import drafts
from tests.support.pages import HTMX, form_of, text, url
from tests.support.work import decide, end_claim

pytestmark = pytest.mark.django_db


def save(client: Client, record: Evaluation, revision: int = 1, **changes: str) -> object:
    form = form_of(record, **changes) | {"revision": revision}
    return client.post(url("draft", record), form, headers=HTMX)


class TestSaveDraft:
    def test_saved_draft_returns_revision_time_and_claim_end(
        self, as_ana: Client, claimed: Evaluation
    ) -> None:
        response = as_ana.post(url("draft", claimed), form_of(claimed) | {"revision": "3"}, headers=HTMX)
        assert response.status_code == 204
        assert response["X-Draft-Revision"] == "3"
        assert response["X-Draft-Saved-At"].endswith("Z")
        assert response["X-Claim-Until"].endswith("Z")

    def test_draft_has_only_the_fields_of_the_decision(self, as_ana: Client, claimed: Evaluation) -> None:
        save(as_ana, claimed, criteria__0__score="Yes", criteria__0__cause="too strict", comments="Hm.")
        kept = dict(Draft.objects.get().fields)
        assert kept["criteria-0-score"] == "Yes"
        assert kept["criteria-0-cause"] == "too strict"
        assert kept["comments"] == "Hm."
        assert not {"version", "submission", "revision", "csrfmiddlewaretoken"} & kept.keys()

    @pytest.mark.slow
    def test_draft_is_shown_in_any_browser(self, as_ana: Client, claimed: Evaluation, ana: User) -> None:
        save(
            as_ana,
            claimed,
            criteria__0__score="Partial",
            criteria__0__cause="too strict",
            comments="I was here.",
        )
        elsewhere = Client()
        elsewhere.force_login(ana)
        page = elsewhere.get(url("evaluation", claimed))
        shown = text(page)
        assert "No → Partial" in shown
        assert "I was here." in shown
        assert 'value="too strict" checked' in shown
        assert "UTC restored." in shown
        assert 'data-state="saved"' in shown
        assert 'data-revision="1"' in shown
        assert "data-bound" not in shown
        assert not page.context["form"].shows_errors

    @pytest.mark.slow
    def test_draft_of_another_reviewer_is_not_shown(
        self, as_ana: Client, claimed: Evaluation, bo: User, as_bo: Client
    ) -> None:
        save(as_ana, claimed, comments="I was here.")
        end_claim(claimed)
        claims.claim(evaluation_id=claimed.pk, reviewer=bo)
        assert "I was here." not in text(as_bo.get(url("evaluation", claimed)))

    @pytest.mark.parametrize("revision", ["", "0", "-1", "x", "1" * 30])
    def test_draft_without_revision_is_rejected(
        self, as_ana: Client, claimed: Evaluation, revision: str
    ) -> None:
        response = as_ana.post(url("draft", claimed), form_of(claimed) | {"revision": revision})
        assert response.status_code == 400
        assert not Draft.objects.exists()

    def test_older_draft_revision_is_a_conflict(self, as_ana: Client, claimed: Evaluation) -> None:
        save(as_ana, claimed, 5, comments="Newer.")
        response = as_ana.post(url("draft", claimed), form_of(claimed, comments="Older.") | {"revision": "4"})
        page = text(response)
        assert response.status_code == 409
        assert "You saved a newer draft at" in page
        assert 'data-state="newer"' in page
        assert "Load that version" in page
        assert ["comments", "Newer."] in Draft.objects.get().fields

    def test_draft_renews_an_expired_claim(self, as_ana: Client, claimed: Evaluation) -> None:
        end_claim(claimed)
        response = as_ana.post(url("draft", claimed), form_of(claimed) | {"revision": "1"})
        assert response.status_code == 200
        assert "Your claim expired at" in text(response)
        assert response["X-Draft-Revision"] == "1"

    @pytest.mark.slow
    def test_draft_on_lost_claim_is_a_conflict_and_keeps_saved_draft(
        self, as_ana: Client, claimed: Evaluation, bo: User
    ) -> None:
        save(as_ana, claimed, comments="I was here.")
        end_claim(claimed)
        claims.claim(evaluation_id=claimed.pk, reviewer=bo)
        form = form_of(claimed, comments="Too late.") | {"revision": "2"}
        response = as_ana.post(url("draft", claimed), form)
        page = text(response)
        assert response.status_code == 409
        assert "bo has been reviewing this since" in page
        assert "Nothing was submitted; your work is kept." in page
        assert "Next record" in page
        assert ["comments", "I was here."] in Draft.objects.get().fields

    def test_draft_with_null_character_is_saved_without_it(self, as_ana: Client, claimed: Evaluation) -> None:
        form = form_of(claimed, comments="a\x00b") | {"revision": "1"}
        assert as_ana.post(url("draft", claimed), form).status_code == 204
        assert as_ana.get(url("evaluation", claimed)).status_code == 200


class TestDiscardDraft:
    @pytest.mark.parametrize("headers", [{}, HTMX])
    def test_discarded_draft_shows_the_original_form(
        self, as_ana: Client, claimed: Evaluation, headers: dict[str, str]
    ) -> None:
        save(as_ana, claimed, comments="I was here.")
        form = form_of(claimed, action="discard")
        response = as_ana.post(url("submit", claimed), form, headers=headers, follow=True)
        assert response.status_code == 200
        assert 'id="review-form"' in text(response)
        assert "I was here." not in text(response)
        assert not Draft.objects.exists()

    def test_draft_can_be_discarded_after_another_decided(
        self, as_ana: Client, claimed: Evaluation, ana: User, bo: User
    ) -> None:
        save(as_ana, claimed, comments="I was here.")
        end_claim(claimed)
        decide(claims.claim(evaluation_id=claimed.pk, reviewer=bo), bo)
        response = as_ana.post(url("draft", claimed), {"action": "discard"})
        assert response["Location"] == url("evaluation", claimed)
        assert drafts.find_draft(claimed, ana) is None


def test_submit_removes_the_draft(as_ana: Client, claimed: Evaluation) -> None:
    save(as_ana, claimed, comments="I was here.")
    as_ana.post(url("submit", claimed), form_of(claimed, comments="I was here."))
    assert not Draft.objects.exists()
