"""The judge against people: scores and verdicts by judge model, prompt template and model.

Of decisions in force where it is known what the judge had said. What reviewers gave before they saw that
stands apart from the rest, and records that were flagged stand apart from those that nobody flagged: figures
of the one say nothing about the other.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from reviews.judge.scales import Scale
from reviews.models import JudgedCount, Run, Stratum, User
from reviews.records.scores import criterion_title, is_score
from reviews.rubric import definition
from reviews.rubric.overrides import is_same_score
from reviews.statistics import agreement as coefficients
from reviews.statistics.agreement import ConfusionMatrix
from reviews.statistics.intervals import Estimate, wilson

Basis = Literal["blind", "assisted"]
Population = Literal["flagged", "sampled", "picked"]

BASES: dict[Basis, str] = {
    "blind": "Blind: the reviewer scored before the judge's scores showed.",
    "assisted": "Assisted, and so biased upward: the reviewer saw the judge's score, and people tend to "
    "agree with what they see.",
}
POPULATIONS: dict[Population, str] = {
    "flagged": "Flagged records: a human was asked for. They are harder than the rest, so the judge looks "
    "worse on them than it is on all records.",
    "sampled": "Sampled records: nobody flagged them, and they were drawn at random from all such.",
    "picked": "Picked records: nobody flagged them, and they were not drawn at random either, so they stand "
    "for no others.",
}
DEFINITIONS = coefficients.DEFINITIONS | {
    "changed": "Of the scores that reviewers gave blind, the share that is another one in their decision, "
    "which was made after the judge's scores showed. Interval: Wilson 1927.",
}
FIGURES = ("agreement", "kappa", "weighted_kappa", "ac1", "false_pass", "false_fail", "leniency")


@dataclass(frozen=True)
class JudgeScope:
    """Which decisions are counted; None does not narrow anything. A model of "" is no model."""

    run: Run
    judge: str | None = None
    template: str | None = None
    model: str | None = None
    reviewer: User | None = None

    def strata(self) -> QuerySet[Stratum]:
        """Those that the decisions are of, whoever made them."""
        return Stratum.objects.filter(**self._given())

    def condition(self, stratum: str = "stratum") -> Q:
        """The same for a query, by the field that leads to them."""
        return Q(**{f"{stratum}__{column}": value for column, value in self._given().items()})

    def _given(self) -> dict[str, Any]:
        columns = {
            "judge_llm_model": self.judge,
            "judge_prompt_template_path": self.template,
            "model_id": self.model,
        }
        return {"run": self.run} | {name: value for name, value in columns.items() if value is not None}

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run.name,
            "judge": self.judge,
            "template": self.template,
            "model": self.model,
            "reviewer": self.reviewer.username if self.reviewer else None,
        }


class JudgeGroup(NamedTuple):
    """Records of one judge model, prompt template and model; `model` is empty where none is named."""

    judge: str
    template: str
    model: str


@dataclass(frozen=True)
class AccuracyFigures:
    """The judge and people on one criterion, or on the verdict (None), of one group, or of all (None).

    A pair is in `table` if both gave a score that has a place there. Else it is counted in `judge_only`,
    where the human took the criterion away or came to no verdict; in `human_only`, where the judge had no
    score; or in `out_of_scale`. `DEFINITIONS` says what each figure is.
    """

    criterion: str | None
    basis: Basis
    population: Population
    group: JudgeGroup | None
    table: ConfusionMatrix
    judge_only: int
    human_only: int
    out_of_scale: int

    @property
    def title(self) -> str:
        return _title(self.criterion)

    @property
    def n(self) -> int:
        """Pairs in the table."""
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
        return {
            "criterion": self.criterion,
            "basis": self.basis,
            "population": self.population,
            "group": self.group and self.group._asdict(),
            "n": self.n,
            "judge_only": self.judge_only,
            "human_only": self.human_only,
            "out_of_scale": self.out_of_scale,
            "table": self.table.as_json(),
            **{name: getattr(self, name).as_json() for name in FIGURES},
        }


@dataclass(frozen=True)
class AfterReveal:
    """What became of scores that were given blind, on one criterion or the verdict (None).

    `towards_judge` of those changed are the judge's now, `away_from_judge` were and are not any more.
    """

    criterion: str | None
    population: Population
    changed: Estimate
    towards_judge: int
    away_from_judge: int

    @property
    def title(self) -> str:
        return _title(self.criterion)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"changed": self.changed.as_json()}


@dataclass(frozen=True)
class JudgeVsHuman:
    """All figures of a scope: the verdict first, then the criteria in the rubric's order.

    Of each, blind ones come before assisted ones, and flagged before sampled; what nobody reviewed is not
    there. `groups` has the same by group, `reviews` how many decisions are counted.
    """

    scope: JudgeScope
    overall: tuple[AccuracyFigures, ...]
    groups: tuple[AccuracyFigures, ...]
    after_reveal: tuple[AfterReveal, ...]
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
            "overall": [one.as_json() for one in self.overall],
            "groups": [one.as_json() for one in self.groups],
            "after_reveal": [one.as_json() for one in self.after_reveal],
        }


def _title(criterion: str | None) -> str:
    return "Verdict" if criterion is None else criterion_title(criterion)


# Counting


class _Key(NamedTuple):
    """What figures are of."""

    criterion: str | None
    basis: Basis
    population: Population


class _Row(NamedTuple):
    """How many decisions put `human` in the place of `judge`, and `final` in that of `human`: JSON values."""

    key: _Key
    group: JudgeGroup
    judge: Any
    human: Any
    final: Any
    reviews: int


def compare_with_humans(scope: JudgeScope) -> JudgeVsHuman:
    """Two queries, over sums."""
    rows = _rows(scope)
    kept = definition.of(scope.run)
    scales = _scales(kept, rows)
    order = _order(kept, scales)
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
    # By their keys the sums are added up several times as fast as by what the strata are.
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
    """A score from how JSON spells it; a text as it stands where it was cut short."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _scales(kept: definition.Rubric, rows: Iterable[_Row]) -> dict[str | None, Scale]:
    found: dict[str | None, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.key.criterion] += (row.judge, row.human)
    return {
        name: Scale.of_verdicts() if name is None else Scale.from_scores(kept, scores)
        for name, scores in found.items()
    }


def _order(kept: definition.Rubric, found: Iterable[str | None]) -> Callable[[_Key], tuple[int, int, int]]:
    """The verdict, the criteria of the rubric, and others by their names; blind first, flagged first."""
    others = sorted({name for name in found if name is not None}.difference(kept.criteria))
    places = {name: place for place, name in enumerate((None, *kept.criteria, *others))}
    bases, populations = [*BASES], [*POPULATIONS]
    return lambda key: (places[key.criterion], bases.index(key.basis), populations.index(key.population))


def _figures(key: _Key, group: JudgeGroup | None, scale: Scale, rows: Iterable[_Row]) -> AccuracyFigures:
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
        wilson(_total(changed), _total(scored), "scores that were given blind"),
        towards_judge=_total(row for row in changed if is_same_score(row.final, row.judge)),
        away_from_judge=_total(row for row in changed if is_same_score(row.human, row.judge)),
    )


def _total(rows: Iterable[_Row]) -> int:
    return sum(row.reviews for row in rows)


# What a scope can be narrowed by


class ScopeChoices(NamedTuple):
    """What the decisions of a run are by: a model of "" is no model; reviewers are by their user names."""

    judges: tuple[str, ...]
    templates: tuple[str, ...]
    models: tuple[str, ...]
    reviewers: tuple[User, ...]


def scope_choices(run: Run) -> ScopeChoices:
    """Everything that there is a decision of."""
    counted = JudgedCount.objects.filter(reviews__gt=0)
    strata = Stratum.objects.filter(Exists(counted.filter(stratum=OuterRef("pk"))), run=run)
    reviewers = User.objects.filter(
        Exists(counted.filter(reviewer=OuterRef("pk"), stratum__in=[stratum.pk for stratum in strata]))
    )
    return ScopeChoices(
        tuple(sorted({stratum.judge_llm_model for stratum in strata})),
        tuple(sorted({stratum.judge_prompt_template_path for stratum in strata})),
        tuple(sorted({stratum.model_id for stratum in strata})),
        tuple(reviewers.order_by("username")),
    )
