"""Runs, their settings, views and plans. docs/api.md explains the members."""

import datetime as dt
from dataclasses import dataclass
from typing import Any, Literal

from cognireview.types.estimates import Estimate, Part

Aim = Literal["run", "parts"]


@dataclass(frozen=True)
class RunDetails:
    """A run with the number of its records in each state."""

    name: str
    created_at: dt.datetime
    total: int
    waiting: int
    claimed: int
    """Records that a reviewer has claimed now."""
    escalated: int
    done: int
    not_required: int
    sampled: int
    """Records of random samples, which are in the queue or done."""
    archived_at: dt.datetime | None
    """Null unless the run is archived."""
    is_restricted: bool
    """Whether only members and admins can see the run."""


@dataclass(frozen=True)
class Rubric:
    """The rubric of a run."""

    run: str
    is_declared: bool
    """False for a rubric that was inferred from the files."""
    rubric: dict[str, Any]
    toml: str
    """The same as a rubric file."""
    fingerprint: str
    """Send it as `seen` to replace no other rubric."""


@dataclass(frozen=True)
class Guideline:
    """The guideline for the reviewers of a run."""

    run: str
    version: int | None
    """Null if there was never a guideline."""
    text: str
    """Markdown with LaTeX; empty without a guideline."""


@dataclass(frozen=True)
class Members:
    """The people who may see a run, besides admins; null if everybody may."""

    run: str
    members: list[str] | None
    """Usernames; null if the run is open to everybody. Admins always have access."""


@dataclass(frozen=True)
class QueueSettings:
    """The settings of a run's queue."""

    claim_minutes: int | None
    """How long a claim lasts, up to a day; null for the setting of the site."""
    due_on: dt.date | None
    """For records without a due date of their own."""


@dataclass(frozen=True)
class SamplingSettings:
    """Sampling and blind review. Shares are from 0 to 1."""

    blind_share: float
    """Records whose judge scores are hidden until a reviewer's are in."""
    sample_share: float
    """Unflagged records drawn into the queue."""
    overlap_share: float
    """Records that several people review independently."""
    overlap: int
    """Reviewers for each of these records."""
    accuracy_target: float | None
    """The blind accuracy that the judge should reach."""
    spot_check_share: float
    """Decisions that are drawn for a spot check."""


@dataclass(frozen=True)
class RunSettings:
    """The settings of a run."""

    run: str
    queue: QueueSettings
    sampling: SamplingSettings
    fingerprint: str
    """Of the sampling settings."""


@dataclass(frozen=True)
class View:
    """A saved list of records."""

    id: int
    name: str
    owner: str
    is_shared: bool
    query: str
    """The query string of the list."""


@dataclass(frozen=True)
class PlannedPart:
    """The whole run, its flagged or its unflagged records."""

    name: Part
    records: int
    """Records with a verdict by the judge."""
    ratings: int
    """Blind ratings of them."""
    accuracy: Estimate
    half_width: float | None
    """Half the width of the interval now."""
    more: int
    """Blind reviews that the plan adds here."""
    more_alone: int
    """Blind reviews that this part alone needs."""
    best_half_width: float | None
    """The same once all records are reviewed blind."""
    is_reachable: bool


@dataclass(frozen=True)
class Cell:
    """The records of a judge, a prompt and a model with a verdict, flagged or not."""

    is_flagged: bool
    verdict: str
    judge: str
    template: str
    """The prompt."""
    model: str
    """Empty for records without a model."""


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

    target: float
    """Half the width of the 95% interval to reach: 0.05 for ±5 percentage points."""
    aim: Aim
    """run: the accuracy over all records. parts: on flagged and on unflagged records, each by itself."""
    filters: dict[str, str]
    """The judge, template (prompt) and model of its records; empty for the whole run."""
    is_finished: bool
    """Whether all its records are reviewed, so that you can plan again."""


@dataclass(frozen=True)
class ReviewPlan:
    """The blind reviews that a target needs."""

    run: str
    target: float
    """Half the width of the 95% interval to reach: 0.05 for ±5 percentage points."""
    aim: Aim
    """run: the accuracy over all records. parts: on flagged and on unflagged records, each by itself."""
    filters: dict[str, str]
    """The judge, template (prompt) and model of its records; empty for the whole run."""
    more: int
    """Blind reviews to add."""
    design_effect: float
    """Reviews that are needed for one independent review."""
    is_design_effect_assumed: bool
    """Whether there are too few reviews to compute it."""
    parts: list[PlannedPart]
    """All records, then flagged and unflagged ones."""
    cells: list[PlannedCell]
    sentences: list[str]
    served: ServedPlan | None
    """The plan that the queue serves."""
    why: str
    """Why there is no plan, or empty."""
