"""Read the filters of a comparison, which apply to both sides.

A filter that would leave one side without records does not apply, such as the judge if the two runs have no
judge in common. The scope says why.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from reviews.judge.scope import (
    SCOPE_FILTERS,
    JudgeScope,
    ReadScope,
    ScopeChoices,
    choices_of,
    read_scope,
    reviewers_of,
)
from reviews.models import Run, Stratum


class SharedFilters(NamedTuple):
    """The filters of a comparison."""

    #: The run whose judge is compared, with the filters that apply.
    scope: JudgeScope
    #: All values that were read. The choices are the values that apply.
    read: ReadScope
    #: Why a filter does not apply, as a sentence, by its name.
    reasons: dict[str, str]

    @property
    def problems(self) -> dict[str, str]:
        """A sentence for each value that does not apply, by filter name."""
        idle = {name: reason for name, reason in self.reasons.items() if name in self.read.chosen}
        return self.read.problems | idle


def read_shared_filters(first: Run | None, second: Run, values: Mapping[str, str]) -> SharedFilters:
    """Read the filters of a comparison of two runs, or (None) of the judges within the second one.

    `values` are those of `scope.SCOPE_FILTERS`.
    """
    runs = [run for run in (first, second) if run]
    strata = [*Stratum.objects.filter(run__in=runs)]
    known = choices_of(strata, reviewers_of(runs))
    read = read_scope(second, values, known, missing="No compared record has")
    sides: dict[Hashable, list[Stratum]] = {}
    for one in strata:
        pair = (one.judge_llm_model, one.judge_prompt_template_path)
        sides.setdefault(one.run_id if first else pair, []).append(one)
    judges = _shared(sides, "judge_llm_model")
    templates = _shared(sides, "judge_prompt_template_path")
    models = _shared(sides, "model_id")
    reasons = {}
    for name, shared in (("judge", judges), ("template", templates)) if len(sides) > 1 else ():
        value, title = read.chosen.get(name), SCOPE_FILTERS[name].lower()
        if not shared:
            reasons[name] = f"The {title} is compared, so there is no filter by {title}."
        elif value and value not in shared:
            reasons[name] = f"The filter by {title} does not apply: only one side has {value}."
    scope = replace(
        read.scope,
        judge=None if "judge" in reasons else read.scope.judge,
        template=None if "template" in reasons else read.scope.template,
    )
    choices = ScopeChoices(judges, templates, models, known.reviewers)
    return SharedFilters(scope, ReadScope(scope, choices, read.chosen, read.problems), reasons)


def _shared(sides: Mapping[Hashable, Iterable[Stratum]], column: str) -> tuple[str, ...]:
    """Return the values that two sides have, or all values of a single side."""
    found = Counter(value for strata in sides.values() for value in {getattr(one, column) for one in strata})
    return tuple(sorted(value for value, number in found.items() if number >= min(2, len(sides))))
