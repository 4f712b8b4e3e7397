r"""Compare final answers by content: `$\dfrac{1}{2}$` is 1/2 and 0.5.

Two answers have the same key only if they certainly mean the same. Answers with different keys may still be
equal (`x+1` and `1+x`), so `compare_answers` calls them different only where no doubt remains.
"""

import re
import unicodedata
from fractions import Fraction
from typing import Literal, NamedTuple

#: Longer answers are the same only character by character.
MAX_CHARS = 3_000
_MAX_DIGITS = 100
_MAX_WRAPPERS = 10

AnswerComparison = Literal["same", "different", "unclear"]

_WRAPPERS = (
    re.compile(r"(\$\$?)(?P<content>[^$]*)\1"),
    re.compile(r"\\\((?P<content>.*)\\\)", re.DOTALL),
    re.compile(r"\\\[(?P<content>.*)\\\]", re.DOTALL),
    re.compile(r"\*\*(?P<content>[^*]*)\*\*"),
    re.compile(r"\\(?:boxed|text|textrm|textbf|mathrm)\s*\{(?P<content>.*)\}", re.DOTALL),
    re.compile(r"\\displaystyle(?![A-Za-z])(?P<content>.*)", re.DOTALL),
)
# A formula inside of a text. "$5 and $10" is about money.
_INLINE = re.compile(r"(?<![\\$\w])\$(?![\s$])([^$]+)(?<![\s\\])\$(?![\w$])")
# Upright text is like text around the formula, unless it may be an argument: x^\text{max}.
_UPRIGHT = re.compile(
    r"(?P<command>(?:[\^_}]|\\(?!text|mathrm)[A-Za-z]+)\s*)?\\(?:text|textrm|mathrm)\s*\{(?P<content>[^{}\\$]*)\}"
)
# One character as an argument needs no braces: x^{2}.
_ONE_CHARACTER = re.compile(r"([\^_])\s*\{\s*([0-9A-Za-z])\s*\}(?![A-Za-z0-9])")
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\.[0-9]+|[^\W\d_]+|\S", re.DOTALL)
_GROUPS = re.compile(
    r"(?P<before>[^0-9,.;:()\[\]{}|\w]*)(?P<first>[1-9][0-9]{0,2})"
    r"(?P<by>,|\{,\}|\\,|[\u00a0\u2009\u202f])(?P<second>[0-9]{3})(?P<more>(?:(?P=by)[0-9]{3})*)"
    r"(?P<rest>(?:\.[0-9]+)?(?:[^0-9,.;:()\[\]|]*))"
)
# Spaces and commands that change the appearance of a formula but not its meaning.
_APPEARANCE = frozenset(
    r"\( \) \[ \] \, \; \: \! \left \right \displaystyle \textstyle \quad \qquad".split()  # noqa: SIM905
) | {r"\ "}
_SYNONYMS = {
    "\u2212": "-",
    r"\dfrac": r"\frac",
    r"\tfrac": r"\frac",
    r"\%": "%",
    "percent": "%",
    r"\$": "$",
    "degree": "°",
    "degrees": "°",
    r"\degree": "°",
    "π": r"\pi",
    "\u00d7": r"\times",
    "≤": r"\le",
    r"\leq": r"\le",
    "≥": r"\ge",
    r"\geq": r"\ge",
    "≠": r"\ne",
    r"\neq": r"\ne",
    "∞": r"\infty",
}
_CLOSING = {"{": "}", r"\(": r"\)", r"\[": r"\]"}
_DIGITS = r"(?:0|[1-9][0-9]*)"
_DECIMAL = rf"(?:{_DIGITS}(?:\.[0-9]+)?|\.[0-9]+)"
_NUMBER = re.compile(
    rf"(?P<sign>[-+] )?(?:(?P<whole>{_DECIMAL})(?: / (?P<divisor>{_DECIMAL}))?"
    rf"|\\frac (?:\{{ (?P<inner>- )?(?P<above>{_DECIMAL}) \}} \{{ (?P<below>{_DECIMAL}) \}}"
    r"|(?P<digits>[1-9]{2})))"
)
_CHOICE = re.compile(r"[A-J]")


class _Number(NamedTuple):
    """The value of an answer, and how far rounding may have moved it."""

    value: Fraction
    precision: Fraction


def answer_key(answer: str) -> str:
    r"""Return a text that two answers share only if they certainly mean the same. Empty for no answer.

    Ignores spaces between tokens, `$ $`, `\( \)`, `\boxed{}`, `\text{}`, bold, a final full stop and the
    spelling of fractions, minus, percent and degrees. Numbers are compared by value: 0.5 is 1/2, and 1,000 is
    1000. Without commas between thousands, a leading zero makes a code, not a number.
    """
    tokens = _tokens(answer)
    number = _number(tokens)
    return f"={number.value}" if number else tokens


def compare_answers(one: str, other: str) -> AnswerComparison:
    """Return whether two final answers are the same, certainly different, or neither.

    Only numbers and letters of choices are certainly different. Decimals that may be rounded are not: 0.33
    and 1/3 are unclear.
    """
    keys = _tokens(one), _tokens(other)
    numbers = [_number(key) for key in keys]
    if all(keys) and answer_key(one) == answer_key(other):
        return "same"
    if all(_CHOICE.fullmatch(key) for key in keys):
        return "different"
    first, second = numbers
    if first and second and "," not in one + other:
        is_apart = abs(first.value - second.value) > max(first.precision, second.precision)
        return "different" if is_apart else "unclear"
    return "unclear"


def _tokens(answer: str) -> str:
    """Return the tokens of an answer in one spelling, separated by spaces."""
    text = unicodedata.normalize("NFC", answer).strip()
    if len(text) > MAX_CHARS:
        return text
    text = _joined_thousands(_unwrapped(text))
    text = _INLINE.sub(r" \1 ", text)
    text = _UPRIGHT.sub(lambda found: found[0] if found["command"] else f" {found['content']} ", text)
    text = _ONE_CHARACTER.sub(r"\1 \2 ", text)
    tokens = " ".join(
        _SYNONYMS.get(token, token) for token in _TOKEN.findall(text) if token not in _APPEARANCE
    )
    return tokens.replace(r"^ { \circ }", "°").replace(r"^ \circ", "°")


def _unwrapped(text: str) -> str:
    for _ in range(_MAX_WRAPPERS):
        before = text
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1].strip()
        for wrapper in _WRAPPERS:
            if (whole := wrapper.fullmatch(text)) and _is_balanced(whole["content"]):
                text = whole["content"].strip()
        if text == before:
            break
    return text


def _is_balanced(text: str) -> bool:
    r"""Return whether delimiters pair: `\boxed{1} + \boxed{2}` is no box around "1} + \boxed{2"."""
    expected: list[str] = []
    for found in re.findall(r"\\[A-Za-z]+|\\.|[{}]", text):
        if found in _CLOSING:
            expected.append(_CLOSING[found])
        elif found in _CLOSING.values() and (not expected or expected.pop() != found):
            return False
    return not expected and "$" not in text


def _joined_thousands(text: str) -> str:
    """Return an answer that is one number without the separators of its thousands."""
    if not (found := _GROUPS.fullmatch(text)):
        return text
    more = found["more"].replace(found["by"], "")
    return f"{found['before']}{found['first']}{found['second']}{more}{found['rest']}"


def _number(tokens: str) -> _Number | None:
    """Return the value if an answer is a whole number, a decimal or a fraction of them."""
    found = _NUMBER.fullmatch(tokens) if len(tokens) <= _MAX_DIGITS else None
    if not found:
        return None
    above, below = found["whole"] or found["above"], found["divisor"] or found["below"] or "1"
    if found["digits"]:
        above, below = found["digits"][0], found["digits"][1]
    if not Fraction(below):
        return None
    signs = (found["sign"] or "") + (found["inner"] or "")
    value = Fraction(above) / Fraction(below) * (-1) ** signs.count("-")
    places = len(above.partition(".")[2])
    return _Number(value, Fraction(1, 10**places) if places else Fraction(0))
