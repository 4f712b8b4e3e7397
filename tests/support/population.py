"""Populations for tests of estimates: how many records a run has, and how many decisions say what of them."""

from collections.abc import Mapping

from reviews.models import JudgedCount, Run, RunCount, Stratum, StratumCount, User
from reviews.records.status import NOT_REQUIRED

# The judge's verdict (empty for none) -> how many records have it.
Verdicts = Mapping[str, int]


def stratum(run: Run, verdicts: Verdicts, *, is_flagged: bool = True, **names: str) -> Stratum:
    """Records of one judge, prompt and model, as an import counts them."""
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
    """So many decisions put the human's verdict (or JSON score) in the place of the judge's.

    Records that were not flagged are sampled ones, unless the test says otherwise.
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
