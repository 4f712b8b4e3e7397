"""Lists under a name: one's own, and everybody's."""

import pytest

from reviews.accounts.permissions import Denied
from reviews.models import Run, SavedView, User
from reviews.search import saved_views
from reviews.search.saved_views import SavedViewError
from tests.support.factories import RunFactory

pytestmark = pytest.mark.django_db


def save(run: Run, owner: User, name: str, *, query: str = "model=o1", is_shared: bool = False) -> SavedView:
    return saved_views.save(run=run, owner=owner, name=name, query=query, is_shared=is_shared)


def test_person_sees_own_and_shared_views(run: Run, ana: User, bo: User, lea: User) -> None:
    mine, shared = save(run, ana, "mine"), save(run, lea, "all fails", is_shared=True)
    save(run, bo, "of bo")
    save(RunFactory.create(), ana, "of another run")
    assert list(saved_views.visible_to(run, ana)) == [shared, mine]


def test_view_with_same_name_is_replaced(run: Run, ana: User) -> None:
    save(run, ana, "mine")
    save(run, ana, " mine ", query="model=gpt-4o")
    assert saved_views.visible_to(run, ana).get().query == "model=gpt-4o"


def test_two_people_can_use_the_same_name(run: Run, ana: User, bo: User) -> None:
    assert save(run, ana, "mine") != save(run, bo, "mine")


def test_only_leads_can_share_views(run: Run, ana: User) -> None:
    with pytest.raises(Denied):
        save(run, ana, "ours", is_shared=True)


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\nb", "a\0b"])
def test_invalid_view_name_is_rejected(name: str, run: Run, ana: User) -> None:
    with pytest.raises(SavedViewError, match="at most 100 printable characters"):
        save(run, ana, name)


def test_number_of_views_is_limited(run: Run, ana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 1)
    save(run, ana, "first")
    save(run, ana, "first", query="")
    with pytest.raises(SavedViewError, match="Delete one"):
        save(run, ana, "second")


def test_lead_can_remove_shared_views_and_reviewer_only_own(
    run: Run, ana: User, lea: User, max: User
) -> None:
    shared, mine = save(run, max, "shared", is_shared=True), save(run, ana, "mine")
    with pytest.raises(Denied):
        saved_views.remove(view=shared, actor=ana)
    saved_views.remove(view=shared, actor=lea)
    saved_views.remove(view=mine, actor=ana)
    assert not SavedView.objects.exists()
