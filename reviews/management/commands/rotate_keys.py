from typing import Any

from django.core.management.base import BaseCommand, CommandError

from reviews.maintenance import key_rotation


class Command(BaseCommand):
    """Fails if none of the keys decrypts a stored secret."""

    help = "Re-encrypt stored secrets with COGNIREVIEW_SECRET_KEY. Run it after changing that key."

    def handle(self, *_: Any, **__: Any) -> None:
        rotated = key_rotation.rotate_keys()
        self.stdout.write(
            f"Re-encrypted with the current secret key: {rotated.second_factors} authenticator apps and sets "
            f"of recovery codes, {rotated.webhooks} webhook secrets."
        )
        if rotated.unreadable:
            raise CommandError(
                f"No secret key decrypts {', '.join(rotated.unreadable)}. "
                f"Set {key_rotation.OLD_KEYS} to the key they were encrypted with and run this again, "
                "or have them set up again."
            )
        self.stdout.write(f"No stored secret needs an old key. You can remove {key_rotation.OLD_KEYS}.")
