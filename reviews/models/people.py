"""Who has an account, how they like the screen, and the links and tokens by which people get in."""

from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower, Now

from reviews.models import usernames


def check_username(username: str) -> None:
    """Raise `ValidationError` unless a text may be a username."""
    if problem := usernames.problem(username):
        raise ValidationError(problem, code="invalid")


class User(AbstractUser):
    """A person. What they may do comes from their role, a Django group (see `permissions`).

    The username stands in the files as `human_reviewer_id`: a trigger refuses to change it.
    """

    class Theme(models.TextChoices):
        SYSTEM = "system"
        LIGHT = "light"
        DARK = "dark"
        CONTRAST = "contrast", "high contrast"

    username = models.CharField(
        max_length=usernames.LONGEST,
        unique=True,
        validators=[check_username],
        error_messages={"unique": "There is already somebody with that name."},
    )
    theme = models.CharField(max_length=10, choices=Theme, db_default=Theme.SYSTEM)
    has_shortcuts = models.BooleanField(db_default=True, help_text="Whether single keys are commands.")
    shortcuts = models.JSONField(
        default=dict, blank=True, help_text="Command -> key, where it is not the usual one."
    )

    class Meta:
        db_table = "person"
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("username"), name="person_username_in_any_case"),
        ]

    @property
    def name(self) -> str:
        return self.get_full_name() or self.username


class OneTimeLink(models.Model):
    """A link that an admin hands to somebody: to join, or to choose a new password.

    Its token is shown once and kept as a hash. Links that are over are removed in the end (`retention`).
    """

    class Purpose(models.TextChoices):
        JOIN = "join"
        PASSWORD = "password", "new password"

    purpose = models.CharField(max_length=10, choices=Purpose)
    token_hash = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=10, blank=True, help_text="Of whoever joins.")
    email = models.EmailField(blank=True, help_text="Of whoever joins, if the admin gave one.")
    person = models.ForeignKey(
        User, models.PROTECT, null=True, related_name="one_time_links", help_text="Whose password it is."
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    used_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    used_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "one_time_link"

    def __str__(self) -> str:
        return f"{self.purpose} link {self.pk}"


class ApiToken(models.Model):
    """What a program shows to act as a person over the API, within its scopes.

    It is shown once and kept as a hash. One that is over stays, for the list and the audit.
    """

    person = models.ForeignKey(User, models.PROTECT, related_name="api_tokens")
    prefix = models.CharField(max_length=12, help_text="How it begins: what people tell it by.")
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.TextField(), help_text="Words of `tokens.SCOPES`.")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, help_text="To the minute.")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "api_token"

    def __str__(self) -> str:
        return self.prefix
