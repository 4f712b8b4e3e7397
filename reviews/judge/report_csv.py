"""Flatten the report on a judge to one CSV table, with a row for each estimate and each count."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reviews.exports.formats import csv_row

_HEADINGS = ("part", "subject", "figure", "value", "low", "high", "n", "why")
# The members of an estimate as JSON.
_ESTIMATE = ("value", "low", "high", "n", "why")
# Texts of records and sentences about figures, which are no figures.
_LEFT_OUT = {"version", "at", "scope", "examples", "bases", "parts", "requirements"}


@dataclass(frozen=True)
class _Place:
    """Where a value is in the report."""

    part: str
    #: The subject of the value: (name, value), from the outside to the inside.
    subject: tuple[tuple[str, str], ...] = ()
    #: The names on the way to the value.
    figure: tuple[str, ...] = ()

    def row(self, *values: Any) -> bytes:
        about = "; ".join(f"{name}: {value}" for name, value in self.subject)
        return csv_row([self.part, about, ".".join(self.figure), *values])


def report_csv(report: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the rows of a report, which is given as JSON (`JudgeReport.as_json`).

    A count has a value only. An undefined estimate has the reason instead of a value. A confusion matrix has
    a row for each pair of scores.
    """
    yield csv_row(_HEADINGS)
    for part, found in report.items():
        if part not in _LEFT_OUT:
            yield from _rows(found, _Place(part))


def _rows(found: Any, place: _Place) -> Iterator[bytes]:
    if isinstance(found, Mapping):
        yield from _object_rows(found, place)
    elif isinstance(found, Sequence) and not isinstance(found, str):
        for one in found:
            if isinstance(one, Mapping):
                yield from _object_rows(one, place)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield place.row(found, *[None] * 4)


def _object_rows(found: Mapping[str, Any], place: _Place) -> Iterator[bytes]:
    if {*_ESTIMATE} <= {*found}:
        yield place.row(*(found[name] for name in _ESTIMATE))
        found = {name: value for name, value in found.items() if name not in _ESTIMATE}
    elif "judge_by_human" in found:
        yield from _matrix_rows(found["scores"], found["judge_by_human"], place)
        return
    place = replace(place, subject=(*place.subject, *_subject(found)))
    for name, value in found.items():
        if name not in _LEFT_OUT and name != "group":
            yield from _rows(value, replace(place, figure=(*place.figure, name)))


def _subject(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts of an object that say what its figures are about."""
    for name, value in found.items():
        if name == "group" and isinstance(value, Mapping):
            yield from _subject(value)
        elif isinstance(value, str) and name not in _LEFT_OUT:
            yield name, value


def _matrix_rows(scores: Sequence[str], counts: Iterable[Iterable[float]], place: _Place) -> Iterator[bytes]:
    for judge, row in zip(scores, counts, strict=True):
        for human, count in zip(scores, row, strict=True):
            pair = (*place.subject, ("judge", judge), ("human", human))
            yield replace(place, subject=pair).row(count, *[None] * 4)
