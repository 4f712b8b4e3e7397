"""Strata and decisions for tests of estimates."""

from collections.abc import Mapping

from reviews.models import JudgedCount, Run, RunCount, Stratum, StratumCount, User
from reviews.records.status import NOT_REQUIRED

# Judge's verdict (empty for none) -> number of records.
Verdicts = Mapping[str, int]


def stratum(run: Run, verdicts: Verdicts, *, is_flagged: bool = True, **names: str) -> Stratum:
    """Create the stratum of a judge, prompt and model, as an import counts it."""
    usual = {
        "judge_llm_model": "judge-1",
        "judge_prompt_template_path": "prompts/judge.txt",
        "model_id": "o1",
    }
    made = Stratum.objects.create(run=run, is_flagged=is_flagged, **(usual | names))
    for verdict, records in verdicts.items():
        StratumCount.objects.create(stratum=made, verdict=verdict, evaluations=records)
        RunCount.objects.create(run=run, status=NOT_REQUIRED, evaluations=records)
    return made


def decided(
    of: Stratum,
    reviewer: User,
    judge: str | None,
    human: str | None,
    reviews: int,
    *,
    criterion: str | None = None,
    is_sampled: bool | None = None,
    is_blind: bool = False,
) -> None:
    """Count reviews in which the human's verdict (or JSON score) replaces the judge's.

    Unflagged records count as sampled unless the test sets otherwise.
    """
    JudgedCount.objects.create(
        stratum=of,
        reviewer=reviewer,
        criterion=criterion,
        is_blind=is_blind,
        is_sampled=not of.is_flagged if is_sampled is None else is_sampled,
        judge=judge,
        human=human,
        final=human,
        reviews=reviews,
    )
