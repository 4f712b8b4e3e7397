"""Lists are returned in pages of `limit` rows, each with a `Link` header to the next one."""

from typing import Any

import pytest
from django.utils import timezone

from reviews.models import BulkChange, Evaluation, KnownAnswerCheck, SavedView, User, Webhook
from reviews.review import escalations
from reviews.webhooks import deliveries
from tests.support.api_requests import Program
from tests.support.factories import (
    EvaluationFactory,
    ExportFactory,
    GoldSetFactory,
    ImportFactory,
    RunFactory,
    UserFactory,
)
from tests.support.lines import file_of, import_data, line
from tests.support.work import decide

pytestmark = pytest.mark.django_db


def pages(program: Program, path: str) -> list[Any]:
    """Return the body of each page, following the `Link` header."""
    found = []
    while path:
        answer = program.get(path)
        assert answer.status_code == 200, answer.content
        found.append(answer.json())
        address, _, relation = answer.get("Link", "").partition("; ")
        assert relation in {"", 'rel="next"'}
        path = address.strip("<>").removeprefix("/api/v1/")
    return found


@pytest.mark.slow
def test_lists_are_followed_page_by_page(of_max: Program, max: User) -> None:
    run = RunFactory.create(name="one")
    for _ in range(3):
        EvaluationFactory.create(run=run)
        ExportFactory.create(run=run)
        ImportFactory.create(run=run)
        webhook = Webhook.objects.create(url="https://hooks.example.org/", created_by=max)
        of_max.ask("POST", "tokens", {"name": "more", "scopes": ["read"]})
        BulkChange.objects.create(run=run, actor=max, kind="release", evaluations=1)
        KnownAnswerCheck.objects.create(run=run, started_by=max, ended_at=timezone.now())
    for name in "cab":
        UserFactory.create(username=name, role="reviewer")
        deliveries.send_test(webhook=webhook, actor=max)
        GoldSetFactory.create(name=name)
        SavedView.objects.create(run=run, owner=max, name=name)
    of_the_run = ("exports", "imports", "bulk-changes", "known-answers", "views")
    of_the_site = ("webhooks", f"webhooks/{webhook.pk}/deliveries", "tokens", "gold-sets", "workload")
    for path in (*(f"runs/one/{name}" for name in of_the_run), *of_the_site, "jobs?kind=export"):
        whole = of_max.get(path).json()
        assert len(whole) >= 3
        listed = pages(of_max, f"{path}{'&' if '?' in path else '?'}limit=2")
        assert [len(page) for page in listed[:-1]] == [2] * (len(listed) - 1)
        assert [row for page in listed for row in page] == whole
    listed = pages(of_max, "runs/one/evaluations?limit=2&sort=newest")
    assert [len(page["evaluations"]) for page in listed] == [2, 1]


def test_runs_are_paginated_with_a_limit(of_max: Program) -> None:
    for name in ("one", "two", "three"):
        RunFactory.create(name=name)
    listed = [[run["name"] for run in page] for page in pages(of_max, "runs?limit=2")]
    assert listed == [["three", "two"], ["one"]]
    assert len(of_max.get("runs").json()) == 3
    assert "Link" not in of_max.get("runs")


def test_invitations_are_paginated(of_max: Program) -> None:
    people = [{"name": f"Eva {number}", "role": "reviewer"} for number in range(3)]
    of_max.ask("POST", "invitations", {"people": people})
    listed = pages(of_max, "invitations?limit=2")
    assert [[link["name"] for link in page] for page in listed] == [["Eva 0", "Eva 1"], ["Eva 2"]]


@pytest.mark.slow
def test_questions_are_paginated_in_each_list(of_lea: Program, of_ana: Program, ana: User) -> None:
    asked = {"kind": "question", "reason": "question", "note": "Is it 2?"}
    made = [
        escalations.escalate(evaluation_id=EvaluationFactory.create().pk, reviewer=ana, **asked).pk
        for _ in range(3)
    ]
    oldest, newest = [made[:2], made[2:]], [[made[2], made[1]], [made[0]]]
    for path, member in (("escalations?limit=2", "escalations"), ("inbox?kind=question&limit=2", "items")):
        listed = pages(of_lea, path)
        assert [[row["id"] for row in page[member]] for page in listed] == oldest
    listed = pages(of_ana, "escalations/own?limit=2")
    assert [[row["id"] for row in page] for page in listed] == newest
    assert len(of_lea.get("inbox?limit=1").json()["items"]) == 1


@pytest.mark.slow
def test_conflicts_are_in_pages(of_lea: Program, ana: User) -> None:
    lines = [line(name) for name in "abc"]
    import_data(file_of(*lines), run="one")
    for record in Evaluation.objects.all():
        decide(record, ana, scores={"Clarity": {"score": "No", "justification": ""}}, origins={})
    theirs = {
        "human_review_status": "Reviewed",
        "human_reviewer_id": "eva",
        "human_corrected_scores": {"Clarity": {"score": "Yes"}},
    }
    import_data(file_of(*(line(name, **theirs) for name in "abc")), run="one")
    listed = pages(of_lea, "runs/one/conflicts?limit=2")
    assert [[one["evaluation_id"] for one in page["conflicts"]] for page in listed] == [["a", "b"], ["c"]]


def test_limit_has_bounds(of_max: Program) -> None:
    for limit in ("0", "201", "many"):
        answer = of_max.get(f"webhooks?limit={limit}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "limit")
