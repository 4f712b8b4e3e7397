"""Who has an account."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A person. What they may do comes from their role, a Django group (see `permissions`)."""

    class Meta:
        db_table = "person"

    @property
    def name(self) -> str:
        return self.get_full_name() or self.username
