"""Roles and permissions of people, and what only leads see, for templates."""

from django import template

from reviews.accounts import permissions
from reviews.dashboard.known_answers import visible_checks
from reviews.models import Escalation, Evaluation, KnownAnswerCheck, User
from reviews.review.escalations import REASONS

register = template.Library()


@register.simple_tag
def role_name(user: User) -> str:
    """Return the highest role of the user, or an empty string (one query)."""
    return permissions.role_of(user)


@register.filter
def role(user: User) -> str:
    """Return the highest role of a user with prefetched groups (no query)."""
    return permissions.loaded_role(user)


@register.simple_tag
def refusal(user: User, action: str, subject: Evaluation | Escalation | None = None) -> str:
    """Return the sentence that denies an action, for `includes/refused.html`; empty if it is allowed."""
    return permissions.denial_reason(user, action, subject)


@register.simple_tag
def known_answer_check(lead: User, evaluation: Evaluation) -> KnownAnswerCheck | None:
    """Return the newest check whose figures the lead may see and that has the record as a known answer."""
    return visible_checks(lead).filter(answers__evaluation=evaluation).first()


@register.filter
def escalation_reason(raised: Escalation) -> str:
    """Return why a reviewer cannot judge a record, for the middle of a sentence; empty for a question."""
    reason = "" if raised.kind == Escalation.Kind.QUESTION else REASONS.get(raised.reason, "")
    return reason[:1].lower() + reason[1:]
