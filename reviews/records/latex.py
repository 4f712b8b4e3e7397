r"""Repair LaTeX inside JSON that a language model wrote: its backslashes, which JSON takes for escapes.

A JSON parser rejects `"\("`, and silently reads `"\frac"` as a form feed and "rac". `double_backslashes`
repairs the text before parsing. `restore_latex` repairs texts that were parsed before they reached us.
"""

import re
from itertools import pairwise
from typing import NamedTuple

# LaTeX commands whose first letter makes a JSON escape with the backslash before it: b, f, n, r or t.
# (A u is an escape only before four hex digits, and no LaTeX word goes on with those.)
# Not here: \ni, \nless, \nparallel, \num, which are rarer than a line that starts with "i", "less",
# "parallel" or "um".
_WORDS = frozenset(
    r"""
    backepsilon backprime backsim backslash bar barwedge bcancel because begin beta beth between bf bfseries
    big bigcap bigcirc bigcup bigg biggl biggm biggr bigl bigm bigodot bigoplus bigotimes bigr bigsqcup
    bigstar bigtriangledown bigtriangleup biguplus bigvee bigwedge binom blacklozenge blacksquare
    blacktriangle bm bmod bold boldsymbol bot bowtie box boxdot boxed boxminus boxplus boxtimes bra brace
    brack braket breve bullet bumpeq
    fallingdotseq fbox flat footnote footnotesize forall frac frak frown
    nLeftarrow nLeftrightarrow nRightarrow nVdash nabla natural ncong ne nearrow neg neq newcommand newline
    nexists ngeq ngeqq ngeqslant ngtr nleftarrow nleftrightarrow nleq nleqq nleqslant nmid nobreak
    nolimits nonumber norm normalfont normalsize not notag notin nprec npreceq nrightarrow nsim nsubset
    nsubseteq nsucc nsucceq nsupseteq ntriangleleft ntrianglelefteq ntriangleright ntrianglerighteq nu
    nvDash nvdash nwarrow
    rVert raisebox rangle rbrace rbrack rceil ref relax restriction rfloor rgroup rhd rho right rightarrow
    rightarrowtail rightharpoondown rightharpoonup rightleftarrows rightleftharpoons rightrightarrows
    rightsquigarrow rightthreetimes risingdotseq rlap rm root rtimes rule rvert
    tag tan tanh tau tbinom text textbf textcolor textit textnormal textrm textsc textsf textstyle
    textsubscript textsuperscript texttt textup tfrac therefore theta thickapprox thicksim thinspace tilde
    times tiny to top triangle triangledown triangleleft trianglelefteq triangleq triangleright
    trianglerighteq tt twoheadleftarrow twoheadrightarrow
    """.split()  # noqa: SIM905 (a page of words, without a page of quotes)
)
_BACKSLASH = re.compile(r'\\(?:(?P<json>[\\"/]|u[0-9A-Fa-f]{4})|(?P<either>[bfnrt][A-Za-z]*)|.)', re.DOTALL)


class EscapedText(NamedTuple):
    """The text with doubled backslashes, and the positions of the added ones, in order."""

    text: str
    places: list[int]


def double_backslashes(text: str) -> EscapedText:
    r"""Double each backslash that starts no JSON escape, and each that starts a known LaTeX command.

    `\(` and `\alpha` become `\\(` and `\\alpha`, as do `\frac` and `\theta`. `\\frac` does not change, and
    neither does a line break before a word, as in `\nuse`.
    """
    found = [escape.start() for escape in _BACKSLASH.finditer(text) if _is_latex(escape)]
    if not found:
        return EscapedText(text, [])
    parts = [text[start:end] for start, end in pairwise([0, *found, len(text)])]
    return EscapedText("\\".join(parts), [place + number for number, place in enumerate(found)])


def _is_latex(escape: re.Match[str]) -> bool:
    """Return whether a backslash belongs to LaTeX and not to JSON."""
    return escape["either"] in _WORDS if escape["either"] else escape["json"] is None


# Control characters, and the letter of the escape they were parsed from.
_EATEN = {"\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
# Line breaks and tabs also occur before ordinary words. These rests are words themselves (\nmid leaves "mid",
# \tan "an"), so they are not restored after a line break or tab. Neither are single letters (\ne, \to).
_REAL = frozenset({"ag", "an", "eg", "exists", "mid", "op", "orm", "sim", "subset"})
_DAMAGE = re.compile(r"(?P<eaten>[\b\f\n\r\t])(?P<rest>[A-Za-z]+)")
_SPACE = "\n\t"


class LatexRepair(NamedTuple):
    """The damaged text, and the text shown in its place."""

    was: str
    shown: str


class RestoredText(NamedTuple):
    """A repaired text, and its differences from the stored one."""

    text: str
    repairs: list[LatexRepair]


def restore_latex(text: str) -> RestoredText:
    r"""Restore the backslashes that a JSON parser took for escapes: form feed and "rac" become `\frac`.

    Only known LaTeX commands are restored. A text without control characters is returned unchanged.
    """
    repairs: list[LatexRepair] = []

    def restored(damage: re.Match[str]) -> str:
        eaten, rest = damage["eaten"], damage["rest"]
        word = _EATEN[eaten] + rest
        if word not in _WORDS or (eaten in _SPACE and (len(rest) == 1 or rest in _REAL)):
            return damage[0]
        repairs.append(LatexRepair(damage[0], f"\\{word}"))
        return f"\\{word}"

    return RestoredText(_DAMAGE.sub(restored, text), repairs)
