"""The rubric of a run, and the guideline for its reviewers."""

from http import HTTPStatus
from typing import Any

from ninja import Field, Router

from cognireview.types import operations
from reviews.api.auth import ApiRequest, operation
from reviews.api.bodies import JSON, TOML, TOMLS, Body, check_type, parse_json
from reviews.api.lookup import get_run
from reviews.api.problems import Problem
from reviews.models import Run
from reviews.records.rubric import Rubric
from reviews.records.rubric_file import MAX_BYTES, RubricError, format_rubric, parse_rubric, rubric_from_json
from reviews.review.rubric_changes import change_rubric
from reviews.rubric.guidelines import current_guideline, write_guideline
from reviews.rubric.run_rubric import run_rubric

router = Router(tags=["runs"])
_BODY = {
    "required": True,
    "content": {
        JSON: {"schema": {"$ref": "#/components/schemas/RubricIn"}},
        TOML: {"schema": {"type": "string"}},
    },
}


@operation(router, operations.RUBRIC, scope="read")
def get_rubric(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return the rubric of a run: the declared one, or else the one inferred from its files."""
    return _shape(get_run(run, request.user))


@operation(router, operations.SET_RUBRIC, scope="configure", problems=(400, 409, 413, 415), requestBody=_BODY)
def set_rubric(request: ApiRequest, run: str, seen: str = "") -> dict[str, Any]:
    """Declare the rubric of a run, as TOML or as the same members in JSON. Imports do not change it then.

    With `seen`, the fingerprint of the rubric that you read, a rubric that has changed since is not replaced.
    """
    found = get_run(run, request.user)
    check_type(request, (*TOMLS, JSON))
    body = request.read(MAX_BYTES + 1)
    try:
        wanted = _from_json(body) if request.content_type == JSON else parse_rubric(body)
        saved = change_rubric(run_id=found.pk, actor=request.user, rubric=wanted, seen=seen or None)
    except RubricError as error:
        sentence = "The rubric is invalid. Nothing was saved."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, error.problems) from error
    return _shape(saved)


def _from_json(body: bytes) -> Rubric:
    if len(body) > MAX_BYTES:
        raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A rubric has at most {MAX_BYTES:,} bytes.")
    return rubric_from_json(parse_json(body))


def _shape(run: Run) -> dict[str, Any]:
    known = run_rubric(run)
    return {
        "run": run.name,
        "is_declared": run.is_rubric_declared,
        "rubric": known.as_json(),
        "toml": format_rubric(known),
        "fingerprint": known.fingerprint,
    }


class GuidelineIn(Body):
    """A new text, which becomes the next version."""

    text: str
    seen: int | None = Field(
        default=None, description="The version that you read. Another one is not replaced."
    )


@operation(router, operations.GUIDELINE, scope="read")
def get_guideline(request: ApiRequest, run: str) -> dict[str, Any]:
    """Return the current guideline of a run."""
    return _guideline_shape(get_run(run, request.user))


@operation(router, operations.SET_GUIDELINE, scope="configure", problems=(409,))
def set_guideline(request: ApiRequest, run: str, sent: GuidelineIn) -> dict[str, Any]:
    """Write the next version of a run's guideline. Decisions note the version they were made under."""
    found = get_run(run, request.user)
    saved = write_guideline(run_id=found.pk, actor=request.user, text=sent.text, seen=sent.seen)
    return _guideline_shape(saved)


def _guideline_shape(run: Run) -> dict[str, Any]:
    known = current_guideline(run)
    return {"run": run.name, "version": run.guideline_version, "text": known.text if known else ""}
