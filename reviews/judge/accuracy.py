"""Compare the judge with reviewers: scores and verdicts by judge model, prompt template and evaluated model.

Counts current decisions for which the judge's scores are known. Blind and assisted reviews are separate,
and so are flagged, sampled and picked records: a figure about one of these groups says nothing about the
others.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from django.db.models import Sum

from reviews.judge.plain_json import members
from reviews.judge.scales import ScoreCategories
from reviews.judge.scope import JudgeScope
from reviews.models import JudgedCount
from reviews.records.rubric import Rubric
from reviews.records.scores import criterion_title, is_score
from reviews.rubric.overrides import is_same_score
from reviews.rubric.run_rubric import run_rubric
from reviews.statistics import agreement as coefficients
from reviews.statistics.agreement import ConfusionMatrix
from reviews.statistics.intervals import Estimate, wilson

Basis = Literal["blind", "assisted"]
Population = Literal["flagged", "sampled", "picked"]

BASES: dict[Basis, str] = {
    "blind": "Blind: the reviewer scored before the judge's scores were shown.",
    "assisted": "Assisted: the reviewer saw the judge's scores. Such reviews may overstate agreement, "
    "because people tend to agree with a score they see.",
}
POPULATIONS: dict[Population, str] = {
    "flagged": "Flagged records were marked for human review. They are harder than the rest, so the judge "
    "looks worse on them than on all records.",
    "sampled": "Sampled records are a random sample of the unflagged ones.",
    "picked": "Picked records are unflagged ones that were reviewed without being sampled. They represent no "
    "other records.",
}
DEFINITIONS = coefficients.DEFINITIONS | {
    "changed": "The share of blind scores that the reviewer changed after the judge's scores were shown. "
    "Interval: Wilson 1927.",
}
FIGURES = ("agreement", "kappa", "weighted_kappa", "ac1", "false_pass", "false_fail", "leniency")


class JudgeGroup(NamedTuple):
    """A judge model, a prompt template and an evaluated model."""

    judge: str
    template: str
    #: Empty for records without a model.
    model: str


@dataclass(frozen=True)
class AccuracyFigures:
    """The figures of one criterion, or of the verdict, over one group or over all groups.

    A pair of scores is counted in `table` if both scores are in its scale, otherwise in exactly one of the
    counts below.
    """

    #: None for the verdict.
    criterion: str | None
    basis: Basis
    population: Population
    #: None for all groups together.
    group: JudgeGroup | None
    table: ConfusionMatrix
    #: The human removed the criterion or came to no verdict.
    judge_only: int
    #: The judge gave no score.
    human_only: int
    #: A score has no place in the table.
    out_of_scale: int

    @property
    def title(self) -> str:
        return figure_title(self.criterion)

    @property
    def n(self) -> int:
        """The number of pairs in the table."""
        return self.table.n

    @cached_property
    def agreement(self) -> Estimate:
        return coefficients.agreement(self.table)

    @cached_property
    def kappa(self) -> Estimate:
        return coefficients.kappa(self.table)

    @cached_property
    def weighted_kappa(self) -> Estimate:
        return coefficients.weighted_kappa(self.table)

    @cached_property
    def ac1(self) -> Estimate:
        return coefficients.ac1(self.table)

    @cached_property
    def false_pass(self) -> Estimate:
        return coefficients.false_pass(self.table)

    @cached_property
    def false_fail(self) -> Estimate:
        return coefficients.false_fail(self.table)

    @cached_property
    def leniency(self) -> Estimate:
        return coefficients.leniency(self.table)

    def as_json(self) -> dict[str, Any]:
        names = ("criterion", "basis", "population", "n", "judge_only", "human_only", "out_of_scale", "table")
        return {"group": self.group and self.group._asdict()} | members(self, *names, *FIGURES)


@dataclass(frozen=True)
class AfterReveal:
    """Changes of blind scores after the judge's scores were shown."""

    #: None for the verdict.
    criterion: str | None
    population: Population
    changed: Estimate
    #: Changed scores that now equal the judge's.
    towards_judge: int
    #: Changed scores that used to equal the judge's.
    away_from_judge: int

    @property
    def title(self) -> str:
        return figure_title(self.criterion)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"changed": self.changed.as_json()}


@dataclass(frozen=True)
class JudgeVsHuman:
    """All figures of a scope.

    The verdict comes first, then the criteria in the order of the rubric; blind before assisted, flagged
    before sampled. Combinations without reviews are absent.
    """

    scope: JudgeScope
    overall: tuple[AccuracyFigures, ...]
    #: The same figures by judge model, prompt template and evaluated model.
    groups: tuple[AccuracyFigures, ...]
    after_reveal: tuple[AfterReveal, ...]
    #: The number of decisions counted.
    reviews: Mapping[tuple[Basis, Population], int]

    def as_json(self) -> dict[str, Any]:
        return {
            "scope": self.scope.as_json(),
            "bases": BASES,
            "populations": POPULATIONS,
            "reviews": [
                {"basis": basis, "population": population, "reviews": reviews}
                for (basis, population), reviews in self.reviews.items()
            ],
        } | members(self, "overall", "groups", "after_reveal")


def figure_title(criterion: str | None) -> str:
    """Return the title of figures about a criterion, or about the verdict."""
    return "Verdict" if criterion is None else criterion_title(criterion)


class _Key(NamedTuple):
    """The subject of a set of figures."""

    criterion: str | None
    basis: Basis
    population: Population


class _Row(NamedTuple):
    """The number of decisions with the same judge, human and final score. Scores are JSON values."""

    key: _Key
    group: JudgeGroup
    judge: Any
    human: Any
    final: Any
    reviews: int


def compare_with_humans(scope: JudgeScope) -> JudgeVsHuman:
    """Compute all figures of a scope. Takes two queries, whatever the size of the run."""
    rows = _rows(scope)
    rubric = run_rubric(scope.run)
    scales = _scales(rubric, rows)
    order = _order(rubric, scales)
    together, apart = (
        defaultdict[_Key, list[_Row]](list),
        defaultdict[tuple[_Key, JudgeGroup], list[_Row]](list),
    )
    for row in rows:
        together[row.key].append(row)
        apart[row.key, row.group].append(row)
    keys = sorted(together, key=order)
    return JudgeVsHuman(
        scope=scope,
        overall=tuple(_figures(key, None, scales[key.criterion], together[key]) for key in keys),
        groups=tuple(
            _figures(key, group, scales[key.criterion], apart[key, group])
            for key, group in sorted(apart, key=lambda one: (order(one[0]), one[1]))
        ),
        after_reveal=tuple(_after_reveal(key, together[key]) for key in keys if key.basis == "blind"),
        reviews={(key.basis, key.population): _total(together[key]) for key in keys if key.criterion is None},
    )


def _rows(scope: JudgeScope) -> list[_Row]:
    strata = {stratum.pk: stratum for stratum in scope.strata()}
    # Grouping by the key of the stratum is several times as fast as grouping by its columns.
    counted = JudgedCount.objects.filter(stratum__in=[*strata])
    if scope.reviewer:
        counted = counted.filter(reviewer=scope.reviewer)
    found = counted.values_list("stratum", "criterion", "is_blind", "is_sampled", "judge", "human", "final")
    rows = []
    for key, criterion, is_blind, is_sampled, *scores, reviews in (
        found.annotate(Sum("reviews")).filter(reviews__sum__gt=0).order_by()
    ):
        stratum = strata[key]
        basis: Basis = "blind" if is_blind else "assisted"
        population: Population = "sampled" if is_sampled else "flagged" if stratum.is_flagged else "picked"
        group = JudgeGroup(stratum.judge_llm_model, stratum.judge_prompt_template_path, stratum.model_id)
        judge, human, final = scores if criterion is None else map(read_score, scores)
        rows.append(_Row(_Key(criterion, basis, population), group, judge, human, final, reviews))
    return rows


@lru_cache(maxsize=1024)
def read_score(text: str | None) -> Any:
    """Parse a score from its JSON text. Returns the text itself if it was cut off."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _scales(rubric: Rubric, rows: Iterable[_Row]) -> dict[str | None, ScoreCategories]:
    found: dict[str | None, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.key.criterion] += (row.judge, row.human)
    return {
        name: ScoreCategories.of_verdicts()
        if name is None
        else ScoreCategories.from_scores(rubric, name, scores)
        for name, scores in found.items()
    }


def _order(rubric: Rubric, found: Iterable[str | None]) -> Callable[[_Key], tuple[int, int, int]]:
    """Return the sort key of figures: the verdict, the rubric's criteria, then other criteria by name."""
    others = sorted({name for name in found if name is not None}.difference(rubric.names))
    places = {name: place for place, name in enumerate((None, *rubric.names, *others))}
    bases, populations = [*BASES], [*POPULATIONS]
    return lambda key: (places[key.criterion], bases.index(key.basis), populations.index(key.population))


def _figures(
    key: _Key, group: JudgeGroup | None, scale: ScoreCategories, rows: Iterable[_Row]
) -> AccuracyFigures:
    size = range(len(scale.categories))
    counts = [[0 for _ in size] for _ in size]
    left_out: Counter[str] = Counter()
    for row in rows:
        judge, human = scale.place(row.judge), scale.place(row.human)
        if judge is not None and human is not None:
            counts[judge][human] += row.reviews
        else:
            left_out[_why_left_out(row)] += row.reviews
    return AccuracyFigures(
        criterion=key.criterion,
        basis=key.basis,
        population=key.population,
        group=group,
        table=ConfusionMatrix(scale.categories, tuple(map(tuple, counts))),
        judge_only=left_out["judge only"],
        human_only=left_out["human only"],
        out_of_scale=left_out["out of scale"],
    )


def _why_left_out(row: _Row) -> str:
    match is_score(row.judge), is_score(row.human):
        case True, True:
            return "out of scale"
        case True, False:
            return "judge only"
        case False, True:
            return "human only"
    return "neither"


def _after_reveal(key: _Key, rows: Iterable[_Row]) -> AfterReveal:
    scored = [row for row in rows if is_score(row.human)]
    changed = [row for row in scored if not is_same_score(row.human, row.final)]
    return AfterReveal(
        key.criterion,
        key.population,
        wilson(_total(changed), _total(scored), "blind scores"),
        towards_judge=_total(row for row in changed if is_same_score(row.final, row.judge)),
        away_from_judge=_total(row for row in changed if is_same_score(row.human, row.judge)),
    )


def _total(rows: Iterable[_Row]) -> int:
    return sum(row.reviews for row in rows)
