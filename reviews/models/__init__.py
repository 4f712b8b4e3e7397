"""The tables: columns, constraints, and properties of a single row.

Models never write. `imports` writes what files bring, `queue` claims, and `review` decisions.
"""

from reviews.models.audit import AuditEvent, AuditSeal, ChainCheck
from reviews.models.dashboard import (
    CriterionDay,
    KnownAnswer,
    KnownAnswerCheck,
    Overturn,
    RecordDay,
    ReviewerDay,
    SpotCheck,
)
from reviews.models.decisions import Draft, Escalation, FileConflict, Review, Withdrawal
from reviews.models.evaluations import Evaluation, Skip
from reviews.models.exports import Export, ExportPart, ExportProgress
from reviews.models.gold import GoldRating, GoldSet
from reviews.models.import_lines import ImportLine, ImportProgress
from reviews.models.judge import (
    BlindScores,
    CauseMention,
    FacetCount,
    IndependentReview,
    Rating,
    RatingCell,
    ReasonCount,
    Reveal,
    Stratum,
    StratumCount,
)
from reviews.models.lists import BulkChange, BulkChangeItem, SavedView
from reviews.models.notifications import Notification, NotifiedEvents
from reviews.models.operations import Backup, JobError
from reviews.models.people import ApiToken, OneTimeLink, RepeatableRequest, User
from reviews.models.runs import RUN_NAME_LENGTH, Guideline, Import, Run, RunCount
from reviews.models.search import EvaluationFacets, EvaluationWords, RunFacet, UnindexedImport
from reviews.models.source_files import ImportSums, SourceChunk, Upload, UploadPart
from reviews.models.task_context import ContextImport, TaskAnswer, TaskContext
from reviews.models.webhooks import (
    QueueFilled,
    Webhook,
    WebhookAttempt,
    WebhookDelivery,
    WebhookSecret,
)
