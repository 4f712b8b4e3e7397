"""Who gets what: every address, for everybody, by both methods. An address that is not here fails."""

import re
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from reviews import links
from reviews.models import BulkChange, Escalation, Evaluation, Export, OneTimeLink, SavedView, User
from reviews.urls import urlpatterns
from tests.factories import EvaluationFactory, ExportFactory

pytestmark = pytest.mark.django_db

PEOPLE = ("nobody", "eve", "ana", "lea", "max")
LOGIN = (302, 302, 302, 302, 302)

# Name -> method -> the status for nobody (no login), eve (no role), ana (reviewer), lea, max.
# The record is waiting and free; who gets 404, 409 or 422 may, but sent nothing that could be taken.
ACCESS: dict[str, dict[str, tuple[int, ...]]] = {
    "runs": {"get": (302, 403, 200, 200, 200), "post": (302, 403, 403, 403, 422)},
    "run": {"get": (302, 403, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "run-settings": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "tasks": {"get": (302, 403, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "save-view": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 302, 302, 302)},
    "remove-view": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 302, 302)},
    "change": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 422, 422)},
    "undo-change": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 302, 302)},
    "export": {"get": (302, 403, 403, 200, 200), "post": (302, 403, 403, 302, 302)},
    "export-page": {"get": (302, 403, 403, 200, 200), "post": (302, 405, 405, 405, 405)},
    "export-file": {"get": (302, 403, 403, 404, 404), "post": (302, 405, 405, 405, 405)},
    "export-receipt": {"get": (302, 403, 403, 404, 404), "post": (302, 405, 405, 405, 405)},
    "review": {"get": (302, 403, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "claim-next": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 303, 303, 303)},
    "take-back-skips": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 303, 303, 303)},
    "spare": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 200, 200, 200)},
    "release-spares": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 204, 204, 204)},
    "undo": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 303, 303, 303)},
    "recent": {"get": (302, 403, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "conflicts": {"get": (302, 403, 403, 200, 200), "post": (302, 405, 405, 405, 405)},
    "settle-conflicts": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 400, 400)},
    "import": {"get": (302, 403, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "cancel-import": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "contexts": {"get": (302, 403, 403, 403, 200), "post": (302, 403, 403, 403, 422)},
    # Without the headers of the tus protocol nothing is taken.
    "uploads": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 412)},
    "upload": {"get": (302, 403, 403, 403, 404), "post": (302, 405, 405, 405, 405)},
    "import-rejected": {"get": (302, 403, 403, 200, 200), "post": (302, 405, 405, 405, 405)},
    "import-exceptions": {"get": (302, 403, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "evaluation": {"get": (302, 403, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "line": {"get": (302, 403, 404, 404, 404), "post": (302, 405, 405, 405, 405)},
    "claim": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 303, 303, 303)},
    "submit": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 422, 422, 422)},
    "skip": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 303, 303, 303)},
    "release": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 303, 303, 303)},
    "renew": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 409, 409, 409)},
    "look-next": {"get": (302, 403, 302, 302, 302), "post": (302, 405, 405, 405, 405)},
    "look-previous": {"get": (302, 403, 302, 302, 302), "post": (302, 405, 405, 405, 405)},
    "draft": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 400, 400, 400)},
    "revise": {"get": (302, 403, 404, 404, 404), "post": (302, 403, 404, 404, 404)},
    "reopen": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 404, 404, 404)},
    "unskip": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 302, 302, 302)},
    "escalate": {"get": (302, 403, 200, 200, 200), "post": (302, 403, 422, 422, 422)},
    "withdraw-escalation": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 303)},
    "settle-escalation": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 422, 422)},
    "preferences": {"get": (302, 200, 200, 200, 200), "post": (302, 422, 422, 422, 422)},
    "preview": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 200, 200, 200)},
    "people": {"get": (302, 403, 403, 403, 200), "post": (302, 405, 405, 405, 405)},
    "person": {"get": (302, 403, 403, 403, 200), "post": (302, 405, 405, 405, 405)},
    # An admin is led to a page that asks who they are before any of these.
    "invite": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "change-role": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "reset-second-factor": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "password-link": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "deactivate": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "reactivate": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "withdraw-link": {"get": (302, 405, 405, 405, 405), "post": (302, 403, 403, 403, 302)},
    "join": {"get": (404, 404, 404, 404, 404), "post": (404, 404, 404, 404, 404)},
    "new-password": {"get": (404, 404, 404, 404, 404), "post": (404, 404, 404, 404, 404)},
    "login": {"get": (200, 302, 302, 302, 302), "post": (200, 302, 302, 302, 302)},
    # Nobody waits for their second factor, no passkey is sent, and there is no provider.
    "second-factor": {"get": LOGIN, "post": LOGIN},
    "log-in-by-passkey": {"get": LOGIN, "post": LOGIN},
    "single-sign-on": {"get": (405, 405, 405, 405, 405), "post": (404, 404, 404, 404, 404)},
    "single-sign-on-callback": {"get": (404, 404, 404, 404, 404), "post": (405, 405, 405, 405, 405)},
    "logout": {"get": (405, 405, 405, 405, 405), "post": LOGIN},
    "account": {"get": (302, 200, 200, 200, 200), "post": (302, 405, 405, 405, 405)},
    "password": {"get": (302, 200, 200, 200, 200), "post": (302, 200, 200, 200, 200)},
    # These ask again who one is, where there is something to change.
    "add-app": {"get": LOGIN, "post": LOGIN},
    "remove-app": {"get": (302, 405, 405, 405, 405), "post": (302, 404, 404, 404, 404)},
    "new-codes": {"get": (302, 405, 405, 405, 405), "post": LOGIN},
    "add-passkey": {"get": LOGIN, "post": LOGIN},
    "remove-passkey": {"get": (302, 405, 405, 405, 405), "post": (302, 404, 404, 404, 404)},
    "end-session": {"get": (302, 405, 405, 405, 405), "post": (302, 404, 404, 404, 404)},
    "end-other-sessions": {"get": (302, 405, 405, 405, 405), "post": LOGIN},
    "reauthenticate": {"get": (302, 200, 200, 200, 200), "post": (302, 200, 200, 200, 200)},
    "reauthenticate-by-code": {"get": LOGIN, "post": LOGIN},
    "reauthenticate-by-passkey": {"get": LOGIN, "post": LOGIN},
    "welcome": {"get": (404, 404, 404, 404, 404), "post": (404, 404, 404, 404, 404)},
}
ROUTES = {pattern.name: str(pattern.pattern) for pattern in urlpatterns}
CASES = [
    pytest.param(name, method, who, status, id=f"{name}-{method}-{who}")
    for name, methods in ACCESS.items()
    for method, statuses in methods.items()
    for who, status in zip(PEOPLE, statuses, strict=True)
]


@pytest.fixture
def record(max: User) -> Evaluation:
    record = EvaluationFactory.create()
    ExportFactory.create(run=record.run)
    of_another = EvaluationFactory.create(run=record.run, is_escalated=True)
    Escalation.objects.create(
        evaluation=of_another,
        run=record.run,
        kind=Escalation.Kind.CANNOT_JUDGE,
        raised_by=max,
        outcome="open",
    )
    BulkChange.objects.create(run=record.run, actor=max, kind=BulkChange.Kind.RELEASE)
    SavedView.objects.create(run=record.run, owner=max, name="all", is_shared=True)
    links.invite(role="reviewer", actor=max)
    return record


def address(name: str, record: Evaluation) -> str:
    """Where the name leads: to the record, its run, its import or the export of its run."""
    rows = {"runs": record.run_id, "imports": record.first_import_id, "evaluations": record.pk}
    rows["exports"] = Export.objects.get().pk
    rows["escalations"] = Escalation.objects.get().pk
    rows["changes"] = BulkChange.objects.get().pk
    rows["views"] = SavedView.objects.get().pk
    rows |= {
        "people": User.objects.get(username="max").pk,
        "links": OneTimeLink.objects.get().pk,
        "account": 0,
    }
    row = rows.get(ROUTES[name].split("/")[0])
    path = re.sub("<int:[a-z_]+>", str(row), ROUTES[name])
    return "/" + path.replace("<token>", "0" * 40).replace("<uuid:pk>", str(UUID(int=0))).replace(
        "<slug:provider_id>", "sso"
    )


def test_every_address_stands_in_the_table() -> None:
    assert set(ROUTES) == set(ACCESS)


@pytest.mark.parametrize(("name", "method", "who", "status"), CASES)
def test_each_person_gets_what_the_table_says(  # noqa: PLR0917 (a row of the table)
    name: str, method: str, who: str, status: int, record: Evaluation, request: pytest.FixtureRequest
) -> None:
    client = Client()
    if who != "nobody":
        client.force_login(request.getfixturevalue(who))
    response = getattr(client, method)(address(name, record))
    assert response.status_code == status
    if who == "nobody" and status == 302:
        assert response["Location"].startswith(reverse("login"))


@pytest.mark.parametrize("name", [name for name, methods in ACCESS.items() if methods["post"][4] != 405])
def test_a_form_without_a_token_changes_nothing(name: str, record: Evaluation, max: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(max)
    response = client.post(address(name, record), {"submission": str(uuid4())})
    assert response.status_code == 403
    assert "This form is out of date" in response.content.decode()
    record.refresh_from_db()
    assert record.claimed_by is None


@pytest.mark.parametrize("name", [name for name in ACCESS if "<int:" in ROUTES[name]])
@pytest.mark.parametrize("key", [0, 10**18, 10**19, 10**40])
def test_a_number_that_is_no_row_is_not_found(name: str, key: int, max: User, client: Client) -> None:
    client.force_login(max)
    address = "/" + re.sub("<int:[a-z_]+>", str(key), ROUTES[name])
    method = client.post if ACCESS[name]["get"][4] == 405 else client.get
    assert method(address).status_code == 404


def test_everything_needs_a_login_but_the_ways_in() -> None:
    open_to_nobody = {name for name, methods in ACCESS.items() if methods["get"][0] != 302}
    ways_in = {"login", "welcome", "join", "new-password", "single-sign-on", "single-sign-on-callback"}
    assert open_to_nobody == {*ways_in, "logout"}
