from typing import Any

from django.core.management.base import BaseCommand

from reviews.exports import signing


class Command(BaseCommand):
    help = (
        "Print the public key that verifies this site's receipts. Pass it to verify_export --public-key. It "
        "changes with COGNIREVIEW_SECRET_KEY, so keep the old one for old receipts."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(signing.public_key())
