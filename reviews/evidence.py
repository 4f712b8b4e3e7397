"""What a record gives a reviewer to judge by, read into shapes that a page can lay out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reviews.criteria import Offer, criterion_title, score_word
from reviews.models import Evaluation
from reviews.record import FIELDS
from reviews.salvage import raw_text
from reviews.verdict import Contradiction, Verification, aggregate, contradictions, read_verification

# The parts of a response in the order a reviewer wants them; others follow in their own order.
_PARTS = ("final_answer", "assumptions", "steps", "intermediate_results", "format_notes")
# Beyond these a response is shown as JSON: formatting it would hold the page up.
_MAX_CHARS = 200_000
_MAX_ITEMS = 300
_MAX_REASONS = 30


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a response: a text, a list of texts, or anything else as JSON (`data`)."""

    label: str
    text: str = ""
    items: list[str] = field(default_factory=list)
    data: Any = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """`model` and `ideal` are empty where the record has no such response."""

    reasons: list[str]
    verification: Verification
    contradictions: list[Contradiction]
    model: list[Part]
    ideal: list[Part]
    raw: str
    raw_spans: list[tuple[int, int]]
    fields: list[tuple[str, Any]]

    @property
    def has_responses(self) -> bool:
        return bool(self.model or self.ideal)


def read(evaluation: Evaluation, offers: list[Offer]) -> Evidence:
    """Read a record; `offers` are the judge's criteria as the form shows them."""
    return Evidence(
        reasons=_reasons(evaluation),
        verification=read_verification(evaluation.final_answer_verified, evaluation.verification_message),
        contradictions=_contradictions(evaluation, offers),
        model=response_parts(evaluation.structured_model_response),
        ideal=response_parts(evaluation.structured_ideal_response),
        raw=raw_text(evaluation.raw_judge_output),
        raw_spans=[offer.span or (0, 0) for offer in offers],
        fields=_fields(evaluation),
    )


def _reasons(evaluation: Evaluation) -> list[str]:
    """Why the record is here, each thing said once."""
    reasons = [str(reason) for reason in evaluation.review_reasons]
    error = evaluation.parsing_error or ""
    if error and not any(error in reason for reason in reasons):
        reasons.append(f"Parsing error: {error}")
    more = len(reasons) - _MAX_REASONS
    return reasons if more <= 0 else [*reasons[:_MAX_REASONS], f"And {more:,} more in the full record."]


def _contradictions(evaluation: Evaluation, offers: list[Offer]) -> list[Contradiction]:
    """What cannot all be right, but for the missing reference: the verifier's sentence says that."""
    found = contradictions(evaluation, {offer.criterion: offer.given for offer in offers})
    return [contradiction for contradiction in found if contradiction.kind != "no reference"]


def _fields(evaluation: Evaluation) -> list[tuple[str, Any]]:
    """All fields of the record by their own names; what the schema does not know together as `extra`."""
    names = [*FIELDS, "extra"] if evaluation.extra else FIELDS
    return [(name, getattr(evaluation, name)) for name in names]


def response_parts(response: Any) -> list[Part]:
    """Read a structured response: `{"model": ..., "response": {...}}`, the inner object, or plain text."""
    if not response:
        return []
    if not isinstance(response, str) and len(json.dumps(response)) > _MAX_CHARS:
        return [Part("Response", data=response)]
    if not isinstance(response, Mapping):
        return [_part("Response", response)]
    if "response" not in response or len(response) > _MAX_ITEMS:
        return _parts(response)
    inner = response["response"]
    found = _parts(inner) if isinstance(inner, Mapping) else _parts({"response": inner})
    # What stands around the response keeps its own name: "model" there is not who answered.
    return [*found, *(_part(name, value) for name, value in response.items() if name != "response")]


def _parts(response: Mapping[str, Any]) -> list[Part]:
    if len(response) > _MAX_ITEMS:
        return [Part("Response", data=response)]
    order = {name: place for place, name in enumerate(_PARTS)}
    names = sorted(response, key=lambda name: order.get(name, len(order)))
    return [
        _part(criterion_title(name), response[name])
        for name in names
        if response[name] not in (None, "", [], {})
    ]


def _part(label: str, value: Any) -> Part:
    if isinstance(value, str):
        return Part(label, text=value)
    if isinstance(value, list) and len(value) <= _MAX_ITEMS and all(isinstance(item, str) for item in value):
        return Part(label, items=value)
    if isinstance(value, dict | list):
        return Part(label, data=value)
    return Part(label, text=json.dumps(value))


@dataclass(frozen=True, slots=True)
class Judged:
    """A criterion as it stands: the judge's score, the person's, and the justification in force."""

    title: str
    judge: str
    human: str
    text: str

    @property
    def differs(self) -> bool:
        return bool(self.human) and self.human != self.judge


@dataclass(frozen=True, slots=True)
class Decision:
    """A record as it stands, to read: judge beside human."""

    rows: list[Judged]
    verdict: str


def decision(evaluation: Evaluation, offers: list[Offer]) -> Decision:
    """Read what the judge said and, where one is in force, what a person decided."""
    human = evaluation.human_corrected_scores or {}
    offered = {offer.criterion: offer for offer in offers}
    rows = [_judged(name, offered.get(name), human.get(name)) for name in {**offered, **human}]
    before = evaluation.aggregated_score or aggregate(offer.score for offer in offers) or ""
    after = (aggregate(_score(entry) for entry in human.values()) or "open") if human else before
    return Decision(rows, after if before in {"", after} else f"{before} → {after}")


def _judged(name: str, offer: Offer | None, entry: Any) -> Judged:
    text = entry.get("justification") if isinstance(entry, Mapping) else None
    if not isinstance(text, str):
        text = offer.justification if offer else ""
    return Judged(
        title=criterion_title(name),
        judge=offer.word if offer else "",
        human=score_word(_score(entry)),
        text=text,
    )


def _score(entry: Any) -> Any:
    return entry.get("score") if isinstance(entry, Mapping) else entry
