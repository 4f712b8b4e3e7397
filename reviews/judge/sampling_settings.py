"""Configure sampling and blind review of a run: the target, and the shares of records.

A share selects records deterministically (`queue.allocation`). A change affects the records to be reviewed
from then on, and no decision.
"""

from dataclasses import asdict, dataclass
from math import ceil

from django.db import transaction
from django.db.models import Sum

from cognireview.types.runs import SamplingSettings
from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.judge.loading import why_not_counted
from reviews.models import Run, StratumCount, User
from reviews.queue import progress
from reviews.records.conflicts import SettingsChanged
from reviews.review import blind_scoring, independent_reviews
from reviews.rubric.run_settings import InvalidSettings, current_settings, fingerprint
from reviews.sampling import draws, planned_shares

FEWEST_REVIEWERS, MOST_REVIEWERS = 2, 9


@transaction.atomic
def configure(*, run_id: int, actor: User | None, settings: SamplingSettings, seen: str) -> Run:
    """Change the settings of a run. `seen` is the fingerprint of the settings that the actor saw.

    `actor=None` is the program itself. A new sample is drawn at once or by a job. Raises `InvalidSettings`,
    and `SettingsChanged` if somebody else has changed the settings since.
    """
    if actor:
        check(actor, "configure_run")
    _check(settings)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    before = current_settings(SamplingSettings, run)
    if fingerprint(before) != seen:
        raise SettingsChanged
    if settings == before:
        return run
    if settings.blind_share > before.blind_share:
        blind_scoring.reveal_served(run.evaluations.all(), share=settings.blind_share)
    after = asdict(settings)
    for name, value in after.items():
        setattr(run, name, value)
    if settings.sample_share != before.sample_share:
        # The share replaces those of the plan.
        planned_shares.end_plan(run)
    run.save(update_fields=[*after, "review_plan"])
    events.record("configure sampling", actor=actor, run=run, before=asdict(before), after=after)
    if settings.sample_share != before.sample_share:
        draws.request_draw(run=run, actor=actor)
    return run


def _check(settings: SamplingSettings) -> None:
    """Raise `InvalidSettings` with every problem."""
    names = ("blind_share", "sample_share", "overlap_share", "spot_check_share")
    wrong = {name: getattr(settings, name) for name in names if not 0 <= getattr(settings, name) <= 1}
    problems = {
        name: [f"Enter a share from 0 to 100%, not {share * 100:g}%."] for name, share in wrong.items()
    }
    target = settings.accuracy_target
    if target is not None and not 0 < target < 1:
        problems["accuracy_target"] = [f"Enter a target between 0 and 100%, not {target * 100:g}%."]
    if not FEWEST_REVIEWERS <= settings.overlap <= MOST_REVIEWERS:
        problems["overlap"] = [f"Enter {FEWEST_REVIEWERS} to {MOST_REVIEWERS} reviewers per record."]
    if problems:
        raise InvalidSettings(problems)


_NO_RECORDS = "This run has no records yet."


@dataclass(frozen=True, slots=True)
class ShareDescriptions:
    """The effect of a run's settings, as sentences for a lead."""

    blind: str
    sample: str
    overlap: str
    #: What prevents blind review or overlap.
    obstacles: tuple[str, ...]


def describe_shares(run: Run) -> ShareDescriptions:
    """Describe the current settings of a run.

    The cost does not grow with the run, except for counting the sample.
    """
    possibility = blind_scoring.blind_feasibility(run)
    obstacles = (possibility.sentence if run.blind_share else "", independent_reviews.reviewer_shortage(run))
    return ShareDescriptions(
        blind=_blind(run, possibility),
        sample=_sample(run),
        overlap=_part(run.overlap_share, progress.run_progress(run).to_review, "to review"),
        obstacles=tuple(filter(None, obstacles)),
    )


def _blind(run: Run, possibility: blind_scoring.BlindFeasibility) -> str:
    if not possibility.is_possible:
        return ""
    if possibility.answered is None:
        return why_not_counted(run) or _NO_RECORDS
    if not possibility.answered:
        return "The number of records is unknown, because the answers are in the task context."
    flagged = StratumCount.objects.filter(stratum__run=run, stratum__is_flagged=True)
    answered = flagged.aggregate(sum=Sum("answered"))["sum"] or 0
    return _part(run.blind_share, answered, "that are flagged and have a model response")


def _sample(run: Run) -> str:
    if unknown := why_not_counted(run):
        return unknown
    cells = StratumCount.objects.filter(stratum__run=run)
    counted = list(cells.values_list("stratum__is_flagged", "evaluations"))
    if not counted:
        return _NO_RECORDS
    sizes = [size for is_flagged, size in counted if not is_flagged]
    wanted = sum(ceil(round(run.sample_share * size, 6)) for size in sizes)
    said = _part(run.sample_share, sum(sizes), "that are not flagged", wanted)
    if wanted > ceil(round(run.sample_share * sum(sizes), 6)):
        said += (
            " The number is higher because at least one is drawn for each judge, prompt, model and verdict."
        )
    drawn = draws.count_sampled(run)
    if drawn.drawn:
        said += f" Drawn so far: {drawn.drawn:,} ({drawn.decided:,} decided)."
    return said


def _part(share: float, of_all: int, what: str, count: int | None = None) -> str:
    """Describe a share as a sentence. Without a count, the number of records is approximate."""
    about = f"about {share * of_all:,.0f}" if count is None else f"{count:,}"
    records = "record" if of_all == 1 else "records"
    return f"{percentage(share)}% of {of_all:,} {records} {what}: {about}."


def percentage(share: float) -> str:
    """Format a share as people enter it, without the sign."""
    return f"{round(share * 100, 4):g}"
