"""How long a claim lasts: a setting of each run, or else of the site."""

import datetime as dt

from django.conf import settings

from reviews.models import Run

# `claim_length` in SQL. Takes the table `run` and the parameter `claim_length`, the setting of the site.
CLAIM_LENGTH_SQL = "coalesce(make_interval(mins => run.claim_minutes), %(claim_length)s)"
_MAX_RENEWAL_INTERVAL = dt.timedelta(minutes=1)


def claim_length(run: Run) -> dt.timedelta:
    return dt.timedelta(minutes=run.claim_minutes) if run.claim_minutes else settings.CLAIM_LENGTH


def renewal_interval(run: Run) -> dt.timedelta:
    """Return how often an open page renews its claim. Several renewals may fail before the claim expires."""
    return min(_MAX_RENEWAL_INTERVAL, claim_length(run) / 5)
