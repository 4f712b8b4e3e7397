"""The schemas of responses have the members and the docstrings of the client's types."""

from typing import Any

from cognireview.types.audit import AuditEvent
from cognireview.types.judge import GoldMetrics
from cognireview.types.records import Draft, Version
from reviews.api.response_schemas import schema_of


def members(kind: Any) -> dict[str, Any]:
    found: dict[str, Any] = schema_of(kind).model_json_schema()["properties"]
    return found


def test_docstrings_are_descriptions() -> None:
    assert schema_of(Version).model_json_schema()["description"] == Version.__doc__
    assert members(Version)["state"]["description"] == "The current decision, or why it is not."
    # A docstring of two lines, in the base class.
    assert members(GoldMetrics)["shares"]["description"] == (
        "The share of records that each number of the table stands for; null if unknown."
    )


def test_every_member_is_required() -> None:
    draft = schema_of(Draft).model_json_schema()
    assert draft["required"] == ["revision", "saved_at", "entries", "comments"]
    assert "is_excluded" in draft["$defs"]["DraftEntry"]["required"]


def test_narrowed_members_hold_for_derived_types() -> None:
    assert members(Version)["corrected_scores"]["anyOf"][0]["additionalProperties"]["required"] == ["score"]


def test_response_is_rendered_with_the_names_of_the_api() -> None:
    event = {"id": 7, "at": "2026-11-23T14:05:00.000000Z", "import": 3}
    rest = dict.fromkeys(("actor", "address", "run", "evaluation"))
    texts = dict.fromkeys(("actor_name", "action", "run_name", "record"), "")
    sent = {**event, **rest, **texts, "detail": {}}
    assert schema_of(AuditEvent).model_validate(sent).model_dump() == sent


def test_schemas_replace_dataclasses_within_types() -> None:
    assert schema_of(list[Version]) == list[schema_of(Version)]  # type: ignore[misc]
    assert schema_of(Version | None) == schema_of(Version) | None
