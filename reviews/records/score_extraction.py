"""Extract scores from raw judge output that failed to parse, as proposals for a reviewer.

The text is searched for objects with a score. Each is parsed as strictly as its damage allows, by named
steps, and keeps its position. Nothing is invented: a score must be spelled out completely in the text.
"""

import json
import math
import re
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, NamedTuple

from reviews.records import partial_json
from reviews.records.json_text import as_text, indented
from reviews.records.latex import double_backslashes
from reviews.records.patterns import STRING, STRING_BODY
from reviews.records.reading_budget import OverBudget, ReadingBudget
from reviews.records.score_groups import NAMES, names_with_groups
from reviews.records.scores import Score, format_score, is_score

# Increases when the same text would give different proposals.
VERSION = 4

# The steps that may be applied to a text, in this order.
# fence: a Markdown fence or other text around the JSON was removed.
# unwrap: the criteria were not in their place, {"evaluation": {...}}.
# key case: score or justification was spelled another way, or the criteria were a list.
# backslash: LaTeX backslashes were doubled.
# truncation: the JSON was truncated or invalid, and its parts were parsed one by one.
# repetition: the judge gave the criterion another score before.
STEPS = ("fence", "unwrap", "key case", "backslash", "truncation", "repetition")

# Nothing is extracted from a text that exceeds these or its `ReadingBudget`.
MAX_CHARACTERS = 256 * 1024
MAX_OBJECTS = 500
# Longer names and scores are ignored.
MAX_NAME = 1_000

# The characters shown on either side of a repair.
_SHOWN_AROUND = 30


class Repair(NamedTuple):
    """A step that changed the text of a criterion: a short excerpt before and after.

    The step is "key case", "backslash", "truncation" or "repetition". Of several repaired places the first is
    shown.
    """

    step: str
    before: str
    after: str


class Proposal(NamedTuple):
    """One criterion as the judge wrote it."""

    criterion: str
    score: Score
    justification: str
    #: The start and end of the key and value in `raw_text`, in characters.
    span: tuple[int, int]
    repairs: tuple[Repair, ...]


class Extraction(NamedTuple):
    """The proposals in the order of the text, and the steps of `STEPS` that were needed."""

    proposals: tuple[Proposal, ...] = ()
    steps: tuple[str, ...] = ()
    #: Whether reading the text would have exceeded its budget. There are no proposals then.
    is_too_long: bool = False


def extract_scores(raw_judge_output: Mapping[str, Any]) -> Extraction:
    """Extract criteria and scores from a judge's raw output. Never raises: garbage gives no proposals.

    A criterion that occurs twice in the same group is proposed once, in its last form. Criteria with the same
    name in different groups have the names of their groups, too: `accuracy.facts`.
    """
    raw = raw_text(raw_judge_output)
    if len(raw) > MAX_CHARACTERS:
        return Extraction(is_too_long=True)
    doubled = double_backslashes(raw)
    reader = _ObjectScanner(doubled.text)
    try:
        reader.read()
    except (OverBudget, RecursionError):
        return Extraction(is_too_long=True)
    if not reader.parts:
        return Extraction()
    parts = _last_forms(doubled.text, reader.parts)
    proposals = tuple(_proposal(part, raw, doubled.places) for part in parts)
    steps = reader.steps_around()
    steps.update(repair.step for proposal in proposals for repair in proposal.repairs)
    return Extraction(proposals, tuple(step for step in STEPS if step in steps))


def _last_forms(text: str, parts: list[Proposal]) -> list[Proposal]:
    """Return the last form of each criterion. One that replaces another score has a note of it."""
    ordered = sorted(parts, key=lambda part: part.span[0])
    names = names_with_groups(text, [(part.criterion, part.span[0]) for part in ordered])
    last: dict[str, Proposal] = {}
    for name, part in zip(names, ordered, strict=True):
        repairs, earlier = part.repairs, last.pop(name, None)
        if earlier and earlier.score != part.score:
            scores = (_storable(format_score(one.score)) for one in (earlier, part))
            repairs = (*repairs, Repair("repetition", *scores))
        last[name] = part._replace(criterion=name, repairs=repairs)
    return list(last.values())


def _proposal(part: Proposal, raw: str, doubled: list[int]) -> Proposal:
    """Return a criterion of the doubled text with its position in the raw text, and all of its repairs."""
    start, end = part.span
    before, until = bisect_left(doubled, start), bisect_left(doubled, end)
    repairs = part.repairs
    if before < until:
        repairs += (_doubling(raw, doubled[before] - before),)
    return Proposal(
        _storable(part.criterion),
        _storable(part.score) if isinstance(part.score, str) else part.score,
        _storable(part.justification),
        (start - before, end - until),
        tuple(sorted(repairs, key=lambda repair: STEPS.index(repair.step))),
    )


def _doubling(raw: str, place: int) -> Repair:
    """Return the repair of the backslash at a position, with its word and some context."""
    end = place + 2
    while end < len(raw) and end < place + _SHOWN_AROUND and raw[end] not in '\\"\n':
        end += 1
    before = _storable(raw[place:end])
    return Repair("backslash", before, f"\\{before}")


def _storable(text: str) -> str:
    """Replace U+0000, which PostgreSQL rejects, and lone surrogates, which UTF-8 cannot encode."""
    return _UNSTORABLE.sub("\ufffd", text)


_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def raw_text(raw_judge_output: Mapping[str, Any]) -> str:
    """Return the text that spans refer to: `raw_content`, or else the other texts of the object.

    An object that contains the criteria itself, or no text, is formatted as JSON.
    """
    content = raw_judge_output.get("raw_content") if isinstance(raw_judge_output, dict) else None
    if isinstance(content, str) and content.strip():
        return content
    strings, has_scores = _strings(raw_judge_output)
    if strings and (not has_scores or any(map(_OBJECT.search, strings))):
        return "\n\n".join(strings)
    try:
        return indented(raw_judge_output, 2) if raw_judge_output else ""
    except (RecursionError, TypeError, ValueError):
        return ""


def _strings(data: Any) -> tuple[list[str], bool]:
    """Return every string at any depth, in order, and whether some object has a score."""
    strings, has_scores, left = [], False, [data]
    while left:
        value = left.pop()
        if isinstance(value, str) and value.strip():
            strings.append(value)
        elif isinstance(value, dict):
            has_scores = has_scores or _spelling(value, _SCORE) is not None
            left.extend(reversed(value.values()))
        elif isinstance(value, list):
            left.extend(reversed(value))
    return strings, has_scores


def _integer(spelled: str) -> int | None:
    return int(spelled) if len(spelled) <= _LONGEST_INTEGER else None


def _float(spelled: str) -> float | None:
    number = float(spelled)
    return number if math.isfinite(number) else None


_LONGEST_INTEGER = 18  # digits that 64 bits hold, whichever they are
# Accepts line breaks inside strings. A number that no column could hold is not a score.
_DECODER = json.JSONDecoder(
    strict=False, parse_constant=lambda _: None, parse_int=_integer, parse_float=_float
)

_OBJECT = re.compile(r'\{\s*"')
_IN_PLACE = re.compile(r'\{\s*"evaluation"\s*:\s*[\[{]\s*')
_KEY = re.compile(rf'(?<!\\)"({STRING_BODY})"\s*:\s*\Z', re.DOTALL)
_SCORE = ("score",)
_JUSTIFICATION = ("justification", "reason", "reasoning", "rationale", "explanation", "comments", "comment")


class _ObjectScanner:
    """Scan a text from one object to the next.

    `unreadable` is the last position where an object broke off.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[Proposal] = []
        self.unreadable = 0
        self.budget = ReadingBudget(text)
        self._at = 0
        self._since = 0  # the earliest position of the next object's key
        self._sound = 0  # everything before this was parsed

    def read(self) -> None:
        for _ in range(MAX_OBJECTS):
            opening = _OBJECT.search(self.text, self._at)
            if not opening:
                return
            self.budget.spend(opening.end() - self._at)
            self._read_object(opening.start())
        raise OverBudget

    def steps_around(self) -> set[str]:
        """Return the steps needed for the text around the criteria."""
        first = self.parts[0].span[0]
        is_broken = self.unreadable > first
        steps = {"truncation"} if is_broken else set()
        opening = _OBJECT.search(self.text)
        in_place = opening and _IN_PLACE.match(self.text, opening.start())
        if not in_place or in_place.end() != first:
            steps.add("unwrap")
        ends_in_json = is_broken or self.text.rstrip().endswith(("}", "]"))
        if not (ends_in_json and self.text.lstrip().startswith(("{", "["))):
            steps.add("fence")
        return steps

    def _read_object(self, brace: int) -> None:
        self.budget.spend(brace - self._since)
        key = _KEY.search(self.text, self._since, brace)
        start, name = (key.start(), _name(key)) if key else (brace, "")
        self._at = brace + 1
        try:
            value, end = _DECODER.raw_decode(self.text, brace)
        except json.JSONDecodeError as error:
            # An unterminated string was searched up to the end of the text.
            is_open = error.msg.startswith("Unterminated string")
            self.budget.spend((len(self.text) if is_open else error.pos) - brace)
            self.budget.check_nesting(brace, error.pos)
            self._repair_object(name, start, brace, error)
            return
        self.budget.spend(end - brace)
        self.budget.check_nesting(brace, end)
        part = _part(name, value, start, end)
        self._sound = max(self._sound, end)
        self._since = brace + 1
        if part:
            # Nested criteria contain each other's text.
            self.budget.spend(len(part.justification))
            self.parts.append(part)
        # A criterion without its closing brace contains the following ones, so it is searched like a wrapper.
        if part and not _wraps_scores(value):
            self._at = self._since = end

    def _repair_object(self, name: str, start: int, brace: int, error: json.JSONDecodeError) -> None:
        if brace < self._sound:
            return  # inside a string of a parsed object
        self.unreadable = max(self.unreadable, error.pos)
        end = _end_of_piece(self.text, brace)
        self.budget.spend(_LOOKS_AT_PIECE * (end - brace))
        if part := _repaired_part(name, self.text, start, brace, end):
            self.parts.append(part)
            self._at = self._since = part.span[1]


def _name(key: re.Match[str]) -> str:
    return str(_DECODER.decode(f'"{key[1]}"')) if "\\" in key[1] else key[1]


def _part(name: str, value: dict[str, Any], start: int, end: int) -> Proposal | None:
    """Return the criterion of an object, named by its key or, in a list, by itself."""
    score_key = _spelling(value, _SCORE)
    score: Any = value[score_key] if score_key else None
    if not is_score(score) or (isinstance(score, str) and len(score) > MAX_NAME):
        return None
    justification_key = _spelling(value, _JUSTIFICATION)
    if not justification_key and _wraps_scores(value):
        return None
    criterion_key = None if name else _spelling(value, NAMES)
    criterion = value[criterion_key] if criterion_key else name
    if not isinstance(criterion, str) or len(criterion) > MAX_NAME:
        return None
    if criterion.strip().lower() in ("", *_SCORE):
        return None
    justification = value[justification_key] if justification_key else None
    respelled = _respelled(
        (criterion_key, criterion), (score_key, _SCORE[0]), (justification_key, _JUSTIFICATION[0])
    )
    return Proposal(criterion, score, as_text(justification), (start, end), respelled)


def _respelled(*keys: tuple[str | None, str]) -> tuple[Repair, ...]:
    """Return the repair of unusual keys, given as pairs (key, usual key)."""
    odd = [(key, usual) for key, usual in keys if key is not None and key != usual]
    if not odd:
        return ()
    before, after = (", ".join(_quoted(name) for name in names) for names in zip(*odd, strict=True))
    return (Repair("key case", before, after),)


def _quoted(name: str) -> str:
    return f'"{_storable(name[:_SHOWN_AROUND])}"'


def _wraps_scores(value: dict[str, Any]) -> bool:
    return any(isinstance(inner, dict) and _spelling(inner, _SCORE) for inner in value.values())


def _spelling(value: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the key of an object that is one of these names, ignoring case, preferably the first."""
    if names[0] in value:
        return names[0]
    return next((key for key in value if isinstance(key, str) and key.strip().lower() in names), None)


_FENCE_END = re.compile(r"\n[ \t]*```")
_SPELLED_SCORE = re.compile(
    rf'"\s*score\s*"\s*:\s*(?P<value>{STRING}|[\w.+-]++(?=\s*[,}}\]\n]))',
    re.DOTALL | re.IGNORECASE,
)


# How often each character of a piece is examined.
_LOOKS_AT_PIECE = 6


def _repaired_part(name: str, text: str, start: int, brace: int, end: int) -> Proposal | None:
    """Return the criterion of a truncated or invalid object that opens at `brace`.

    Only its justification may be incomplete: the score must be spelled out completely in the text.
    """
    spelled = _SPELLED_SCORE.search(text, brace, end)
    if not spelled:
        return None
    piece = text[brace:end]
    value = partial_json.members(piece)
    part = _part(name, value, start, end)
    if not part or part.score != _literal(spelled["value"]):
        return None
    repair = _difference(piece, json.dumps(value, ensure_ascii=False))
    return part._replace(repairs=(*part.repairs, repair))


def _difference(broken: str, repaired: str) -> Repair:
    one, other = partial_json.first_difference(broken, repaired)
    return Repair("truncation", _around(broken, one), _around(repaired, other))


def _around(text: str, place: int) -> str:
    start = max(0, place - _SHOWN_AROUND)
    end = place + _SHOWN_AROUND
    return _storable(("…" if start else "") + text[start:end] + ("…" if end < len(text) else ""))


def _end_of_piece(text: str, brace: int) -> int:
    following = _OBJECT.search(text, brace + 1)
    end = following.start() if following else len(text)
    limit = _KEY.search(text, brace, end) or _FENCE_END.search(text, brace, end)
    piece = text[brace : limit.start() if limit else end]
    return brace + len(piece.rstrip(", \n\r\t"))


def _literal(spelled: str) -> Any:
    try:
        return _DECODER.decode(spelled)
    except json.JSONDecodeError:
        return spelled
