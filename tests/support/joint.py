"""Blind ratings of records that several people scored, for tests of figures about people."""

import json
from collections.abc import Sequence

from django.utils import timezone

from reviews.models import Evaluation, Rating, RatingCell, Run, Stratum, User
from reviews.search import strata
from tests.support.work import evaluations


def rate_together(
    run: Run,
    people: Sequence[User],
    scores: Sequence[tuple[str | None, Sequence[str | None]]],
    *,
    criterion: str | None = None,
    cluster_of: int = 1,
    judge: str = "judge-1",
    is_flagged: bool = True,
    is_sampled: bool = False,
    probability: float = 0.5,
) -> list[Evaluation]:
    """Add a record for each item: the judge's score and those of the people, in their order; None for none.

    Scores of a criterion are texts. Each task has `cluster_of` records.
    """
    tasks = [f"{judge} {place // cluster_of}" for place in range(len(scores))]
    records = evaluations(run, tasks=tasks, judge_llm_model=judge, needs_human_review=is_flagged)
    stratum = strata.get_stratum(records[0])
    kinds = {(machine, human) for machine, given in scores for human in given}
    cells = {kind: _cell(stratum, criterion, is_sampled, *kind) for kind in kinds}
    ratings = []
    for place, (record, (machine, given)) in enumerate(zip(records, scores, strict=True)):
        for person, human in zip(people, given, strict=False):
            ratings.append(
                Rating(
                    cell=cells[machine, human],
                    evaluation=record,
                    reviewer=person,
                    blind_scores_id=1,
                    cluster=place // cluster_of,
                    probability=probability,
                    raters=len(given),
                    at=timezone.now(),
                )
            )
    Rating.objects.bulk_create(ratings)
    return records


def _cell(
    stratum: Stratum, criterion: str | None, is_sampled: bool, judge: str | None, human: str | None
) -> RatingCell:
    scores = [score if criterion is None or score is None else json.dumps(score) for score in (judge, human)]
    cell, _ = RatingCell.objects.get_or_create(
        stratum=stratum,
        criterion=criterion,
        verdict="Pass",
        is_blind=True,
        is_sampled=is_sampled,
        judge=scores[0],
        human=scores[1],
    )
    return cell
