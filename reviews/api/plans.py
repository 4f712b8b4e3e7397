"""Plan the blind reviews that a target needs, serve the plan, and stop it."""

from typing import Any

from ninja import Field, P, QueryEx, Router, Schema

from reviews.accounts.permissions import check
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import Body
from reviews.api.estimates import EstimateOut, Part
from reviews.api.lookup import get_run
from reviews.judge import planning, review_plan
from reviews.judge.planning import USUAL_TARGET

router = Router(tags=["runs"])
_TARGET = "Half the width of the 95% interval to reach: 0.05 for ±5 percentage points."
_AIM = "run: the accuracy over the whole run. parts: on flagged and on unflagged records, each by itself."


class PlannedPartOut(Schema):
    """The whole run, its flagged or its unflagged records."""

    name: Part
    records: int = Field(description="Records with a verdict by the judge.")
    ratings: int = Field(description="Blind ratings of them.")
    accuracy: EstimateOut
    half_width: float | None = Field(description="Half the width of the interval now.")
    more: int = Field(description="Blind reviews that the plan adds here.")
    more_alone: int = Field(description="Blind reviews that this part alone needs.")
    best_half_width: float | None = Field(description="The same once all records are reviewed blind.")
    is_reachable: bool


class CellOut(Schema):
    """The records of a judge, a prompt and a model with a verdict, flagged or not."""

    is_flagged: bool
    verdict: str
    judge: str
    template: str = Field(description="The prompt.")
    model: str = Field(description="Empty for records without a model.")


class PlannedCellOut(Schema):
    """A cell with the blind reviews that the plan adds."""

    cell: CellOut
    records: int
    ratings: int
    more: int


class ServedPlanOut(Schema):
    """The plan that the queue serves."""

    target: float = Field(description=_TARGET)
    aim: str = Field(description=_AIM)
    is_finished: bool = Field(description="Whether all its records are reviewed, so that you can plan again.")


class PlanOut(Schema):
    """The blind reviews that a target needs."""

    run: str
    target: float = Field(description=_TARGET)
    aim: str = Field(description=_AIM)
    more: int = Field(description="Blind reviews to add.")
    design_effect: float = Field(description="Reviews that are needed for one independent review.")
    is_design_effect_assumed: bool = Field(description="Whether there are too few reviews to compute it.")
    parts: list[PlannedPartOut] = Field(description="The whole run, then flagged and unflagged records.")
    cells: list[PlannedCellOut]
    sentences: list[str]
    served: ServedPlanOut | None = Field(description="The plan that the queue serves.")
    why: str = Field(description="Why there is no plan, or empty.")


class PlanIn(Body):
    """The plan to serve."""

    target: float = Field(USUAL_TARGET, description=_TARGET)
    aim: str = Field("run", description=_AIM)


@operation(router, "GET", "/runs/{run}/plan", scope="read", response=PlanOut, problems=(404,))
def get_plan(
    request: ApiRequest,
    run: str,
    target: QueryEx[float, P(default=USUAL_TARGET, description=_TARGET)],
    aim: QueryEx[str, P(default="run", description=_AIM)],
) -> dict[str, Any]:
    """Return how many more blind reviews of which records a target needs. Leads and admins only."""
    check(request.user, "lead_review")
    found = get_run(run, request.user)
    return planning.plan_reviews(found, target, review_plan.check_request(target, aim)).as_json()


@operation(
    router,
    "PUT",
    "/runs/{run}/plan",
    scope="configure",
    response=PlanOut,
    problems=(400, 404, 413, 415),
)
def serve_plan(request: ApiRequest, run: str, sent: PlanIn) -> dict[str, Any]:
    """Serve a plan: the queue gives out the planned records first, and all reviews are blind.

    A plan that is served already is replaced. Shares of sampled records never decrease.
    """
    found = get_run(run, request.user)
    served = review_plan.serve_plan(run_id=found.pk, actor=request.user, target=sent.target, aim=sent.aim)
    found.refresh_from_db()
    return served.as_json() | {"served": planning.served_plan(found)}


@operation(router, "DELETE", "/runs/{run}/plan", scope="configure", response=PlanOut, problems=(404,))
def stop_plan(request: ApiRequest, run: str) -> dict[str, Any]:
    """Stop serving a plan: the queue has its usual order. The shares of blind review and sampling stay."""
    found = get_run(run, request.user)
    return planning.plan_reviews(review_plan.stop_plan(run_id=found.pk, actor=request.user)).as_json()
