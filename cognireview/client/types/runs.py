"""Runs, their settings, views and plans. docs/api.md explains the members."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from cognireview.client.types.estimates import Estimate, Part


@dataclass(frozen=True)
class RunDetails:
    """A run with the number of its records in each state."""

    name: str
    created_at: dt.datetime
    total: int
    waiting: int
    claimed: int
    escalated: int
    done: int
    not_required: int
    sampled: int
    archived_at: dt.datetime | None
    is_restricted: bool


@dataclass(frozen=True)
class Rubric:
    """The rubric of a run."""

    run: str
    is_declared: bool
    rubric: dict[str, Any]
    toml: str
    fingerprint: str


@dataclass(frozen=True)
class Guideline:
    """The guideline for the reviewers of a run."""

    run: str
    version: int | None
    text: str


@dataclass(frozen=True)
class Members:
    """The people who may see a run, besides admins; None if everybody may."""

    run: str
    members: list[str] | None


@dataclass(frozen=True)
class QueueSettings:
    """How records of a run are claimed."""

    #: How long a claim lasts; None for the setting of the site.
    claim_minutes: int | None
    #: For records without a due date of their own.
    due_on: dt.date | None


@dataclass(frozen=True)
class SamplingSettings:
    """Sampling and blind review. Shares are from 0 to 1."""

    #: The blind accuracy that the judge should reach.
    accuracy_target: float | None
    #: Records whose judge scores are hidden until a reviewer's are in.
    blind_share: float
    #: Unflagged records drawn into the queue.
    sample_share: float
    #: Records that several people review independently.
    overlap_share: float
    #: Reviewers for each of these records.
    overlap: int
    #: Decisions that are drawn for a spot check.
    spot_check_share: float


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run."""

    run: str
    queue: QueueSettings
    sampling: SamplingSettings
    #: Of the sampling settings.
    fingerprint: str


@dataclass(frozen=True)
class View:
    """A saved list of records."""

    id: int
    name: str
    owner: str
    is_shared: bool
    #: The query string of the list.
    query: str


@dataclass(frozen=True)
class PlannedPart:
    """The whole run, its flagged or its unflagged records."""

    name: Part
    #: Records with a verdict by the judge.
    records: int
    #: Blind ratings of them.
    ratings: int
    accuracy: Estimate
    #: Half the width of the interval now.
    half_width: float | None
    #: Blind reviews that the plan adds here.
    more: int
    #: Blind reviews that this part alone needs.
    more_alone: int
    #: The same once all records are reviewed blind.
    best_half_width: float | None
    is_reachable: bool


@dataclass(frozen=True)
class Cell:
    """The records of a judge, a prompt and a model with a verdict, flagged or not."""

    is_flagged: bool
    verdict: str
    judge: str
    #: The prompt.
    template: str
    #: Empty for records without a model.
    model: str


@dataclass(frozen=True)
class PlannedCell:
    """A cell with the blind reviews that the plan adds."""

    cell: Cell
    records: int
    ratings: int
    more: int


@dataclass(frozen=True)
class ServedPlan:
    """The plan that the queue serves."""

    #: Half the width of the 95% interval to reach: 0.05 for ±5 percentage points.
    target: float
    aim: str
    #: Whether all its records are reviewed, so that you can plan again.
    is_finished: bool


@dataclass(frozen=True)
class ReviewPlan:
    """The blind reviews that a target needs."""

    run: str
    #: Half the width of the 95% interval to reach: 0.05 for ±5 percentage points.
    target: float
    aim: str
    #: Blind reviews to add.
    more: int
    #: Reviews that are needed for one independent review.
    design_effect: float
    #: Whether there are too few reviews to compute it.
    is_design_effect_assumed: bool
    #: The whole run, then flagged and unflagged records.
    parts: list[PlannedPart]
    cells: list[PlannedCell]
    sentences: list[str]
    #: The plan that the queue serves.
    served: ServedPlan | None
    #: Why there is no plan, or empty.
    why: str
