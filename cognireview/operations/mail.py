"""The mail server of the site, as the settings describe it."""

from django.conf import settings


def is_set_up() -> bool:
    """Return whether the site has a mail server. Without one, Django would drop every mail silently."""
    return bool(settings.SENDS_MAIL)
