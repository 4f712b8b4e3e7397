"""How the judge of a run is measured: what share of its records is scored blind, drawn, seen by several.

A share falls on the same records always (`shares`). Changing one changes what is to be reviewed from then on,
and no decision.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import ceil
from typing import Any

from django.db import transaction
from django.db.models import Sum

from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.models import Run, StratumCount, User
from reviews.queue import progress
from reviews.records.conflicts import SettingsChanged
from reviews.review import blind_scoring, independent_reviews
from reviews.rubric.run_settings import InvalidSettings
from reviews.sampling import draws
from reviews.search import strata

FEWEST_REVIEWERS, MOST_REVIEWERS = 2, 9


@dataclass(frozen=True, slots=True)
class MeasurementSettings:
    """Shares are from 0 to 1; `overlap` is how many people review each record of `overlap_share`."""

    blind_share: float
    sample_share: float
    overlap_share: float
    overlap: int

    def as_json(self) -> dict[str, Any]:
        """The measures by the run's columns."""
        return asdict(self)

    @property
    def fingerprint(self) -> str:
        """Tells two measures apart."""
        return sha256(json.dumps(self.as_json()).encode()).hexdigest()


def current_settings(run: Run) -> MeasurementSettings:
    # A run that was just made may hold whole numbers, which are others as JSON.
    blind_share, sample_share, overlap_share = map(
        float, (run.blind_share, run.sample_share, run.overlap_share)
    )
    return MeasurementSettings(blind_share, sample_share, overlap_share, run.overlap)


@transaction.atomic
def configure(*, run_id: int, actor: User, measures: MeasurementSettings, seen: str) -> Run:
    """Give a run other measures. `seen` is the fingerprint of those that the actor changed.

    Another sample is drawn at once, or by a job. Of records that a larger blind share takes in, who has
    claimed one was shown it, and is asked as before. Raises `InvalidSettings`, and
    `SettingsChanged` if somebody else has changed them since.
    """
    check(actor, "configure_run")
    _check(measures)
    run = Run.objects.select_for_update(no_key=True).get(pk=run_id)
    before = current_settings(run)
    if before.fingerprint != seen:
        raise SettingsChanged
    if measures.blind_share > before.blind_share:
        blind_scoring.reveal_served(run.evaluations.all(), share=measures.blind_share)
    for name, value in measures.as_json().items():
        setattr(run, name, value)
    run.save(update_fields=[*measures.as_json()])
    events.record(
        "configure measures", actor=actor, run=run, before=before.as_json(), after=measures.as_json()
    )
    if measures.sample_share != before.sample_share:
        draws.request_draw(run, actor)
    return run


def _check(measures: MeasurementSettings) -> None:
    """Raise `InvalidSettings` with everything that is wrong."""
    names = ("blind_share", "sample_share", "overlap_share")
    wrong = {name: getattr(measures, name) for name in names if not 0 <= getattr(measures, name) <= 1}
    problems = {
        name: [f"Enter a share from 0 to 100%, not {share * 100:g}%."] for name, share in wrong.items()
    }
    if not FEWEST_REVIEWERS <= measures.overlap <= MOST_REVIEWERS:
        problems["overlap"] = [f"Enter {FEWEST_REVIEWERS} to {MOST_REVIEWERS} reviewers per record."]
    if problems:
        raise InvalidSettings(problems)


# What the shares come to

_NO_RECORDS = "This run has no records yet."


@dataclass(frozen=True, slots=True)
class ShareDescriptions:
    """What the measures of a run come to now, and what stands in their way: sentences for a lead."""

    blind: str
    sample: str
    overlap: str
    obstacles: tuple[str, ...]


def describe_shares(run: Run) -> ShareDescriptions:
    """What the measures in force come to. Costs the same at any size, but for what is drawn."""
    possibility = blind_scoring.possibility(run)
    obstacles = (possibility.sentence if run.blind_share else "", independent_reviews.problem(run))
    return ShareDescriptions(
        blind=_blind(run, possibility),
        sample=_sample(run),
        overlap=_part(run.overlap_share, progress.run_progress(run).to_review, "to review"),
        obstacles=tuple(filter(None, obstacles)),
    )


def _blind(run: Run, possibility: blind_scoring.Possibility) -> str:
    if not possibility.is_possible:
        return ""
    if possibility.answered is None:
        return strata.why_not_counted(run) or _NO_RECORDS
    if not possibility.answered:
        return "How many records that are is not known: their answers stand in the task context."
    flagged = StratumCount.objects.filter(stratum__run=run, stratum__is_flagged=True)
    answered = flagged.aggregate(sum=Sum("answered"))["sum"] or 0
    return _part(run.blind_share, answered, "that are flagged and have an answer of the model")


def _sample(run: Run) -> str:
    if unknown := strata.why_not_counted(run):
        return unknown
    cells = StratumCount.objects.filter(stratum__run=run)
    counted = list(cells.values_list("stratum__is_flagged", "evaluations"))
    if not counted:
        return _NO_RECORDS
    sizes = [size for is_flagged, size in counted if not is_flagged]
    wanted = sum(ceil(round(run.sample_share * size, 6)) for size in sizes)
    said = _part(run.sample_share, sum(sizes), "that nobody flagged", wanted)
    if wanted > ceil(round(run.sample_share * sum(sizes), 6)):
        said += " That is more, because each judge, prompt, model and verdict gives at least one."
    drawn = draws.count_sampled(run)
    if drawn.drawn:
        said += f" Drawn so far: {drawn.drawn:,}, of which {drawn.decided:,} are decided."
    return said


def _part(share: float, of_all: int, what: str, count: int | None = None) -> str:
    """A share as a sentence; without its count it is about as many."""
    about = f"about {share * of_all:,.0f}" if count is None else f"{count:,}"
    records = "record" if of_all == 1 else "records"
    return f"{percent(share)}% of {of_all:,} {records} {what}: {about}."


def percent(share: float) -> str:
    """A share in per cent, as people enter it."""
    return f"{round(share * 100, 4):g}"
