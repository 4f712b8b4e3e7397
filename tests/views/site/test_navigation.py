"""The navigation of every page, the link to the next run, and the inbox."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Run, User
from reviews.queue import claims
from reviews.review import escalations
from reviews.runs.changes import archive_run
from tests.support.factories import PASSWORD, EvaluationFactory, RunFactory
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def navigation(client: Client, path: str) -> str:
    """The header of a page."""
    page = client.get(path).content.decode()
    return page[page.index('<header class="site-header">') : page.index("</header>")]


def links(html: str) -> list[str]:
    """The texts of the links, without counts."""
    return [re.sub(r"<.*", "", text).strip() for text in re.findall(r"<a href=[^>]*>(.*?)</a>", html)]


def escalated(run: Run, person: User) -> None:
    record = EvaluationFactory.create(run=run).pk
    escalations.escalate(evaluation_id=record, reviewer=person, kind="question", reason="", note="")


_LEAD = ["Review", "Runs", "Dashboard", "Inbox"]
_ADMIN = ["Import", "Runs", "Task context", "Mappings", "People", "Tokens", "Webhooks", "Jobs", "System"]
_ADMIN += ["Audit log", "API"]


@pytest.mark.parametrize(
    ("who", "found"),
    [("eve", []), ("ana", ["Review", "Runs"]), ("lea", _LEAD), ("max", [*_LEAD, *_ADMIN])],
)
def test_navigation_has_the_links_of_the_role(
    who: str, found: list[str], request: pytest.FixtureRequest, client: Client
) -> None:
    client.force_login(request.getfixturevalue(who))
    activity = ["My reviews", "My activity"] if found else []
    assert links(navigation(client, "/preferences/")) == [*found, *activity, "Preferences", "Account"]


@pytest.mark.slow
def test_navigation_marks_the_current_place(as_max: Client) -> None:
    run = RunFactory.create()
    assert '<a href="/" aria-current="page"' in navigation(as_max, "/")
    assert '<a href="/" aria-current="true"' in navigation(as_max, reverse("run-settings", args=[run.pk]))
    people = navigation(as_max, "/people/")
    assert '<a href="/people/" aria-current="page"' in people
    assert 'popovertarget="admin-menu" aria-current="true"' in people
    person = navigation(as_max, f"/people/{User.objects.get().pk}/")
    assert '<a href="/people/" aria-current="true"' in person
    assert 'id="open-palette" href="/search/" aria-current="page"' in navigation(as_max, "/search/")
    as_max.post(reverse("reauthenticate"), {"password": PASSWORD})
    own = navigation(as_max, reverse("add-token"))
    assert 'popovertarget="user-menu" aria-current="true"' in own
    assert '<a href="/account/" aria-current="true"' in own
    record = EvaluationFactory.create(run=run)
    reviewing = navigation(as_max, reverse("evaluation", args=[record.pk]))
    assert f'<a href="{reverse("review", args=[run.pk])}" aria-current="true" data-go="q">Review' in reviewing
    assert reviewing.count("aria-current") == 1


@pytest.mark.slow
def test_navigation_counts_items_of_the_inbox_in_visible_runs(
    as_lea: Client, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunFactory.create()
    escalated(run, ana)
    archived = RunFactory.create()
    escalated(archived, ana)
    archive_run(run_id=archived.pk, actor=None)
    restricted = RunFactory.create()
    escalated(restricted, ana)
    Run.objects.filter(pk=restricted.pk).update(is_restricted=True)
    assert 'Inbox <span class="count-badge">1</span>' in navigation(as_lea, "/")
    # More items than are counted on every page.
    monkeypatch.setattr("reviews.templatetags.navigation._MOST_SHOWN", 1)
    escalated(run, ana)
    for path in ("/", "/inbox/"):
        assert 'Inbox <span class="count-badge">1+</span>' in navigation(as_lea, path)
    assert "Needs attention (2)" in as_lea.get("/inbox/").content.decode()


@pytest.mark.slow
def test_repeated_request_marks_the_place_of_its_own_page(as_max: Client) -> None:
    as_max.post(reverse("invite"), {"people": "eve@", "role": "reviewer"})
    confirmed = as_max.post(f"{reverse('reauthenticate')}?next={reverse('invite')}", {"password": PASSWORD})
    page = confirmed.content.decode()
    assert "not an e-mail address" in page
    assert 'popovertarget="admin-menu" aria-current="true"' in page
    assert '<a href="/people/">People</a>' in page[page.index('class="breadcrumb"') :]


def test_page_without_the_person_has_no_links(client: Client) -> None:
    assert "<nav" not in navigation(client, "/login/")


def test_start_continues_with_the_claimed_record(as_ana: Client, ana: User) -> None:
    older = EvaluationFactory.create()
    EvaluationFactory.create()
    claims.claim(evaluation_id=older.pk, reviewer=ana)
    assert as_ana.get("/review/")["Location"] == reverse("review", args=[older.run_id])


def test_start_continues_with_the_run_last_reviewed(as_ana: Client, ana: User) -> None:
    older = EvaluationFactory.create()
    EvaluationFactory.create(run=older.run)
    EvaluationFactory.create()
    decide(older, ana)
    assert as_ana.get("/review/")["Location"] == reverse("review", args=[older.run_id])


def test_start_leads_to_the_newest_run_with_records_left(as_ana: Client, ana: User) -> None:
    waiting, decided = EvaluationFactory.create(), EvaluationFactory.create()
    decide(decided, ana)
    assert as_ana.get("/review/")["Location"] == reverse("review", args=[waiting.run_id])


def test_start_without_records_left_leads_to_the_runs(as_ana: Client) -> None:
    assert as_ana.get("/review/")["Location"] == "/"


def test_my_reviews_leads_to_the_run_of_the_latest_decision(as_ana: Client, ana: User) -> None:
    assert as_ana.get("/my-reviews/")["Location"] == reverse("my-activity")
    record = EvaluationFactory.create()
    decide(claims.claim(evaluation_id=record.pk, reviewer=ana), ana)
    assert as_ana.get("/my-reviews/")["Location"] == reverse("recent", args=[record.run_id])
