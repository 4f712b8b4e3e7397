"""Undo on pages: the toast of each action, what Undo says on pages that only show, and refusals."""

from typing import Any

import pytest
from django.test import Client

from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from reviews.review import decisions, undo
from tests.support.factories import EvaluationFactory
from tests.support.pages import HTMX, filled_in, form_of, text, url
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def act(client: Client, name: str, record: Evaluation, **more: Any) -> Any:
    """Do an action on the record's screen, and return the response to htmx."""
    posted = {"submit": form_of(record), "escalate": {"kind": "question", "note": "Which field?"}}
    return client.post(url(name, record), posted.get(name, {}) | more, headers=HTMX)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("submit", "Task 7 · o1</a> submitted: Fail."),
        ("skip", "<p>Task 7 · o1 skipped.</p>"),
        ("release", "<p>Task 7 · o1 released.</p>"),
        ("escalate", "<p>Task 7 · o1 sent to a lead.</p>"),
    ],
)
def test_toast_of_an_action_undoes_this_action(
    as_ana: Client, claimed: Evaluation, ana: User, name: str, said: str
) -> None:
    page = text(act(as_ana, name, claimed))
    action = undo.last_action(run=claimed.run, actor=ana)
    assert action
    event = action.event.pk
    assert said in page
    assert f'<div class="toast" data-leaves data-event="{event}">' in page
    assert f'<input type="hidden" name="event" value="{event}">' in page
    other = EvaluationFactory.create(run=claimed.run)
    claims.skip(evaluation_id=other.pk, reviewer=ana)
    response = as_ana.post(url("undo", claimed.run), {"event": event, "queue": "model=o1"}, headers=HTMX)
    assert response["X-Undone"] == str(event)
    assert response["HX-Replace-Url"] == f"{url('evaluation', claimed)}?queue=model%3Do1"
    assert "Undone. Task 7 · o1 is open again" in text(response)
    assert 'id="review-form"' in text(response)


@pytest.mark.slow
def test_new_version_and_restored_version_can_be_undone_by_their_toasts(
    as_ana: Client, claimed: Evaluation
) -> None:
    as_ana.post(url("submit", claimed), form_of(claimed))
    revision = filled_in(as_ana.get(url("revise", claimed)))
    page = text(as_ana.post(url("revise", claimed), revision, follow=True))
    assert "<p>New version of Task 7 · o1 saved.</p> <form" in page
    claimed.refresh_from_db()
    form = {"restored": 1, "version": claimed.version, "submission": revision["submission"], "reason": "Eh."}
    form["submission"] = "7d3f2f9e-0000-4000-8000-000000000001"
    page = text(as_ana.post(url("restore", claimed), form, follow=True))
    assert "<p>Version 1 is current again, as version 3.</p> <form" in page
    response = as_ana.post(url("undo", claimed.run), follow=True)
    said = "Undone: restored a version of Task 7 · o1. Your scores are kept as a draft."
    assert said in text(response)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["evaluation", "review", "recent", "record-history"])
def test_pages_that_only_show_say_what_undo_undoes(
    as_ana: Client, claimed: Evaluation, ana: User, name: str
) -> None:
    page = url(name, claimed if name in {"evaluation", "record-history"} else claimed.run)
    claims.release(evaluation_id=claimed.pk, actor=ana)
    assert "Undo: released Task 7 · o1" in text(as_ana.get(page))
    undo.undo(run=claimed.run, actor=ana)
    assert "Undo: " not in text(as_ana.get(page))


def test_screen_of_a_claimed_record_has_a_plain_undo(as_ana: Client, claimed: Evaluation, ana: User) -> None:
    claims.skip(evaluation_id=EvaluationFactory.create(run=claimed.run).pk, reviewer=ana)
    page = text(as_ana.get(url("evaluation", claimed)))
    assert 'id="undo" aria-keyshortcuts="U"><span>Undo</span> <kbd aria-hidden="true">U</kbd>' in page
    assert "Undo: " not in page


class TestRefusal:
    def refused(self, client: Client, run: Run) -> str:
        response = client.post(url("undo", run), headers=HTMX)
        assert (response.status_code, response["HX-Reswap"]) == (409, "none")
        return text(response)

    def test_refusal_links_to_the_record(
        self, as_ana: Client, claimed: Evaluation, ana: User, bo: User
    ) -> None:
        claims.skip(evaluation_id=claimed.pk, reviewer=ana)
        claims.claim(evaluation_id=claimed.pk, reviewer=bo)
        page = self.refused(as_ana, claimed.run)
        assert '<div class="toast bad" role="alert">' in page
        assert "Undo: skipped" not in page
        assert "undo: skipped Task 7 · o1. bo has been reviewing this since" in page
        assert f'<a href="{url("evaluation", claimed)}">Open record</a>' in page

    @pytest.mark.slow
    def test_refusal_offers_to_revise(self, as_lea: Client, record: Evaluation, lea: User, max: User) -> None:
        decide(record, lea)
        record.refresh_from_db()
        decide(record, max, by=decisions.revise)
        page = self.refused(as_lea, record.run)
        assert "max decided this again at" in page
        assert f'<a href="{url("revise", record)}">Revise it</a>' in page
        back = as_lea.post(url("undo", record.run), headers={"Referer": url("evaluation", record)})
        assert (back.status_code, back["Location"]) == (303, url("evaluation", record))

    @pytest.mark.parametrize("event", ["x", "-1", "9" * 40, "1"])
    def test_unknown_event_undoes_at_most_the_last_action(
        self, as_ana: Client, claimed: Evaluation, event: str
    ) -> None:
        response = as_ana.post(url("undo", claimed.run), {"event": event}, headers=HTMX)
        assert response.status_code == 409
