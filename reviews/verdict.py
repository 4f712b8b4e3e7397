"""Scores to a verdict, what the verifier found, and where judge, verifier and scores disagree."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

Verdict = Literal["Pass", "Partial", "Fail"]
Outcome = Literal["match", "mismatch", "no reference", "skipped", "none"]


def aggregate(scores: Iterable[Any]) -> Verdict | None:
    """Any No is a Fail, else any Partial a Partial; all Yes is a Pass.

    None without scores, and where one of them is blank or none of these three words (in any case).
    """
    words = {_word(score) for score in scores}
    if not words or not words <= {"yes", "partial", "no"}:
        return None
    if "no" in words:
        return "Fail"
    return "Partial" if "partial" in words else "Pass"


def _word(score: Any) -> str:
    return score.strip().lower() if isinstance(score, str) else ""


# The verifier


class Verification(NamedTuple):
    """What the verifier found, and a sentence that says so (empty where there is nothing to say).

    `extracted` and `correct` are the answers it compared, None where its message does not tell.
    """

    outcome: Outcome
    extracted: str | None
    correct: str | None
    sentence: str


_COMPARED = re.compile(r"(?:Verification \([^()]*\): )?(?P<word>Match|Mismatch) \(Extracted: '")
_BETWEEN = "', Correct: '"
_END = re.compile(r"'\)\.?\Z")
_SKIPPED = "Verification skipped:"
_SKIPPED_SENTENCES = {
    "Extracted answer was None.": "Not verified: no final answer was extracted.",
    "": "Not verified.",
}
_NO_REFERENCE = "Correct answer was None."


def read_verification(verified: bool | None, message: str | None) -> Verification:  # noqa: FBT001 (a value)
    """Read the fields `final_answer_verified` and `verification_message`.

    A comparison with an empty reference is "no reference", whatever came of it. Otherwise `verified` counts,
    and the word in the message only where that is null.
    """
    text = (message or "").strip()
    if text.startswith(_SKIPPED) and verified is None:
        return _skipped(text.removeprefix(_SKIPPED).strip())
    word, extracted, correct = _compared(text)
    if correct is not None and not correct.strip():
        return Verification("no reference", extracted, correct, "No reference answer.")
    matches = word == "Match" if verified is None else verified
    if verified is None and not word:
        return Verification("none", None, None, text)
    if matches:
        return Verification("match", extracted, correct, "The final answer matches the reference answer.")
    sentence = "The final answer does not match the reference answer."
    return Verification("mismatch", extracted, correct, sentence)


def _skipped(reason: str) -> Verification:
    if reason == _NO_REFERENCE:
        return Verification("no reference", None, None, "No reference answer.")
    return Verification("skipped", None, None, _SKIPPED_SENTENCES.get(reason, f"Not verified: {reason}"))


def _compared(text: str) -> tuple[str, str | None, str | None]:
    """The word, the extracted and the correct answer of a message about a comparison; else nothing."""
    start = _COMPARED.match(text)
    if not start:
        return "", None, None
    extracted, between, correct = text[start.end() :].rpartition(_BETWEEN)
    if not between:
        return start["word"], None, None
    return start["word"], extracted, _END.sub("", correct)


# Contradictions


class Judged(Protocol):
    """What of an evaluation bears on its scores."""

    @property
    def aggregated_score(self) -> str | None: ...
    @property
    def final_answer_verified(self) -> bool | None: ...
    @property
    def verification_message(self) -> str | None: ...


class Contradiction(NamedTuple):
    """`kind` is "verdict", "verifier", "no reference" or "justification"; the sentence is for a reviewer."""

    kind: str
    sentence: str


def contradictions(evaluation: Judged, scores: Mapping[str, Any]) -> list[Contradiction]:
    """Find what in a record cannot all be right.

    `scores` has the shape of `parsed_rubric_scores`: criterion -> {score, justification}.
    """
    words = {criterion: _word(_entry(judged, "score")) for criterion, judged in scores.items()}
    verification = read_verification(evaluation.final_answer_verified, evaluation.verification_message)
    return [
        *_verdict_against_scores(evaluation.aggregated_score, words),
        *_scores_against_verifier(evaluation.aggregated_score, words, verification),
        *_verifier_without_reference(evaluation, verification),
        *_missing_justifications(scores, words),
    ]


def _entry(judged: Any, name: str) -> Any:
    return judged.get(name) if isinstance(judged, Mapping) else None


def _verdict_against_scores(verdict: str | None, words: Mapping[str, str]) -> Iterator[Contradiction]:
    summed = aggregate(words.values())
    if verdict and summed and verdict != summed:
        yield Contradiction("verdict", f"The judge's verdict is {verdict}, but its scores make it {summed}.")


def _scores_against_verifier(
    verdict: str | None, words: Mapping[str, str], verification: Verification
) -> Iterator[Contradiction]:
    against = {"mismatch": "yes", "match": "no"}.get(verification.outcome)
    found = "matches" if verification.outcome == "match" else "does not match"
    but = f"but the verifier found that the final answer {found} the reference answer."
    about_answer = {criterion: word for criterion, word in words.items() if _is_about_answer(criterion)}
    for criterion, word in about_answer.items():
        if word == against:
            yield Contradiction("verifier", f"“{_title(criterion)}” has {word.title()}, {but}")
    if verification.outcome == "mismatch" and verdict == "Pass" and not about_answer:
        yield Contradiction("verifier", f"The judge's verdict is Pass, {but}")


def _verifier_without_reference(evaluation: Judged, verification: Verification) -> Iterator[Contradiction]:
    if evaluation.final_answer_verified is False and verification.outcome == "no reference":
        sentence = "The verifier reports a mismatch, but there was no reference answer to compare with."
        yield Contradiction("no reference", sentence)


def _missing_justifications(scores: Mapping[str, Any], words: Mapping[str, str]) -> Iterator[Contradiction]:
    for criterion, judged in scores.items():
        justification = _entry(judged, "justification")
        if words[criterion] == "no" and not str(justification or "").strip():
            yield Contradiction("justification", f"“{_title(criterion)}” has No, without a justification.")


def _is_about_answer(criterion: str) -> bool:
    name = _title(criterion).lower()
    return "final answer" in name or "correctness" in name


def _title(criterion: str) -> str:
    words = criterion.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
