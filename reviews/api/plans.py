"""Plan the blind reviews that a target needs, serve the plan, and stop it."""

from typing import Any

from ninja import Field, P, QueryEx, Router

from cognireview.types import operations
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.lookup import get_run
from reviews.judge import planning, review_plan
from reviews.judge.planning import USUAL_TARGET
from reviews.judge.scope import JudgeScope

router = Router(tags=["runs"])
_TARGET = "Half the width of the 95% interval to reach: 0.05 for ±5 percentage points."
_AIM = "run: the accuracy over all records. parts: on flagged and on unflagged records, each by itself."


class PlanIn(Body):
    """The plan to serve."""

    target: float = Field(USUAL_TARGET, description=_TARGET)
    aim: str = Field("run", description=_AIM)
    judge: str = Field("", description="Only records of this judge.")
    template: str = Field("", description="Only records of this prompt.")
    model: str = Field("", description="Only records of this model, or `-` without one.")


@operation(router, operations.PLAN, scope="read", permission="lead_review")
def get_plan(
    request: ApiRequest,
    run: str,
    *,
    target: QueryEx[float, P(default=USUAL_TARGET, description=_TARGET)],
    aim: QueryEx[str, P(default="run", description=_AIM)],
    judge: str = "",
    template: str = "",
    model: str = "",
) -> dict[str, Any]:
    """Return how many more blind reviews of which records a target needs. Leads and admins only.

    `judge`, `template` (the prompt) and `model` (`-` for records without one) choose the records.
    """
    wanted = review_plan.check_request(target, aim)
    values = {"judge": judge, "template": template, "model": model}
    scope = review_plan.read_filters(get_run(run, request.user), values)
    return planning.plan_reviews(scope, target, wanted).as_json()


@operation(router, operations.SERVE_PLAN, scope="configure")
def serve_plan(request: ApiRequest, run: str, sent: PlanIn) -> dict[str, Any]:
    """Serve a plan: the queue gives out the planned records first, and all reviews are blind.

    A plan that is served already is replaced. Shares of sampled records never decrease.
    """
    found = get_run(run, request.user)
    served = review_plan.serve_plan(
        run_id=found.pk,
        actor=request.user,
        target=sent.target,
        aim=sent.aim,
        filters={name: getattr(sent, name) for name in planning.PLAN_FILTERS},
    )
    found.refresh_from_db()
    return served.as_json() | {"served": planning.served_plan(found)}


@operation(router, operations.STOP_PLAN, scope="configure")
def stop_plan(request: ApiRequest, run: str) -> dict[str, Any]:
    """Stop serving a plan: the queue has its usual order. The shares of blind review and sampling stay."""
    found = get_run(run, request.user)
    run_without = review_plan.stop_plan(run_id=found.pk, actor=request.user)
    return planning.plan_reviews(JudgeScope(run_without)).as_json()
