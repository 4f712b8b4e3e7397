"""Print the key that checks the signatures of this site's receipts."""

from typing import Any

from django.core.management.base import BaseCommand

from reviews.exports import signing


class Command(BaseCommand):
    help = (
        "Print the public key that checks the signatures of this site's receipts, for verify_export "
        "--public-key. It changes with COGNIREVIEW_SECRET_KEY: keep the old one for old receipts."
    )
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(signing.public_key())
