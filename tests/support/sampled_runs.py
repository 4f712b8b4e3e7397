"""Runs with a random sample of unflagged records."""

from typing import Any

from reviews.models import Evaluation, Rating, Run
from reviews.sampling import draws
from reviews.sampling.draws import DrawResult
from tests.support.lines import file_of, import_data, line

CORRECTED = {"Clarity": {"score": "No", "justification": "It skips a step."}}


def unflagged(name: str, **changes: Any) -> bytes:
    """Return an unflagged line."""
    calm = {"needs_human_review": False, "review_reasons": [], "human_review_status": "Not Required"}
    return line(name, **(calm | changes))


def run_with_sample(share: float, count: int = 10, **changes: Any) -> tuple[Run, bytes]:
    """Import `count` unflagged lines and two flagged ones. Return the run and its file."""
    data = file_of(line("f1"), *(unflagged(f"u{number}", **changes) for number in range(count)), line("f2"))
    run = Run.objects.create(name="evaluations", sample_share=share)
    import_data(data)
    return run, data


def set_share(run: Run, share: float) -> DrawResult:
    run.sample_share = share
    run.save(update_fields=["sample_share"])
    return draws.draw_sample(run_id=run.pk)


def drawn(run: Run) -> set[str]:
    return set(run.evaluations.filter(is_sampled=True).values_list("evaluation_id", flat=True))


def one_drawn() -> Evaluation:
    return Evaluation.objects.select_related("run").filter(is_sampled=True).order_by("pk")[0]


def reload(evaluation: Evaluation) -> Evaluation:
    return Evaluation.objects.select_related("run").get(pk=evaluation.pk)


def count_sampled_verdicts(run: Run) -> int:
    """Count the verdicts of sampled records in the figures about the judge."""
    verdicts = Rating.objects.filter(cell__stratum__run=run, cell__criterion=None, cell__is_sampled=True)
    return verdicts.count()
