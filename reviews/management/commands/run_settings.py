import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from cognireview.types.encoding import members
from cognireview.types.runs import QueueSettings, SamplingSettings
from reviews.days import read_day
from reviews.judge import sampling_settings
from reviews.judge.sampling_settings import FEWEST_REVIEWERS, MOST_REVIEWERS
from reviews.management.arguments import find_run, whole_number
from reviews.management.errors import command_errors
from reviews.models import Run
from reviews.queue.queue_settings import MAX_CLAIM_MINUTES, configure_queue
from reviews.records.conflicts import SettingsChanged
from reviews.rubric.run_settings import InvalidSettings, current_settings, fingerprint


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1.") from None


def _or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return the type of an argument that is read by `read`, or `none`."""

    def parse(text: str) -> Any:
        try:
            return None if text == "none" else read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


class _Option(NamedTuple):
    metavar: str
    parse: Callable[[str], Any]
    help: str


#: By the names of the settings.
OPTIONS = {
    "claim_minutes": _Option(
        "N",
        _or_none(whole_number(1, MAX_CLAIM_MINUTES)),
        "how long a claim lasts, in minutes; none for the setting of the site",
    ),
    "due_on": _Option(
        "DAY",
        _or_none(read_day),
        "due date, such as 2026-11-21, of records without one of their own; or none",
    ),
    "blind_share": _Option("SHARE", _share, "share of the records that are scored blind, from 0 to 1"),
    "sample_share": _Option("SHARE", _share, "share of the unflagged records that are sampled"),
    "overlap_share": _Option("SHARE", _share, "share of the records that several people review"),
    "overlap": _Option(
        "N", whole_number(FEWEST_REVIEWERS, MOST_REVIEWERS), "reviewers for each record of the overlap share"
    ),
    "accuracy_target": _Option(
        "SHARE", _or_none(_share), "blind accuracy that the judge should reach, or none"
    ),
    "spot_check_share": _Option("SHARE", _share, "share of the decisions that are drawn for spot checks"),
}


class Command(BaseCommand):
    """Prints the settings to standard output as options, one per line. The options given change them."""

    help = "Show or change the settings of a run: of its queue, of sampling and of blind review."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="name of the run")
        for name, option in OPTIONS.items():
            parser.add_argument(
                _spelled(name),
                type=option.parse,
                metavar=option.metavar,
                help=option.help,
                default=argparse.SUPPRESS,
            )

    def handle(self, *_: Any, run: str, **options: Any) -> None:
        found = find_run(run)
        try:
            with command_errors(SettingsChanged):
                found = _configure(found, {name: options[name] for name in OPTIONS if name in options})
        except InvalidSettings as invalid:
            lines = [f"{_spelled(name)}: {' '.join(problem)}" for name, problem in invalid.problems.items()]
            raise CommandError("\n".join(lines), returncode=2) from invalid
        settings = members(QueueSettings, found) | asdict(current_settings(SamplingSettings, found))
        for name, value in settings.items():
            shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else value
            self.stdout.write(f"{_spelled(name)} {shown}")


def _spelled(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@transaction.atomic
def _configure(run: Run, given: dict[str, Any]) -> Run:
    queue, sampling = current_settings(QueueSettings, run), current_settings(SamplingSettings, run)
    of_queue = {name: value for name, value in given.items() if hasattr(queue, name)}
    of_sampling = {name: value for name, value in given.items() if hasattr(sampling, name)}
    if of_queue:
        seen = fingerprint(members(QueueSettings, run))
        run = configure_queue(run_id=run.pk, actor=None, settings=replace(queue, **of_queue), seen=seen)
    if of_sampling:
        settings = replace(sampling, **of_sampling)
        run = sampling_settings.configure(
            run_id=run.pk, actor=None, settings=settings, seen=fingerprint(sampling)
        )
    return run
