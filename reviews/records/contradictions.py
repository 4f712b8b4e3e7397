"""Find contradictions between the judge, the verifier and the scores of a record."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from reviews.records.rubric import Rubric
from reviews.records.scales import Level
from reviews.records.scores import criterion_title, format_score, is_score, score_of
from reviews.records.verification import Verification, read_verification

_MOST_NAMED = 5


class JudgedRecord(Protocol):
    """The fields of an evaluation that its scores are checked against."""

    @property
    def aggregated_score(self) -> str | None: ...
    @property
    def final_answer_verified(self) -> bool | None: ...
    @property
    def verification_message(self) -> str | None: ...


class Contradiction(NamedTuple):
    """Two statements that cannot both be right, as a sentence for a reviewer."""

    #: One of "verdict", "verifier", "justification" and "missing".
    kind: str
    sentence: str


class _Score(NamedTuple):
    """A criterion with its title, its score, which may be no score at all, and the level of the score."""

    title: str
    score: Any
    level: Level | None

    def __str__(self) -> str:
        return f"“{self.title}” has {format_score(self.score) if is_score(self.score) else ''}"


def find_contradictions(
    evaluation: JudgedRecord,
    scores: Mapping[str, Any],
    rubric: Rubric,
    siblings_criteria: Collection[str] = (),
) -> list[Contradiction]:
    """Find the contradictions in a record.

    `scores` has the shape of `parsed_rubric_scores`: criterion -> {score, justification}.
    `siblings_criteria` are the criteria of other records of the task. A verifier without a reference answer
    contradicts nothing.
    """
    judged = [_read(criterion, entry, rubric) for criterion, entry in scores.items()]
    about_answer = [score for score in judged if is_about_answer(score.title)]
    verification = read_verification(evaluation.final_answer_verified, evaluation.verification_message)
    return [
        *_verdict_against_scores(evaluation.aggregated_score, rubric.verdict(scores)),
        *_scores_against_verifier(evaluation.aggregated_score, about_answer, verification),
        *_scores_against_justifications(scores, judged),
        *_missing(scores, siblings_criteria),
    ]


def _read(criterion: str, entry: Any, rubric: Rubric) -> _Score:
    score = score_of(entry) if isinstance(entry, dict) else None
    return _Score(rubric.title(criterion), score, rubric.level(criterion, score))


@lru_cache(maxsize=1_000)
def is_about_answer(title: str) -> bool:
    """Return whether a criterion with this title scores the final answer."""
    name = title.lower()
    return "final answer" in name or "correctness" in name


def _verdict_against_scores(verdict: str | None, summed: str | None) -> Iterator[Contradiction]:
    if verdict and summed and verdict != summed:
        yield Contradiction(
            "verdict", f"The judge's verdict is {verdict}, but its scores result in {summed}."
        )


def _scores_against_verifier(
    verdict: str | None, about_answer: list[_Score], verification: Verification
) -> Iterator[Contradiction]:
    against = {"mismatch": "yes", "match": "no"}.get(verification.outcome)
    found = "matches" if verification.outcome == "match" else "does not match"
    but = f"but the verifier found that the final answer {found} the reference answer."
    for score in about_answer:
        if against and score.level == against:
            yield Contradiction("verifier", f"{score}, {but}")
    if verification.outcome == "mismatch" and verdict == "Pass" and not about_answer:
        yield Contradiction("verifier", f"The judge's verdict is Pass, {but}")


def _scores_against_justifications(
    scores: Mapping[str, Any], judged: list[_Score]
) -> Iterator[Contradiction]:
    """Check that every No has a justification that names an error."""
    for entry, score in zip(scores.values(), judged, strict=True):
        if score.level != "no":
            continue
        text = str(entry.get("justification") or "")
        if names_no_error(text):
            problem = "but its justification finds no fault" if text.strip() else "without a justification"
            yield Contradiction("justification", f"{score}, {problem}.")


def _missing(scores: Mapping[str, Any], siblings_criteria: Collection[str]) -> Iterator[Contradiction]:
    """Name criteria without a score that other records of the task have.

    Records without any score are skipped.
    """
    if not siblings_criteria:
        return
    scored = {criterion for criterion, entry in scores.items() if is_score(score_of(entry))}
    missing = [f"“{criterion_title(name)}”" for name in siblings_criteria if name not in scored]
    if not scored or not missing:
        return
    more = len(missing) - _MOST_NAMED
    named = ", ".join(missing[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    have = "has no score" if len(missing) == 1 else "have no score"
    yield Contradiction("missing", f"{named} {have} here; other records of this task have one.")


_FAULTLESS = r"\b(?:no|without(?: any)?|free of) (?:errors?|mistakes?|flaws?|gaps?|faults?)\b"
_PRAISES = (
    r"\b(?:is|are|was|were) (?:\w+ly )?(?:correct|accurate|valid|complete|right|sound|flawless|perfect)\b",
    r"\b(?:correctly|accurately|clearly|successfully|thoroughly|properly) \w+(?:s|ed)\b",
    r"\bmatch(?:es)? the (?:correct|true) \w+",
    r"\ball (?:the )?(?:(?:necessary|required|key|essential) )?(?:steps|results|values) are\b",
    _FAULTLESS,
)
# Each praise contains one of these. Searching for them takes a sixth of the time.
_SIGNS = (
    *("correct", "accurate", "valid", "complete", "right", "sound", "perfect", "clearly"),
    *("successfully", "thoroughly", "properly", "match", "s are", "error", "mistake", "flaw", "gap", "fault"),
)
_FAULTS = (
    # against something
    r"\w+n't cannot not? nor never neither none nothing without but however although though despite yet",
    r"except while whereas unlike instead rather only should would could must if until unless otherwise too",
    r"ideal reference expected need\w* require[sd]? differ\w* diverg\w* deviat\w* mismatch\w* contradict\w*",
    r"conflict\w*",
    # less than whole
    r"nearly almost partly partially somewhat mostly limited lack\w* fail\w* miss(?:es|ed|ing)? omits?",
    r"omission\w* omitt\w+ ignor\w+ neglect\w* overlook\w* skip\w* forg[eo]t\w* absen\w+ gaps?",
    r"superficial\w* vague\w*",
    # wrong
    r"wrong\w* err(?:s|ed|ors?|oneous\w*)? mistak\w+ flaw\w* fault\w* problem\w* issues? unclear weak\w*",
    r"confus\w+ false\w* poor\w*",
    r"(?:in|im|un|il|ir|mis|non)(?:correct|accura|valid|complet|consist|suffici|precis|proper|justif)\w*",
    r"(?:in|im|un|il|ir|mis|non)(?:support|necess|sound|prov|stat|logical|relevant|interpret|calculat)\w*",
    r"(?:mis|un)(?:appl|us|identif)\w*",
)
# For text in lower case: ignoring the case takes twice as long.
_PRAISE = re.compile("|".join(_PRAISES))
# "no errors" contains a word of fault, but denies it.
_ABSENT = re.compile(_FAULTLESS)
_FAULT = re.compile(rf"\b(?:{'|'.join(' '.join(_FAULTS).split())})\b")


def names_no_error(justification: str) -> bool:
    """Return whether a justification contradicts a No: it is blank, or praise."""
    return not justification.strip() or is_praise(justification)


def is_praise(justification: str) -> bool:
    """Return whether a justification praises without naming any fault.

    A judge that praises and scores No made one of two mistakes. Precision comes first: a single word of
    fault, doubt or comparison means that the text is not praise. English only.
    """
    text = justification.replace("\u2019", "'").lower()
    if not any(map(text.__contains__, _SIGNS)):
        return False
    return bool(_PRAISE.search(text)) and not _FAULT.search(_ABSENT.sub("", text))
