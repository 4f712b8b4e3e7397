"""`manage.py rotate_keys`: see `key_rotation`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviews.maintenance import key_rotation


class Command(BaseCommand):
    """Fails if there is something that none of the keys opens."""

    help = "Re-encrypt stored secrets with COGNIREVIEW_SECRET_KEY, after a change of that key."

    def handle(self, *_: Any, **__: Any) -> None:
        rotated = key_rotation.rotate_keys()
        self.stdout.write(
            f"Re-encrypted with the present secret key: {rotated.second_factors} authenticator apps and sets "
            f"of recovery codes, {rotated.webhooks} secrets of webhooks."
        )
        if rotated.unreadable:
            raise CommandError(
                f"No secret key opens {', '.join(rotated.unreadable)}. "
                f"Set {key_rotation.OLD_KEYS} to the key they were encrypted with and run this again, "
                "or have them set up again."
            )
        self.stdout.write(f"Nothing stored needs an old key: {key_rotation.OLD_KEYS} can go.")
