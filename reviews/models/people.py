"""Accounts, preferences, one-time links and API tokens."""

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower, Now

from reviews.models import usernames
from reviews.models.loading import QuicklyLoaded


def check_username(username: str) -> None:
    """Raise `ValidationError` unless the text is a valid username."""
    if problem := usernames.problem(username):
        raise ValidationError(problem, code="invalid")


class User(QuicklyLoaded, AbstractUser):
    """A person. Their permissions come from their role, a Django group (see `permissions`).

    The username is the `human_reviewer_id` of exported records, so a trigger refuses to change it.
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
        error_messages={"unique": "This username is taken."},
    )
    theme = models.CharField(max_length=10, choices=Theme, db_default=Theme.SYSTEM)
    has_shortcuts = models.BooleanField(db_default=True, help_text="Whether single-key shortcuts are on.")
    shortcuts = models.JSONField(
        default=dict, blank=True, help_text="Command -> key, where it differs from the default."
    )
    wants_key_hint = models.BooleanField(
        db_default=True, help_text="Whether the first records show a hint of three keys."
    )
    notifications = models.JSONField(
        default=dict, blank=True, help_text="Event -> when to be notified, where it differs from the default."
    )

    class Meta:
        db_table = "person"
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("username"), name="person_username_in_any_case"),
        ]

    @property
    def name(self) -> str:
        return self.get_full_name() or self.username

    def as_json(self) -> str:
        return self.username

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Return whether the role of the person has a permission, such as `reviews.import_file`.

        Django asks each authentication backend. The permissions of a person who was loaded with them
        (`accounts.permissions.with_permissions`) are all known.
        """
        loaded = vars(self).get("loaded_permissions")
        if loaded is None or obj is not None or self.is_superuser or not self.is_active:
            return super().has_perm(perm, obj)
        app, _, codename = perm.partition(".")
        return app == "reviews" and codename in loaded


class OneTimeLink(models.Model):
    """A link with which a person joins or chooses a new password. An admin creates it.

    Its token is shown once and stored as a hash. `retention` deletes expired links.
    """

    class Purpose(models.TextChoices):
        JOIN = "join"
        PASSWORD = "password", "new password"

    purpose = models.CharField(max_length=10, choices=Purpose)
    token_hash = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=10, blank=True, help_text="Role of the person who joins.")
    name = models.CharField(
        max_length=150, blank=True, help_text="Name of the person who joins, if the admin gave one."
    )
    email = models.EmailField(
        blank=True, help_text="Email address of the person who joins, if the admin gave one."
    )
    person = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        related_name="one_time_links",
        help_text="The person whose password it sets.",
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    used_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", db_index=False)
    used_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "one_time_link"


class ApiToken(QuicklyLoaded):
    """A bearer token with which a program acts as a person, within its scopes.

    It is shown once and stored as a hash. Expired and revoked tokens are kept for the list and the audit log.
    """

    person = models.ForeignKey(User, models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=100, blank=True, help_text="What it is for.")
    prefix = models.CharField(max_length=12, help_text="Its first characters, which identify it for people.")
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.TextField(), help_text="Keys of `api_tokens.SCOPES`.")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, help_text="Rounded to the minute.")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "api_token"


class RepeatableRequest(models.Model):
    """A request with an Idempotency-Key that succeeded, and its response. `retention` deletes it after a day.

    See `http.repeatable_requests`.
    """

    person = models.ForeignKey(User, models.CASCADE, related_name="+", db_index=False)
    key_hash = models.CharField(max_length=64, help_text="Of the Idempotency-Key.")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the request.")
    response = models.TextField(help_text="Encrypted, because responses contain records and secrets.")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "repeatable_request"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "key_hash"], name="repeatable_request_key"),
        ]
        indexes: ClassVar = [models.Index(fields=["created_at"], name="repeatable_request_age")]
