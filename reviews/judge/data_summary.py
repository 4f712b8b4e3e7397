"""Summarise the records of a run: how many are flagged, verified, parsed and contradictory.

The counts are made at import (`strata.recount`), so reading them costs the same at any size. Contradictions
are counted by the verdict rule that the run had then.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cognireview.types import report_parts
from cognireview.types.encoding import members
from reviews.judge.figure_cache import cache_counts
from reviews.judge.loading import why_not_counted
from reviews.judge.scope import JudgeScope
from reviews.models import FacetCount, Run, RunFacet, StratumCount
from reviews.records.wording import counted
from reviews.review import blind_scoring
from reviews.review.blind_scoring import BlindFeasibility
from reviews.search import strata
from reviews.search.facets import READ_VERDICT
from reviews.search.filters import FILTERS

# So many flag reasons are listed and measured. Some judges write a reason of its own for each record.
MOST_REASONS = 100


@dataclass(frozen=True)
class DataSummary:
    """The counts of a run, with None and empty tuples until its records are counted."""

    records: int | None
    flagged: int | None
    #: Records without a verdict in their file.
    no_verdict: int | None
    #: Records among those whose verdict was extracted from the raw output.
    verdicts_read: int | None
    verifications: tuple[report_parts.FacetCount, ...]
    contradictions: tuple[report_parts.FacetCount, ...]
    #: The number of all flag reasons.
    flag_reasons: int
    blind: BlindFeasibility
    is_counted: bool
    run: Run

    @cached_property
    def families(self) -> tuple[report_parts.FacetCount, ...]:
        """The flag reasons with most records, at most `MOST_REASONS`, if the records are counted."""
        sizes, _ = largest_families(JudgeScope(self.run)) if self.is_counted else ({}, 0)
        titles = family_titles(self.run, sizes)
        return tuple(
            report_parts.FacetCount("reason", one, titles.get(one, one), size) for one, size in sizes.items()
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """Facts about the records that a reader of the judge's figures must know."""
        return tuple(_sentences(self))

    def records_of(self, name: str, value: str) -> int:
        """Return the number of records with a result of the verifier, or with a contradiction."""
        known = (*self.verifications, *self.contradictions)
        return next((fact.records for fact in known if (fact.name, fact.value) == (name, value)), 0)

    def as_json(self) -> dict[str, Any]:
        blind = {"is_possible": self.blind.is_possible, "why_not": self.blind.sentence}
        return members(report_parts.Data, self, blind_review=blind)


def summarize_data(run: Run) -> DataSummary:
    """Summarise the records of a run."""
    if why_not_counted(run):
        return DataSummary(
            None, None, None, None, (), (), 0, blind_scoring.blind_feasibility(run), is_counted=False, run=run
        )
    counted = StratumCount.objects.filter(stratum__run=run)
    strata_rows = list(counted.values_list("stratum__is_flagged", "verdict", "evaluations"))
    found = list(_facts(run, [READ_VERDICT, "verified", "contradiction"]))
    read = sum(fact.records for fact in found if fact.name == READ_VERDICT)
    without = sum(records for _, verdict, records in strata_rows if not verdict)
    return DataSummary(
        records=sum(records for _, _, records in strata_rows),
        flagged=sum(records for is_flagged, _, records in strata_rows if is_flagged),
        no_verdict=without + read,
        verdicts_read=read,
        verifications=tuple(fact for fact in found if fact.name == "verified"),
        contradictions=tuple(fact for fact in found if fact.name == "contradiction"),
        flag_reasons=_count_flag_reasons(JudgeScope(run)),
        blind=blind_scoring.blind_feasibility(run),
        is_counted=True,
        run=run,
    )


@cache_counts
def _count_flag_reasons(scope: JudgeScope) -> int:
    return FacetCount.objects.filter(run=scope.run, name="reason").count()


def _facts(run: Run, names: Sequence[str]) -> Iterator[report_parts.FacetCount]:
    """Yield the counts of facets with these names, largest first."""
    titles = {name: FILTERS[name].options for name in ("verified", "contradiction")}
    rows = FacetCount.objects.filter(run=run, name__in=names).order_by("-evaluations", "name", "value")
    for name, value, records in rows.values_list("name", "value", "evaluations"):
        yield report_parts.FacetCount(name, value, titles.get(name, {}).get(value, value), records)


def family_titles(run: Run, keys: Collection[str]) -> dict[str, str]:
    """Return the titles of families of flag reasons, by key."""
    return dict(RunFacet.objects.filter(run=run, name="reason", value__in=keys).values_list("value", "title"))


@cache_counts
def largest_families(scope: JudgeScope) -> tuple[dict[str, int], int]:
    """Return the number of flagged records of a run's largest families, by key, and the number of the others.

    The records must be counted. A whole run is the only scope.
    """
    counted = FacetCount.objects.filter(run=scope.run, name="reason")
    largest = counted.order_by("-evaluations", "value").values_list("value", "evaluations")[:MOST_REASONS]
    sizes = dict(largest)
    return sizes, _count_flag_reasons(scope) - len(sizes)


def _sentences(facts: DataSummary) -> Iterator[str]:
    if not facts.is_counted:
        yield strata.NOT_COUNTED
    if facts.records and facts.flagged is not None:
        families = f", for {counted(facts.flag_reasons, 'flag reason')}"
        flagged = f"{facts.flagged:,} of {counted(facts.records, 'record')} flagged for review"
        yield f"{flagged}{families if facts.flagged and facts.flag_reasons else ''}."
    if facts.no_verdict:
        number = facts.verdicts_read or 0
        without = f"{counted(facts.no_verdict, 'record has', 'records have')} no verdict in the file"
        # From parsed scores, or from those extracted from the raw output.
        read = "all of them" if number == facts.no_verdict else f"{number:,}" if number else "none"
        yield f"{without}. The judge's scores give {read}."
    if empty := facts.records_of("verified", "no reference"):
        yield (
            f"{counted(empty, 'verification')} against an empty reference answer. This is no evidence "
            f"against the judge or the model."
        )
    for fact in facts.contradictions:
        contradict = "contradicts itself" if fact.records == 1 else "contradict themselves"
        yield f"{counted(fact.records, 'record')} {contradict}: {fact.title}."
    if facts.records and not facts.blind.is_possible:
        yield facts.blind.sentence
