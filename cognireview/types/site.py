"""The types of responses about the site: its jobs and the state of the system."""

import datetime as dt
from dataclasses import dataclass
from typing import Literal

Kind = Literal["import", "export", "context", "delivery", "background"]
State = Literal["failed", "running", "queued", "done", "cancelled"]


@dataclass(frozen=True)
class Job:
    """A job."""

    kind: Kind
    id: int
    state: State
    title: str
    run: str | None
    owner: str | None
    created_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    error: str
    can_retry: bool
    can_cancel: bool


@dataclass(frozen=True)
class Worker:
    """A job worker."""

    id: int
    last_heartbeat: dt.datetime
    jobs: int
    is_alive: bool


@dataclass(frozen=True)
class Check:
    """A check of the site."""

    name: str
    is_ok: bool
    result: str


@dataclass(frozen=True)
class Backup:
    """A backup that was written."""

    at: dt.datetime
    target: str
    """Its path, or - for standard output."""
    size: int


@dataclass(frozen=True)
class System:
    """The state of the site. Sizes are in bytes."""

    version: str
    is_ok: bool
    """Whether all checks are in order."""
    database: str
    database_size: int
    parts: dict[str, int]
    """The largest parts of the database."""
    disk_free: int
    """Of the disk of the data folder."""
    disk_total: int
    workers: list[Worker]
    jobs: dict[str, int]
    """The number of queued, running and failed jobs."""
    checks: list[Check]
    backup: Backup | None
    """The last one, if any."""


@dataclass(frozen=True)
class Webhook:
    """A webhook without its secret."""

    id: int
    url: str
    run: str | None
    """Null for every run."""
    events: list[str]
    created_by: str
    created_at: dt.datetime


@dataclass(frozen=True)
class NewWebhook(Webhook):
    """A new webhook."""

    secret: str
    """Signs the messages. It is shown once."""


@dataclass(frozen=True)
class WebhookSecret:
    """A secret of a webhook, without its text."""

    id: int
    created_by: str
    created_at: dt.datetime


@dataclass(frozen=True)
class NewWebhookSecret(WebhookSecret):
    """A new secret. No other response shows it."""

    secret: str
    """Signs the messages, too. It is shown once."""


@dataclass(frozen=True)
class Attempt:
    """An attempt to deliver a message."""

    number: int
    at: dt.datetime
    status: int | None
    """Of the response; null without one."""
    reason: str


@dataclass(frozen=True)
class Delivery:
    """A message to a webhook."""

    id: int
    message_id: str
    event: str
    run: str | None
    state: Literal["waiting", "delivered", "given up"]
    created_at: dt.datetime
    next_attempt_at: dt.datetime | None
    attempts: list[Attempt]
    """The oldest first."""
