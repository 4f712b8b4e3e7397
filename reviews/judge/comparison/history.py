"""The judge's accuracy over runs, in the order of their creation.

Runs are related to a run if their judge, its prompt or their criteria are the same. Versions of a judge or of
a prompt count as the same: see `judge_family` and `prompt_family`.
"""

import datetime as dt
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, cast, get_args

from django.db.models import QuerySet

from cognireview.types.estimates import Change, Estimate
from cognireview.types.judge import Relation
from reviews.database.replica import read_from_replica
from reviews.judge.accuracy import estimate_accuracy
from reviews.judge.comparison.judges import RunJudges, changes_between, load_run_judges
from reviews.judge.scope import JudgeScope
from reviews.models import Run

#: What another run has in common with the run.
RELATIONS: dict[Relation, str] = {
    "judge": "the same judge (any version)",
    "prompt": "the same prompt (any version)",
    "criteria": "the same criteria",
}
# Without a choice, runs on the line have at least this many relations.
_USUAL_RELATIONS = 2
#: Runs beyond this number are left out, the oldest first.
MOST_POINTS = 30
_NO_RATINGS = "No ratings with these filters."
DEFINITION = (
    "The accuracy over the whole run, from blind ratings, of all its judges and prompts together. Runs may "
    "have other tasks and models, so a difference between two points is not that of two judges on the same "
    "responses: Compare shows that."
)
# Dates and words at the end of a model's name.
_VERSION = re.compile(
    r"([-_@:. ](20\d{2}[-_.]?[01]\d[-_.]?[0-3]\d|[01]\d[-_]?[0-3]\d|latest|preview|snapshot))+$"
)
# A version at the end of a file's name, and its type.
_PROMPT_VERSION = re.compile(r"([-_. ](v?\d+([._-]\d+)*|latest|new|old|draft|final))?(\.[a-z]\w{1,4})?$")


class HistoryPoint(NamedTuple):
    """A run."""

    run: Run
    #: Its judges, and its prompts.
    judges: tuple[str, ...]
    templates: tuple[str, ...]
    #: Why the run is on the line. Empty for the run that others are related to.
    related_by: tuple[Relation, ...]
    #: What differs from the previous run on the line.
    changes: tuple[Change, ...]
    accuracy: Estimate

    @property
    def at(self) -> dt.datetime:
        """When the run was created."""
        return self.run.created_at


class RelatedRun(NamedTuple):
    """A run that can be on the line."""

    run: Run
    #: Empty for the run that others are related to.
    related_by: tuple[Relation, ...]
    is_chosen: bool


@dataclass(frozen=True)
class History:
    """The judge's accuracy over runs."""

    run: Run
    #: The oldest first.
    points: tuple[HistoryPoint, ...]
    #: All runs that can be on the line: the run, then the others, the newest first.
    related: tuple[RelatedRun, ...]
    #: Chosen runs that are left out: see `MOST_POINTS`.
    omitted: int = 0


@read_from_replica
def accuracy_over_runs(
    scope: JudgeScope,
    visible: QuerySet[Run],
    *,
    by: Relation | None = None,
    chosen: Collection[int] | None = None,
) -> History:
    """Estimate the accuracy of the judge in the run of a scope and in related runs, each with its filters.

    `visible` are the runs that the reader may see. `by` keeps the runs that are related in this way; None
    keeps those related in two ways or more. `chosen`, keys of related runs, replaces that choice. The run
    itself is always on the line.
    """
    run = scope.run
    runs = [run, *visible.exclude(pk=run.pk).order_by("-created_at", "-pk")]
    judged = load_run_judges(runs)
    related = [*_related(run, runs, judged, by, chosen)]
    on_line = sorted(
        (one for one in related if one.is_chosen and judged[one.run.pk].pairs),
        key=lambda one: (one.run.created_at, one.run.pk),
    )
    kept = on_line[-MOST_POINTS:]
    changes = {
        after.run.pk: tuple(changes_between(judged[before.run.pk], judged[after.run.pk]))
        for before, after in pairwise(on_line)
    }
    points = [
        HistoryPoint(
            one.run,
            judged[one.run.pk].judges,
            judged[one.run.pk].templates,
            one.related_by,
            changes.get(one.run.pk, ()),
            _estimate(replace(scope, run=one.run)),
        )
        for one in kept
    ]
    return History(run, tuple(points), tuple(related), len(on_line) - len(kept))


def _estimate(scope: JudgeScope) -> Estimate:
    """Estimate the accuracy of a run, unless no rating of it has the values of the filters."""
    found = estimate_accuracy(scope)
    if found.n or scope == JudgeScope(scope.run):
        return found
    return replace(found, why=_NO_RATINGS)


def _related(
    run: Run,
    runs: Iterable[Run],
    judged: dict[int, RunJudges],
    by: Relation | None,
    chosen: Collection[int] | None,
) -> Iterator[RelatedRun]:
    for other in runs:
        if other == run:
            yield RelatedRun(run, (), is_chosen=True)
        elif found := tuple(_relations(judged[run.pk], judged[other.pk])):
            is_like = len(found) >= _USUAL_RELATIONS if by is None else by in found
            is_chosen = is_like if chosen is None else other.pk in chosen
            yield RelatedRun(other, found, is_chosen)


def _relations(one: RunJudges, other: RunJudges) -> Iterator[Relation]:
    for relation, place, family in (("judge", 0, judge_family), ("prompt", 1, prompt_family)):
        ours, theirs = ({family(pair[place]) for pair in each.pairs} for each in (one, other))
        if ours & theirs:
            yield cast("Relation", relation)
    if other.pairs and one.rubric.names and {*one.rubric.names} == {*other.rubric.names}:
        yield "criteria"


def judge_family(name: str) -> str:
    """Return the name of a judge without its provider, date and “latest” or “preview”."""
    model = name.rpartition("/")[2].lower()
    return _VERSION.sub("", model) or model


def prompt_family(path: str) -> str:
    """Return the path of a prompt without the version at the end of its name, and without its file type."""
    folder, slash, name = path.lower().rpartition("/")
    return folder + slash + (_PROMPT_VERSION.sub("", name) or name)


def read_relation(text: str) -> Relation | None:
    """Return the relation of that name, or None."""
    return next((relation for relation in get_args(Relation) if relation == text), None)
