"""The one app of the project."""

from typing import Any

from django.apps import AppConfig
from django.core.checks import Tags, register
from django.db.models.signals import post_migrate

from cognireview.postgres import web_role


class ReviewsConfig(AppConfig):
    """Brings the roles up to date after every migrate."""

    name = "reviews"

    def ready(self) -> None:
        from reviews.accounts.permissions import sync_roles  # noqa: PLC0415 (needs the app registry)

        register(_check_secrets, Tags.security, deploy=True)
        post_migrate.connect(sync_roles, sender=self)
        post_migrate.connect(web_role.grant_privileges, sender=self)


def _check_secrets(**options: Any) -> Any:
    from reviews.maintenance import key_rotation  # noqa: PLC0415 only `check --deploy` needs it

    return key_rotation.check_secrets(**options)
