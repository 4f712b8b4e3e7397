"""Options for the filters of the judge's figures."""

import argparse
from collections.abc import Iterable

from django.core.management.base import CommandError

from reviews.judge.comparison.shared_filters import SharedFilters
from reviews.judge.scope import DATES, SCOPE_FILTERS, JudgeScope, ReadScope


def add_filters(parser: argparse.ArgumentParser, names: Iterable[str], what: str) -> None:
    """Add an option for each filter. `what` begins its help: "count only ratings"."""
    for name in names:
        title = SCOPE_FILTERS[name].lower()
        day = f"{title} this day (UTC), such as 2026-01-31"
        help_text = f"{what} {day if name in DATES else f'of this {title}'}"
        parser.add_argument(f"--{name}", metavar=name.upper(), default="", help=help_text)


def require_valid(read: ReadScope | SharedFilters) -> JudgeScope:
    """Return the scope that filters select. Raises `CommandError` for values that would be ignored."""
    if read.problems:
        raise CommandError(" ".join(read.problems.values()), returncode=2)
    return read.scope
