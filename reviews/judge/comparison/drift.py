"""Measure the drift of a judge between two runs, on anchors: responses that it scored in both.

A difference between models of the two runs mixes the models with the judge. The judge's own shift on the
anchors, subtracted from it, leaves the difference of the models (difference in differences).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cognireview.types import judge
from cognireview.types.judge import LeniencyChange, ModelDifference, PairCount
from reviews.database.replica import read_from_replica
from reviews.judge.cells import FEWEST, CellRecords, load_cells
from reviews.judge.comparison.anchor_scores import measure_score_shifts
from reviews.judge.comparison.anchors import MOST_PAIRS, NO_ANCHORS, Anchors, hidden_pairs, load_anchors
from reviews.judge.comparison.judges import JudgeAndPrompt, changes_between, load_scope_judges
from reviews.judge.loading import shares_loads, why_not_counted
from reviews.judge.scope import JudgeScope
from reviews.models import Run
from reviews.records.wording import counted, quoted
from reviews.search import indexing
from reviews.search.facets import NO_VERDICT, VERDICT_ORDER
from reviews.statistics.clusters import difference, ratio
from reviews.statistics.contrasts import Counted, Term, contrast, count_by_cluster
from reviews.statistics.extrapolation import Sample, cluster_totals
from reviews.statistics.intervals import side_of, undefined
from reviews.statistics.sums import FloatArray
from reviews.statistics.totals import ClusterTotals

#: At most so many models of each run are compared, those with most records.
MOST_MODELS = 12
DEFINITIONS = {
    "shift": "The pass rate by the judge of the second run minus that of the first, on responses that both "
    "judged. Both judged the same responses, so the models do not matter. The interval counts tasks.",
    "changed": "How often the judge gave another verdict on the same response. If nothing about the judge "
    "changed, this is its noise.\n\n"
    "The share of responses in both runs whose verdict differs between them, in either direction.",
    "pairs": "How many responses got the one verdict before and the other one now. The number leads to their "
    "records.\n\n"
    "Pairs of records, one of each run, with the same response and these two verdicts.",
    "mean": "How high the judge scores the criterion on the responses that are in both runs. Compare the two "
    "means: only the judge differs.\n\n"
    "The mean of the judge's scores. Named scores count from 0 (worst) to 1 (best).",
    "score_shift": "How much higher the judge scores the criterion now. Above 0 it became milder, below 0 "
    "stricter.\n\n"
    "The second mean minus the first, on the same responses. The interval counts tasks.",
    "rate": "How many of the model's records the judge of that run passes. It says nothing about whether the "
    "judge is right.\n\n"
    "The share of records with the verdict Pass among those of the model in that run with a verdict. As in "
    "the leaderboard, unflagged records that cannot be sampled are not counted.",
    "raw": "How much higher the pass rate of the second model is. A judge that became milder raises it, "
    "too.\n\n"
    "The pass rate of the second model by the second judge minus that of the first model by the first judge.",
    "adjusted": "The difference of the models' pass rates, minus the judge's shift on the same responses "
    "(difference in differences). It assumes that the judge shifted as much on the other responses.\n\nn "
    "adds the records of both models and, once for each run, the responses in both runs.",
}
_OUTCOMES: dict[int, LeniencyChange] = {1: "milder", -1: "stricter", 0: "not shown"}
_PASS, _NONE = VERDICT_ORDER.index("Pass"), VERDICT_ORDER.index(NO_VERDICT)
_NOT_INDEXED = "The records of a run are still being indexed. Try again in a few minutes."
_NO_ANCHORS = "The two runs have no response in common with a verdict in both."


@dataclass(frozen=True, eq=False)
class Drift(judge.Drift):
    """The shift of the judge between two runs, with the pairs that may be listed."""

    #: No record of these pairs can still be scored blind.
    listed: Anchors

    def listed_with(self, first: str, second: str) -> Anchors:
        """Return the pairs that may be listed and have these verdicts. An empty text is any verdict."""
        listed = self.listed
        if first:
            listed = listed.only(listed.first_verdict == VERDICT_ORDER.index(first))
        if second:
            listed = listed.only(listed.second_verdict == VERDICT_ORDER.index(second))
        return listed


@read_from_replica
@shares_loads
def measure_drift(first: Run, scope: JudgeScope) -> Drift:
    """Measure the shift of the judge of a scope since an earlier run, and compare the models without it.

    The filters apply to both runs. Those by reviewer and date are about ratings, which are not read.
    """
    second, scopes = scope.run, (replace(scope, run=first), scope)
    before, after = (load_scope_judges(one) for one in scopes)
    several = len(before.pairs) > 1 or len(after.pairs) > 1
    shared = [pair for pair in before.pairs if pair in after.pairs] if several else []
    unknown = "" if indexing.is_indexed(first) and indexing.is_indexed(second) else _NOT_INDEXED
    loaded = NO_ANCHORS if unknown else load_anchors(*scopes, shared)
    hidden = hidden_pairs(loaded, [first, second])
    complete = (loaded.first_verdict != _NONE) & (loaded.second_verdict != _NONE)
    omits_hidden = _would_reveal(loaded.only(complete & hidden))
    anchors = loaded.only(complete & ~hidden) if omits_hidden else loaded.only(complete)
    sample = Sample(np.zeros(len(anchors), dtype=np.int32), anchors.cluster, anchors.weight)
    totals = cluster_totals(sample, _columns(anchors))
    shift = difference(totals, (1, 3), (0, 3))
    none = undefined(unknown or _NO_ANCHORS)
    notes = [*_notes(loaded, complete, hidden, shared, omits_hidden=omits_hidden), *_left_out(scopes)]
    return Drift(
        first=first.name,
        second=second.name,
        outcome=_OUTCOMES[side_of(shift.difference)],
        changes=[] if unknown else [*changes_between(before, after)],
        first_rate=ratio(totals, 0, 3) if len(anchors) else none,
        second_rate=ratio(totals, 1, 3) if len(anchors) else none,
        shift=shift.difference if len(anchors) else none,
        p=shift.p,
        changed=ratio(totals, 2, 3) if len(anchors) else none,
        counts=_counts(anchors),
        criteria=measure_score_shifts(first, second, loaded.only(~hidden)),
        models=[*_compare_models(scopes, anchors, shared)] if len(anchors) else [],
        notes=[unknown] if unknown else notes,
        listed=loaded.only(complete & ~hidden),
    )


def _columns(anchors: Anchors) -> FloatArray:
    """Return N x 4: passed in the first run, in the second; changed; all."""
    one, other = anchors.first_verdict, anchors.second_verdict
    columns = (one == _PASS, other == _PASS, one != other, np.ones(len(anchors)))
    return np.column_stack(columns).astype(np.float64)


def _counts(anchors: Anchors) -> list[PairCount]:
    pairs = Counter(zip(anchors.first_verdict.tolist(), anchors.second_verdict.tolist(), strict=True))
    return [
        PairCount(VERDICT_ORDER[one], VERDICT_ORDER[other], pairs[one, other]) for one, other in sorted(pairs)
    ]


def _would_reveal(hidden: Anchors) -> bool:
    """Return whether counts of few hidden pairs could reveal the judge's verdict on one of them."""
    return any(one.pairs < FEWEST for one in _counts(hidden))


def _compare_models(
    scopes: Sequence[JudgeScope], anchors: Anchors, shared: Sequence[JudgeAndPrompt]
) -> Iterator[ModelDifference]:
    """Compare each model of the second scope with each other model of the first."""
    if any(why_not_counted(scope.run) for scope in scopes):
        return
    records = [_with_verdict(load_cells(scope), shared) for scope in scopes]
    names = [_largest_models(one) for one in records]
    totals = _totals(records, names, anchors)
    shift = (Term(-1, 2, 3), Term(1, 0, 1))
    for place, first in enumerate(names[0]):
        for other, second in enumerate(names[1]):
            one, two = 4 + 2 * place, 4 + 2 * (len(names[0]) + other)
            if first == second:
                continue
            raw = (Term(1, two, two + 1), Term(-1, one, one + 1))
            adjusted = contrast(totals, (*raw, *shift))
            yield ModelDifference(
                first,
                second,
                ratio(totals, one, one + 1),
                ratio(totals, two, two + 1),
                contrast(totals, raw).difference,
                adjusted.difference,
                adjusted.p,
            )


def _left_out(scopes: Sequence[JudgeScope]) -> Iterator[str]:
    """Yield a sentence for each run about the records that the pass rates of its models leave out."""
    for scope in scopes:
        sentence = "" if why_not_counted(scope.run) else load_cells(scope).sentence
        if sentence:
            yield f"Models of {quoted(scope.run.name)}: {sentence[0].lower()}{sentence[1:]}"


def _with_verdict(records: CellRecords, shared: Sequence[JudgeAndPrompt]) -> CellRecords:
    return records.only(
        lambda cell: bool(
            cell.verdict and cell.model and (not shared or (cell.judge, cell.template) in shared)
        )
    )


def _largest_models(records: CellRecords) -> list[str]:
    sizes: Counter[str] = Counter()
    for cell, size in zip(records.cells, records.sizes.tolist(), strict=True):
        sizes[cell.model] += size
    return sorted(name for name, _ in sizes.most_common(MOST_MODELS))


def _totals(
    records: Sequence[CellRecords], names: Sequence[Sequence[str]], anchors: Anchors
) -> ClusterTotals:
    """Add up passed and all records by cluster: two columns for each group of records.

    The groups are the anchors in the first run and in the second, the models of the first run, and those of
    the second.
    """
    columns: list[list[Counted]] = []
    for verdict in (anchors.first_verdict, anchors.second_verdict):
        passed = anchors.only(verdict == _PASS)
        columns += [[Counted(passed.cluster, passed.weight)], [Counted(anchors.cluster, anchors.weight)]]
    for one, models in zip(records, names, strict=True):
        for model in models:
            cells = [place for place, cell in enumerate(one.cells) if cell.model == model]
            passing = [place for place in cells if one.cells[place].verdict == VERDICT_ORDER[_PASS]]
            columns += [[Counted(one.clusters[place]) for place in chosen] for chosen in (passing, cells)]
    return count_by_cluster(columns)


def _notes(
    loaded: Anchors,
    complete: NDArray[np.bool_],
    hidden: NDArray[np.bool_],
    shared: Sequence[JudgeAndPrompt],
    *,
    omits_hidden: bool,
) -> Iterator[str]:
    if shared:
        judges = "; ".join(", ".join(filter(None, pair)) for pair in shared)
        yield f"Only verdicts of the same judge and prompt are compared: {judges}."
    if loaded.is_sample:
        yield f"Only a random sample of {MOST_PAIRS:,} pairs of records is compared."
    if without := int((~complete).sum()):
        yield f"Not compared: {counted(without, 'pair')} in which a judge gave no verdict."
    if number := int((complete & hidden).sum()):
        if omits_hidden:
            yield (
                f"Not compared: {counted(number, 'pair')} with a record that can still be scored blind. A "
                f"count could reveal the judge's verdict on it."
            )
        else:
            yield f"Not listed: {counted(number, 'pair')} with a record that can still be scored blind."
