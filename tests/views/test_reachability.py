"""Every page is reachable by links from the front page, for each role that may open it."""

import re
from collections.abc import Iterator
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from reviews.models import FileConflict, SpotCheck, User
from reviews.queue import claims
from tests.browser.sights import NO_PAGES, judged_run
from tests.support.addresses import one_of_everything
from tests.support.factories import ImportFactory
from tests.views.access import ACCESS, PEOPLE

pytestmark = pytest.mark.django_db

# Pages without a link, and the reason.
WITHOUT_LINK = {
    "login": "for people who are not signed in",
    "second-factor": "follows the password",
    "signed-in": "opened by a review page whose session has ended",
}
# Addresses that are visited of each page. Rows of a list lead to the same pages.
_MOST = 1
# A claimed record is one of many.
_MOST_OF = {"evaluation": 12, "run": 2, "run-settings": 2, "known-answers": 2}
_LINK = re.compile(r'<(?:a|form|button|link)\b[^>]*?\b(?:href|action|formaction)="([^"]*)"')


def links(page: str, address: str) -> Iterator[str]:
    """Yield the addresses of this site that a page links to or posts to."""
    for found in _LINK.findall(page):
        target = urlsplit(urljoin(address, unescape(found)))
        if not target.netloc and not target.path.startswith(("/static/", "/api/v1")):
            yield f"{target.path}?{target.query}" if target.query else target.path


def reachable(client: Client) -> set[str]:
    """Walk all links from the front page. Return the names of the URLs that were found."""
    found: dict[str, set[str]] = {}
    waiting = ["/"]
    while waiting:
        address = waiting.pop()
        try:
            name = resolve(urlsplit(address).path).url_name or ""
        except Resolver404:
            raise AssertionError(f"a link leads nowhere: {address}") from None
        visited = found.setdefault(name, set())
        if (
            address in visited
            or len(visited) >= _MOST_OF.get(name, _MOST)
            or name not in ACCESS
            or name == "logout"
        ):
            continue
        visited.add(address)
        if "get" not in ACCESS[name] or name in NO_PAGES:
            continue
        response = client.get(address, follow=True)
        assert response.status_code < 400, (address, response.status_code)
        if response.headers["Content-Type"].startswith("text/html"):
            final = response.redirect_chain[-1][0] if response.redirect_chain else address
            waiting += links(response.content.decode(), final)
    return set(found)


@pytest.fixture
def everybody(ana: User, bo: User, lea: User, max: User) -> dict[str, User]:
    return {person.username: person for person in (ana, bo, lea, max)}


@pytest.mark.exhaustive
@pytest.mark.parametrize("who", ["max", "ana", "lea"])
def test_every_page_is_reachable_by_links(who: str, client: Client, everybody: dict[str, User]) -> None:
    """The site has a row of everything, a run with figures and a conflict, and a claim and a spot check."""
    person = everybody[who]
    record = one_of_everything(everybody["max"])
    judged_run()
    source = ImportFactory.create(run=record.run, conflicts=1)
    decided = SpotCheck.objects.get().review
    theirs: dict[str, object] = {"human_review_comments": None, "human_review_timestamp": None}
    theirs |= {"human_review_status": "Reviewed", "human_reviewer_id": "carla", "human_corrected_scores": {}}
    FileConflict.objects.create(
        evaluation=decided.evaluation, run=record.run, source=source, line=1, content_hash=b"", human=theirs
    )
    SpotCheck.objects.update(drawn_by=person)
    claims.claim(evaluation_id=record.pk, reviewer=person)
    client.force_login(person)
    place = PEOPLE.index(who)
    pages = {
        name
        for name, methods in ACCESS.items()
        if "get" in methods and methods["get"][place] in {200, 302} and name not in NO_PAGES
    }
    missing = pages - reachable(client) - set(WITHOUT_LINK)
    assert not missing, sorted(missing)


def test_page_without_link_is_one() -> None:
    assert set(WITHOUT_LINK) <= set(ACCESS)
    assert reverse("runs") == "/"
