"""The judges, prompts and criteria of runs, and what differs between two runs."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from cognireview.types.estimates import Change
from reviews.judge.scope import JudgeScope
from reviews.models import Run, Stratum
from reviews.records.rubric import Rubric
from reviews.rubric.run_rubric import run_rubric


class JudgeAndPrompt(NamedTuple):
    """A judge model and its prompt template."""

    judge: str
    template: str


class RunJudges(NamedTuple):
    """The judges of a run with their prompts, and its rubric."""

    #: In alphabetical order. Empty for a run without records.
    pairs: tuple[JudgeAndPrompt, ...]
    rubric: Rubric

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of its judges, in alphabetical order."""
        return tuple(sorted({pair.judge for pair in self.pairs}))

    @property
    def templates(self) -> tuple[str, ...]:
        """The paths of its prompts, in alphabetical order."""
        return tuple(sorted({pair.template for pair in self.pairs}))


def load_run_judges(runs: Collection[Run]) -> dict[int, RunJudges]:
    """Return the judges of each run, by its key. Takes one query."""
    pairs: dict[int, list[JudgeAndPrompt]] = {}
    rows = Stratum.objects.filter(run__in=[run.pk for run in runs]).values_list(
        "run", "judge_llm_model", "judge_prompt_template_path"
    )
    for key, judge, template in rows.distinct().order_by("judge_llm_model", "judge_prompt_template_path"):
        pairs.setdefault(key, []).append(JudgeAndPrompt(judge, template))
    return {run.pk: RunJudges(tuple(pairs.get(run.pk, ())), run_rubric(run)) for run in runs}


def load_scope_judges(scope: JudgeScope) -> RunJudges:
    """Return the judges with records of a scope, and the rubric of its run. Takes one query."""
    columns = ("judge_llm_model", "judge_prompt_template_path")
    rows = (scope.strata() if scope.task is None else scope.records()).order_by(*columns)
    pairs = (JudgeAndPrompt(*names) for names in rows.values_list(*columns).distinct())
    return RunJudges(tuple(pairs), run_rubric(scope.run))


def changes_between(before: RunJudges, after: RunJudges) -> Iterator[Change]:
    """Yield what differs: the judge, the prompt, the rubric."""
    for kind, first, second in (
        ("Judge", before.judges, after.judges),
        ("Prompt", before.templates, after.templates),
        ("Rubric", before.rubric.names, after.rubric.names),
    ):
        if first != second:
            yield Change(kind, ", ".join(first) or "none", ", ".join(second) or "none")
    if before.rubric.names == after.rubric.names and _scoring(before.rubric) != _scoring(after.rubric):
        names = ", ".join(after.rubric.names) or "none"
        yield Change("Rubric", names, f"{names}, with other scales or another verdict rule")


def _scoring(rubric: Rubric) -> tuple[object, ...]:
    return rubric.rule, rubric.scale, rubric.criteria
