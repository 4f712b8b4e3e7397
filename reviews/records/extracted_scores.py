"""Store scores that were extracted from raw judge output, with the record.

Extraction can take a few hundred milliseconds for hostile output. It runs once, at import; pages, figures
and the API read `Evaluation.extracted_scores`. The column is null if the pipeline parsed the scores itself.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from reviews.records.score_extraction import VERSION, Proposal, Repair, extract_scores

TOO_LONG = "The judge's output is too long to extract scores."


class StoresExtracted(Protocol):
    """The part of an evaluation that holds extracted scores."""

    @property
    def extracted_scores(self) -> Mapping[str, Any] | None: ...


class ExtractedScores(NamedTuple):
    proposals: tuple[Proposal, ...] = ()
    is_too_long: bool = False
    #: The version of the extractor, None if the scores were parsed.
    version: int | None = None


def encode_extracted(parsed: Mapping[str, Any], raw_judge_output: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the value of `Evaluation.extracted_scores` for a record, or None if its scores are parsed."""
    if parsed:
        return None
    found = extract_scores(raw_judge_output)
    return {
        "version": VERSION,
        "is_too_long": found.is_too_long,
        "steps": list(found.steps),
        "proposals": [
            one._asdict() | {"span": list(one.span), "repairs": [list(repair) for repair in one.repairs]}
            for one in found.proposals
        ],
    }


def read_extracted(evaluation: StoresExtracted) -> ExtractedScores:
    """Return the scores that were extracted from a record's raw output at import."""
    stored = evaluation.extracted_scores
    if not stored:
        return ExtractedScores()
    proposals = tuple(_proposal(entry) for entry in stored["proposals"])
    return ExtractedScores(proposals, stored["is_too_long"], stored["version"])


def _proposal(entry: Mapping[str, Any]) -> Proposal:
    start, end = entry["span"]
    repairs = tuple(Repair(*repair) for repair in entry["repairs"])
    return Proposal(entry["criterion"], entry["score"], entry["justification"], (start, end), repairs)
