"""Parse the result of the verifier of final answers."""

import re
from functools import lru_cache
from typing import Literal, NamedTuple

VerificationOutcome = Literal["match", "mismatch", "no reference", "skipped", "none"]


class Verification(NamedTuple):
    """The result of the verifier, and a sentence about it (empty if there is nothing to say)."""

    outcome: VerificationOutcome
    #: None if the message does not contain the answer.
    extracted: str | None
    #: None if the message does not contain the answer.
    correct: str | None
    sentence: str

    @property
    def word(self) -> str:
        """The result in a few words; empty without one."""
        return _WORDS.get(self.outcome, "")


_WORDS = {
    "match": "match",
    "mismatch": "mismatch",
    "no reference": "no reference answer",
    "skipped": "not verified",
}
_COMPARED = re.compile(r"(?:Verification \([^()]*\): )?(?P<word>Match|Mismatch) \(Extracted: '")
_BETWEEN = "', Correct: '"
_END = re.compile(r"'\)\.?\Z")
_SKIPPED = "Verification skipped:"
_SKIPPED_SENTENCES = {
    "Extracted answer was None.": "Not verified: no final answer was extracted.",
    "": "Not verified.",
}
_NO_REFERENCE = "Correct answer was None."


# An import asks several times about the same record.
@lru_cache(maxsize=16)
def read_verification(verified: bool | None, message: str | None) -> Verification:  # noqa: FBT001 (a value)
    """Parse the fields `final_answer_verified` and `verification_message`.

    A comparison with an empty reference is "no reference", whatever its result. Otherwise `verified`
    decides, and the word in the message only if `verified` is null.
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
    """Return the word, the extracted and the correct answer of a comparison message."""
    start = _COMPARED.match(text)
    if not start:
        return "", None, None
    extracted, between, correct = text[start.end() :].rpartition(_BETWEEN)
    if not between:
        return start["word"], None, None
    return start["word"], extracted, _END.sub("", correct)
