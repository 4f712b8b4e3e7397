"""A served plan on its page and in the inbox."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.inbox.items import Inbox
from reviews.judge import review_plan
from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.records.status import QUEUE_STATUSES
from reviews.rubric.run_settings import InvalidSettings
from reviews.sampling.planned_shares import DEFERRED, NORMAL, current_plan, report_finished_plans
from reviews.views.inbox_navigation import item_url
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text
from tests.support.planned_runs import CALM, JUDGED_PASS, import_planned_run
from tests.support.work import agree, lock_in_scores

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture(scope="module")
def _imported(module_world: None) -> None:
    """Import a run for the tests of this file, which undo their changes."""
    import_planned_run()


@pytest.fixture
def imported(_imported: None) -> Run:
    return Run.objects.get(name="evaluations")


def test_plan_of_a_model_serves_its_records_first(client: Client, lea: User) -> None:
    run = Run.objects.create(name="models", blind_share=0.2)
    kinds: dict[str, dict[str, Any]] = {"f": {}, "u": CALM}
    lines = (
        line(f"{model}{kind}{n}", task_id=f"{kind}{n}", model_id=model, **JUDGED_PASS, **values)
        for model in ("o1", "o3")
        for kind, values in kinds.items()
        for n in range(60)
    )
    import_data(file_of(*lines), run="models")
    plan = review_plan.serve_plan(run_id=run.pk, actor=lea, target=0.15, aim="run", filters={"model": "o3"})
    waiting = run.evaluations.filter(human_review_status="Needs Review")
    served = waiting.filter(priority=NORMAL)
    assert {*served.values_list("model_id", "needs_human_review")} == {("o3", True), ("o3", False)}
    assert served.count() == pytest.approx(plan.more, abs=10)
    assert waiting.filter(priority=DEFERRED, model_id="o1").count() == 60
    run.refresh_from_db()
    kept = current_plan(run)
    assert kept
    assert kept.filters == {"model": "o3"}
    [share] = [one.share for one in kept.shares if not one.is_flagged and one.model == "o3"]
    assert run.sample_share == pytest.approx(share / 2, abs=0.05)
    client.force_login(lea)
    for query, chosen in (
        ("?inbox=x", {"model": "o3"}),
        ("?target=10", {}),
        ("?model=o1", {"model": "o1"}),
    ):
        page = client.get(reverse("judge-plan", args=[run.pk]) + query)
        assert page.context["filters"].chosen == chosen
        assert "first." in text(page)
        assert page.context["served"]["chosen"] == "model o3"
    with pytest.raises(InvalidSettings, match="No record has the model"):
        review_plan.serve_plan(run_id=run.pk, actor=lea, target=0.15, aim="run", filters={"model": "x"})


def test_plan_whose_records_are_reviewed_waits_for_a_lead(
    imported: Run, client: Client, lea: User, ana: User
) -> None:
    review_plan.serve_plan(run_id=imported.pk, actor=lea, target=0.3, aim="run")
    assert (Inbox(lea).counts["plan"], report_finished_plans()) == (0, 0)
    for record in imported.evaluations.filter(priority=NORMAL, human_review_status__in=QUEUE_STATUSES):
        lock_in_scores(record, ana, {"Clarity": "Yes"})
        agree(Evaluation.objects.get(pk=record.pk), ana)
    assert imported.evaluations.filter(priority=DEFERRED, human_review_status="Needs Review").exists()
    [item] = [one for group in Inbox(lea).groups() for one in group.items if one.kind.name == "plan"]
    assert (item.row, item.point) == (imported, "±30 points")
    assert [report_finished_plans() for _ in range(2)] == [1, 0]
    assert AuditEvent.objects.filter(action="plan reviewed").count() == 1
    client.force_login(lea)
    page = client.get(item_url(item))
    assert page.context["form"].data["target"] == "30"
    assert page.context["served"] == {"points": "30", "is_finished": True, "chosen": ""}
    sent = {"target": 3, "aim": "run", "inbox": str(item.place)}
    next_item = reverse("run-settings", args=[imported.pk], query={"inbox": f"rubric-{imported.pk}"})
    assert client.post(reverse("serve-plan", args=[imported.pk]), sent)["Location"] == next_item
    assert (Inbox(lea).counts["plan"], report_finished_plans()) == (0, 0)
