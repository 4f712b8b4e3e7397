"""The tables: people, runs and their kept files, evaluations, reviews, and the audit events.

Models hold columns, constraints and what can be read off one row. Whoever changes rows is
`importer` (what files bring), `queue` (who holds what) or `workflow` (what people decide).
"""

from reviews.models.decisions import AuditEvent, Review
from reviews.models.evaluations import Evaluation, Skip
from reviews.models.people import User
from reviews.models.runs import RUN_NAME_LENGTH, Import, ImportLine, Run, SourceChunk

__all__ = [
    "RUN_NAME_LENGTH",
    "AuditEvent",
    "Evaluation",
    "Import",
    "ImportLine",
    "Review",
    "Run",
    "Skip",
    "SourceChunk",
    "User",
]
