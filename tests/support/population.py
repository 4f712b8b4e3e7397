"""Strata and ratings for tests of estimates."""

from collections.abc import Mapping, Sequence
from itertools import count

from django.utils import timezone

from reviews.models import Evaluation, Rating, RatingCell, Reveal, Run, RunCount, Stratum, StratumCount, User
from reviews.records.clusters import CLUSTERS
from reviews.records.status import NOT_REQUIRED
from tests.support.factories import EvaluationFactory

# Judge's verdict (empty for none) -> number of records.
Verdicts = Mapping[str, int]
# Each record of these tests has a cluster of its own.
_next_cluster = count()


def stratum(run: Run, verdicts: Verdicts, *, is_flagged: bool = True, **names: str) -> Stratum:
    """Create the stratum of a judge, prompt and model, as an import counts it."""
    usual = {
        "judge_llm_model": "judge-1",
        "judge_prompt_template_path": "prompts/judge.txt",
        "model_id": "o1",
    }
    made = Stratum.objects.create(run=run, is_flagged=is_flagged, **(usual | names))
    for verdict, records in verdicts.items():
        clusters = [next(_next_cluster) % CLUSTERS for _ in range(records)]
        count_records(made, verdict, clusters)
        RunCount.objects.create(run=run, status=NOT_REQUIRED, evaluations=records)
    return made


def count_records(counted: Stratum, verdict: str, clusters: Sequence[int]) -> None:
    """Count records of a stratum, given by their clusters."""
    packed = b"".join((number - CLUSTERS // 2).to_bytes(2, signed=True) for number in clusters)
    StratumCount.objects.create(stratum=counted, verdict=verdict, evaluations=len(clusters), clusters=packed)


def rated(
    counted: Stratum,
    reviewer: User,
    judge: str | None,
    human: str | None,
    ratings: int,
    *,
    criterion: str | None = None,
    verdict: str | None = None,
    is_sampled: bool | None = None,
    is_blind: bool = True,
    probability: float = 1.0,
    final: str | None = None,
    clusters: Sequence[int] = (),
    records: Sequence[Evaluation] = (),
) -> list[Rating]:
    """Create ratings with the human's verdict (or JSON score) next to the judge's.

    Unflagged records count as sampled unless the test sets otherwise. `clusters` has the cluster of each
    rating; by default, they are those of records that `stratum` counted. `records` has the record of each,
    if it matters which ratings have one in common.
    """
    said = (judge or "" if criterion is None else "") if verdict is None else verdict
    cell, _ = RatingCell.objects.get_or_create(
        stratum=counted,
        criterion=criterion,
        verdict=said,
        is_blind=is_blind,
        is_sampled=not counted.is_flagged if is_sampled is None else is_sampled,
        judge=judge,
        human=human,
    )
    rated_records = records or [_rated_record(counted, reviewer)] * ratings
    numbers = clusters or _unrated_clusters(counted, said, criterion, ratings)
    return Rating.objects.bulk_create(
        Rating(
            cell=cell,
            evaluation=record,
            reviewer=reviewer,
            cluster=number,
            probability=probability,
            final=final,
            families=[] if criterion is None else None,
            at=timezone.now(),
        )
        for number, record in zip(numbers, rated_records, strict=True)
    )


def _rated_record(counted: Stratum, reviewer: User) -> Evaluation:
    """Return the record of all ratings of a loaded stratum, which the reviewer has revealed.

    It is of another run: the records of this run are the ones that `stratum` counted.
    """
    known: dict[User, Evaluation] = vars(counted).setdefault("_rated_records", {})
    if reviewer not in known:
        record = next(iter(known.values()), None)
        record = record or EvaluationFactory.create(needs_human_review=counted.is_flagged)
        Reveal.objects.create(run=counted.run, evaluation=record, reviewer=reviewer, how=Reveal.How.LOCKED_IN)
        known[reviewer] = record
    return known[reviewer]


def _unrated_clusters(counted: Stratum, verdict: str, criterion: str | None, ratings: int) -> list[int]:
    """Return clusters of records of the stratum that no rating of the criterion has."""
    packed = b"".join(
        bytes(one.clusters) for one in StratumCount.objects.filter(stratum=counted, verdict=verdict)
    )
    known = [
        int.from_bytes(packed[at : at + 2], signed=True) + CLUSTERS // 2 for at in range(0, len(packed), 2)
    ]
    used = Rating.objects.filter(cell__stratum=counted, cell__criterion=criterion)
    taken = set(used.values_list("cluster", flat=True))
    free = [number for number in known if number not in taken]
    return free[:ratings] + [next(_next_cluster) % CLUSTERS for _ in range(ratings - len(free))]
