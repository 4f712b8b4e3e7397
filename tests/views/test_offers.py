"""Pages offer only permitted forms. A disabled button gives the same reason as the 403 response."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, User
from reviews.queue import claims
from reviews.review import escalations
from reviews.review.decisions import revise
from tests.support.addresses import address
from tests.support.factories import EvaluationFactory, RunFactory
from tests.support.work import decide
from tests.views.access import ACCESS
from tests.views.test_access import ask, expected, record

pytestmark = pytest.mark.django_db
__all__ = ["record"]

PAGES = [name for name, methods in ACCESS.items() if 200 in methods.get("get", ()) and name != "login"]


class Offers(HTMLParser):
    """Return the POST forms of a page with their hidden fields, and its disabled buttons."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []
        self.refused: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form" and found.get("method", "").lower() == "post":
            self.forms.append((found.get("action", ""), {}))
        elif self.forms and "name" in found and (tag == "button" or found.get("type") == "hidden"):
            self.forms[-1][1][found["name"]] = found.get("value", "")
        if "data-address" in found:
            self.refused.append((found["data-address"], found["title"]))


def sentence_of(response: object) -> str:
    """Return the sentence on an error page."""
    html = unescape(response.content.decode())  # type: ignore[attr-defined]
    found = re.search(r"<p data-said>(.*?)</p>", html, re.DOTALL)
    assert found
    return found[1].strip()


# Fields whose values differ each time that a page is shown.
_OWN_FIELDS = {"csrfmiddlewaretoken", "submission"}
Sent = set[tuple[str, frozenset[tuple[str, str]]]]


def check_offers(browser: Client, place: str, sent: Sent) -> int:
    """Try everything that a page offers or denies. Return the number of denied actions.

    A form that several pages offer is sent once: `sent` has the forms of the pages before.
    """
    response = ask(browser, "get", place)
    assert response.status_code == 200
    if response.streaming:  # a file
        return 0
    proposals = Offers(response.content.decode())
    # Signing out would end the test.
    for action, fields in [form for form in proposals.forms if form[0] != reverse("logout")]:
        target = action or place
        form = target, frozenset((name, fields[name]) for name in fields.keys() - _OWN_FIELDS)
        if form in sent:
            continue
        sent.add(form)
        answer = ask(browser, "post", target, data=fields)
        assert answer.status_code != 403, f"{place} offers {action}, which says: {sentence_of(answer)}"
    for refused, sentence in proposals.refused:
        answer = ask(browser, "get", refused)
        if answer.status_code == 405:
            answer = ask(browser, "post", refused)
        assert (answer.status_code, sentence_of(answer)) == (403, sentence)
    return len(proposals.refused)


@pytest.mark.slow
@pytest.mark.parametrize(
    "who", ["ana", *(pytest.param(who, marks=pytest.mark.exhaustive) for who in ("lea", "max"))]
)
def test_pages_offer_only_allowed_actions(
    who: str, record: Evaluation, client: Client, request: pytest.FixtureRequest
) -> None:
    client.force_login(request.getfixturevalue(who))
    sent: Sent = set()
    for name in PAGES:
        if expected(name, "get", who) == 200:
            check_offers(client, address(name, record), sent)


# State -> the number of denied actions for ana, bo and lea on the record's screen and in its history.
REFUSED = {
    "held": ((1, 0, 0), (0, 0, 0)),
    "decided": ((1, 0, 0), (0, 0, 0)),
    "revised": ((1, 1, 0), (1, 1, 0)),
    "with a lead": ((0, 0, 0), (0, 0, 0)),
}


@pytest.fixture
def records(bo: User, lea: User) -> dict[str, Evaluation]:
    """Return records by the action that bo took on them."""
    run = RunFactory.create()
    found = {name: EvaluationFactory.create(run=run) for name in REFUSED}
    claims.claim(evaluation_id=found["held"].pk, reviewer=bo)
    escalations.escalate(
        evaluation_id=found["with a lead"].pk, reviewer=bo, kind="question", reason="", note=""
    )
    decide(found["decided"], bo)
    decide(decide(found["revised"], bo).evaluation, lea, by=revise)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "who", ["ana", *(pytest.param(who, marks=pytest.mark.exhaustive) for who in ("bo", "lea"))]
)
def test_denied_action_shows_the_sentence_of_the_page(
    who: str,
    records: dict[str, Evaluation],
    client: Client,
    request: pytest.FixtureRequest,
) -> None:
    client.force_login(request.getfixturevalue(who))
    column = ("ana", "bo", "lea").index(who)
    sent: Sent = set()
    for state, refused in REFUSED.items():
        places = [reverse(name, args=[records[state].pk]) for name in ("evaluation", "record-history")]
        assert [check_offers(client, place, sent) for place in places] == [row[column] for row in refused], (
            state
        )
