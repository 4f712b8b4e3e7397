"""Who has an account, and how they like the screen."""

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person. What they may do comes from their role, a Django group (see `permissions`)."""

    class Theme(models.TextChoices):
        SYSTEM = "system"
        LIGHT = "light"
        DARK = "dark"
        CONTRAST = "contrast", "high contrast"

    theme = models.CharField(max_length=10, choices=Theme, db_default=Theme.SYSTEM)
    has_shortcuts = models.BooleanField(db_default=True, help_text="Whether single keys are commands.")
    shortcuts = models.JSONField(
        default=dict, blank=True, help_text="Command -> key, where it is not the usual one."
    )

    class Meta:
        db_table = "person"

    @property
    def name(self) -> str:
        return self.get_full_name() or self.username
