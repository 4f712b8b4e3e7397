"""Export a gold set as JSONL, and import such a file.

The first line describes the set, each further line is a rating. Responses have the same key in every
installation, so a set can be imported elsewhere.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar

import orjson
from django.conf import settings
from django.db import transaction
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from cognireview.types.judge import GoldBasis
from reviews.accounts.permissions import check
from reviews.audit import events
from reviews.database.held_transaction import HeldTransaction
from reviews.database.replica import yield_from_replica
from reviews.exports.formats import time_cell
from reviews.judge.gold.gold_sets import create, detail
from reviews.models import RUN_NAME_LENGTH, GoldRating, GoldSet, User
from reviews.records.field_errors import sentence_of
from reviews.records.rubric_file import RubricError, rubric_from_json
from reviews.records.schema import LineError, read_object
from reviews.records.scores import is_score
from reviews.records.wording import quoted
from reviews.rubric.run_settings import InvalidSettings
from reviews.storage.chunks import OVERLONG, numbered_lines
from reviews.storage.errors import ImportRefused
from reviews.storage.source_text import SourceText

#: The version of the format. It changes if a member is removed or changes its meaning.
VERSION = 1
MOST_RATINGS = 1_000_000
_BATCH = 5_000
_MOST_PROBLEMS = 20
_MOST_OF_A_NAME = 100
# The years of dates that people mean. PostgreSQL could return others in a form that Python cannot read.
_YEARS = range(1970, 9999)


def _check_year(moment: datetime) -> datetime:
    if moment.year not in _YEARS:
        raise ValueError("“rated_at” must be in the years from 1970 to 9998.")
    return moment


def _check_scores(scores: dict[str, Any]) -> dict[str, Any]:
    for criterion, score in scores.items():
        if score is not None and not is_score(score):
            raise ValueError(f"The score of {quoted(criterion)} must be a text, a number, true or false.")
    return scores


def _check_printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("A text has a character that cannot be printed.")
    return text


_Name = Annotated[str, Field(max_length=RUN_NAME_LENGTH), AfterValidator(_check_printable)]
_Moment = Annotated[AwareDatetime, Field(strict=False), AfterValidator(_check_year)]


class _Line(BaseModel):
    """A line of the file. Unknown members are refused, so that a misspelled name loses nothing."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SetLine(_Line):
    """The first line of the file."""

    gold_set: str
    version: Literal[1]
    run: _Name
    filters: dict[_Name, _Name]
    rubric: dict[str, Any]
    frozen_by: _Name
    frozen_at: _Moment
    #: The number of lines that follow.
    ratings: int = Field(ge=1, le=MOST_RATINGS)


class RatingLine(_Line):
    """Each line after the first: one person's scores of a response."""

    basis: GoldBasis
    #: 16 hexadecimal digits, because few programs read integers of 64 bits from JSON.
    response: str = Field(pattern="^[0-9a-f]{16}$")
    evaluation_id: str
    task_id: str | None
    model_id: str | None
    is_flagged: bool
    scores: Annotated[dict[str, Any], AfterValidator(_check_scores)]
    verdict: Literal["Pass", "Partial", "Fail"] | None
    probability: float = Field(ge=1e-9, le=1)
    raters: int = Field(ge=1, le=1_000)
    reviewer: _Name
    guideline_version: Annotated[int, Field(ge=0, lt=2**31)] | None
    rated_at: _Moment


_COLUMNS = [name for name in RatingLine.model_fields if name not in {"response", "rated_at"}]
_AnyLine = TypeVar("_AnyLine", SetLine, RatingLine)


def export_gold_set(*, gold_set: GoldSet, actor: User | None) -> Iterator[bytes]:
    """Return the blocks of the file, and record its export. A command has no `actor`."""
    if actor:
        check(actor, "export_run")
    with transaction.atomic():
        events.record("export gold set", actor=actor, run=gold_set.run, **detail(gold_set))
    return _blocks(gold_set)


@yield_from_replica
def _blocks(gold_set: GoldSet) -> Iterator[bytes]:
    first = {
        "gold_set": gold_set.name,
        "version": VERSION,
        "run": gold_set.run_name,
        "filters": gold_set.filters,
        "rubric": gold_set.rubric,
        "frozen_by": gold_set.frozen_by,
        "frozen_at": str(time_cell(gold_set.frozen_at)),
        "ratings": gold_set.ratings.count(),
    }
    with HeldTransaction():
        yield orjson.dumps(first) + b"\n"
        ratings = gold_set.ratings.order_by("pk").iterator(_BATCH)
        while block := b"".join(orjson.dumps(_as_line(one)) + b"\n" for one in islice(ratings, _BATCH)):
            yield block


def _as_line(rating: GoldRating) -> dict[str, Any]:
    values = {name: getattr(rating, name) for name in _COLUMNS}
    return values | {"response": f"{rating.response % 2**64:016x}", "rated_at": str(time_cell(rating.at))}


@transaction.atomic
def import_gold_set(*, blocks: Iterable[bytes], actor: User | None, name: str = "") -> GoldSet:
    """Import a gold set from the blocks of a file, which may be compressed.

    `name` replaces the name in the file. Nothing is imported if a line is invalid. Raises `InvalidSettings`
    for `file`, with line, member and reason, and for `name`.
    """
    if actor:
        check(actor, "configure_run")
    lines = _lines(blocks)
    first = next(lines, None)
    if first is None:
        raise _refused(["The file is empty."])
    head = _read_head(*first)
    gold_set = create(
        name=name or head.gold_set,
        run_name=head.run,
        filters=head.filters,
        rubric=head.rubric,
        frozen_by=head.frozen_by,
        frozen_at=head.frozen_at,
        is_imported=True,
        created_by=actor,
    )
    ratings = _insert(gold_set, lines)
    if ratings != head.ratings:
        reason = f"The first line announces {head.ratings:,} ratings, but the file has {ratings:,}."
        raise _refused([f"{reason} It may be cut off."])
    events.record("import gold set", actor=actor, **detail(gold_set), run_name=head.run, ratings=ratings)
    return gold_set


def _insert(gold_set: GoldSet, lines: Iterator[tuple[int, bytes]]) -> int:
    """Insert the ratings. Return their number."""
    ratings = 0
    while batch := list(islice(lines, _BATCH)):
        GoldRating.objects.bulk_create(_rows(gold_set, batch))
        ratings += len(batch)
        if ratings > MOST_RATINGS:
            raise _refused([f"The file has more than {MOST_RATINGS:,} ratings."])
    return ratings


def _rows(gold_set: GoldSet, batch: list[tuple[int, bytes]]) -> list[GoldRating]:
    rows, problems = [], []
    for place, line in batch:
        try:
            read = _read(RatingLine, line)
        except _Invalid as invalid:
            problems += [f"Line {place:,}: {reason}" for reason in invalid.reasons]
            if len(problems) >= _MOST_PROBLEMS:
                break
            continue
        response = int(read.response, 16)
        rows.append(
            GoldRating(
                gold_set=gold_set,
                response=response - 2**64 if response >= 2**63 else response,
                at=read.rated_at,
                **{name: getattr(read, name) for name in _COLUMNS},
            )
        )
    if problems:
        raise _refused(problems[:_MOST_PROBLEMS])
    return rows


def _read_head(place: int, line: bytes) -> SetLine:
    try:
        head = _read(SetLine, line)
        rubric_from_json(head.rubric)
    except _Invalid as invalid:
        raise _refused([f"Line {place:,}: {reason}" for reason in invalid.reasons]) from None
    except RubricError as error:
        problems = [f"Line {place:,}: rubric: {where}: {reason}" for where, reason in error.problems]
        raise _refused(problems) from None
    return head


class _Invalid(Exception):
    """An invalid line."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


def _read(kind: type[_AnyLine], line: bytes) -> _AnyLine:
    if line is OVERLONG:
        limit = settings.LIMITS.line_bytes
        raise _Invalid([f"It is longer than {limit:,} bytes (COGNIREVIEW_MAX_LINE_BYTES)."])
    try:
        return kind.model_validate(read_object(line, settings.LIMITS))
    except LineError as error:
        raise _Invalid([f"It {error}."]) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[:_MOST_PROBLEMS]
        raise _Invalid(
            [sentence_of(".".join(map(str, one["loc"]))[:_MOST_OF_A_NAME] or "line", one) for one in first]
        ) from None


def _lines(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers, without blank ones."""
    text = SourceText(blocks, most=settings.MAX_UNPACKED_BYTES, limits=settings.LIMITS)
    try:
        yield from numbered_lines(text, line_bytes=settings.LIMITS.line_bytes)
    except ImportRefused as refused:
        raise _refused([str(refused)]) from refused


def _refused(problems: list[str]) -> InvalidSettings:
    return InvalidSettings({"file": problems})
