r"""Untrusted text to safe HTML: the one door through which a record's text reaches a page.

`markdown` reads Markdown with LaTeX between `$ $`, `$$ $$`, `\( \)`, `\[ \]` or `\begin{align} \end{align}`.
Formulas come out as `<span class="math" data-display="true|false">source</span>`, which `math.js` typesets in
the browser; without it, and for a formula that cannot be typeset, the source is what is read.
No raw HTML, no images, no relative links, no styles, no ids pass.

Long text is cut at `MAX_CHARS` with a visible note; the whole of it can be downloaded with the record.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import JsonLexer

MAX_CHARS = 50_000
# The parser looks for the end of each of these up to the end of the text: thousands of them cost seconds.
_COSTLY = ("[", "\\begin{")
_MAX_OPENINGS = 2_000
_MAX_MATH_CHARS = 10_000

# Control characters (a form feed where a broken reader ate the "f" of \frac) are shown, not swallowed.
_VISIBLE_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}


def markdown(text: str) -> SafeString:
    """Markdown and LaTeX to HTML blocks."""
    shown = text[:MAX_CHARS].translate(_VISIBLE_CONTROLS)
    if any(shown.count(opening) > _MAX_OPENINGS for opening in _COSTLY):
        return plain(text)
    return _trusted(_CLEANER.clean(_MARKDOWN.render(shown)) + _cut_note(text))


def plain(text: str) -> SafeString:
    """Text as it is written, for a place where `markdown` would cost too much."""
    shown = escape(text[:MAX_CHARS].translate(_VISIBLE_CONTROLS))
    return _trusted(f'<p class="plain">{shown}</p>{_cut_note(text)}')


def json_html(value: Any) -> SafeString:
    """A JSON value, indented, with pygments' classes; goes inside `<pre class="json">`."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    coloured = highlight(text[:MAX_CHARS].translate(_VISIBLE_CONTROLS), _JSON, _CLASSES_ONLY)
    return _trusted(coloured.rstrip("\n") + _cut_note(text))


def text_with_spans(text: str, spans: Iterable[tuple[int, int]]) -> SafeString:
    """Plain text for a `<pre>`; span number n, in characters of `text`, becomes `<span data-span="n">`.

    Spans that overlap an earlier one are left unmarked.
    """
    shown = text[:MAX_CHARS].translate(_VISIBLE_CONTROLS)
    parts = []
    done = 0
    for (start, end), number in sorted((span, number) for number, span in enumerate(spans)):
        if done <= start < end <= len(shown):
            parts.append(escape(shown[done:start]))
            parts.append(format_html('<span data-span="{}">{}</span>', number, shown[start:end]))
            done = end
    parts.append(escape(shown[done:]))
    return _trusted("".join(parts) + _cut_note(text))


def _cut_note(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return ""
    return format_html(
        '<span class="cut-note">Cut here: the first {} of {} characters are shown.</span>',
        f"{MAX_CHARS:,}",
        f"{len(text):,}",
    )


def _trusted(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308 (each caller escapes or cleans what it passes)


# Formulas


_CLOSING = {"$$": "$$", "$": "$", r"\(": r"\)", r"\[": r"\]"}
_DISPLAY = {"$$", r"\["}
# "$5 (or US$ 7)" is about money: it begins with a digit and holds words.
_MONEY = re.compile(r"\d.*[\s(][A-Za-z]{2,}(?:[\s,.;:)]|$)", re.DOTALL)


def _inline_math(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 (markdown-it's signature)
    r"""A formula inside a line: `$ $`, `$$ $$`, `\( \)`, `\[ \]`."""
    two = state.src[state.pos : state.pos + 2]
    opening = two if two in _CLOSING else two[:1]
    if opening not in _CLOSING:
        return False
    start = state.pos + len(opening)
    end = _find_closing(state.src, _CLOSING[opening], start)
    content = state.src[start:end]
    if end < 0 or not content.strip() or "`" in content:
        return False
    if opening == "$" and not _is_dollar_math(state.src, start, end):
        return False
    if not silent:
        token = state.push("math_inline_double" if opening in _DISPLAY else "math_inline", "math", 0)
        token.content = content
        token.markup = opening
    state.pos = end + len(_CLOSING[opening])
    return True


def _find_closing(text: str, closing: str, start: int) -> int:
    """Where the formula ends: an escaped dollar is part of it. -1 where it does not end soon enough."""
    end = text.find(closing, start, start + _MAX_MATH_CHARS)
    while closing[0] == "$" and end > start and text[end - 1] == "\\":
        end = text.find(closing, end + 1, start + _MAX_MATH_CHARS)
    return end


def _is_dollar_math(text: str, start: int, end: int) -> bool:
    """Tell `$x$` from money: `$5 and $10`, `5$, then 6$`, `$5-$10`."""
    content = text[start:end]
    after_digit = text[start - 2 : start - 1].isdigit()
    return not (
        content[0].isspace()
        or content[-1].isspace()
        or text[end + 1 : end + 2].isdigit()
        or (after_digit and not (content[0].isalpha() or content[0] in "\\{("))
        or _MONEY.match(content)
    )


def _bracket_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    r"""A formula of its own lines: from a line that begins with `\[` to one that ends with `\]`."""
    start = state.bMarks[start_line] + state.tShift[start_line]
    if not state.src.startswith(r"\[", start):
        return False
    end = state.src.find(r"\]", start, start + _MAX_MATH_CHARS)
    last = next((line for line in range(start_line, end_line) if end < state.eMarks[line]), end_line)
    if end < 0 or last == end_line or state.src[end + 2 : state.eMarks[last]].strip():
        return False
    if not silent:
        # Line by line, because the source between them holds the marks of a quote around the formula.
        lines = range(start_line, last + 1)
        text = "\n".join(state.src[state.bMarks[n] + state.tShift[n] : state.eMarks[n]] for n in lines)
        token = state.push("math_block", "math", 0)
        token.block = True
        token.content = text.strip()[2:-2]
        token.map = [start_line, last + 1]
        state.line = last + 1
    return True


def _math(
    _self: RendererProtocol, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    token = tokens[index]
    display = "false" if token.type == "math_inline" else "true"
    return format_html('<span class="math" data-display="{}">{}</span>', display, token.content.strip())


# Markdown


def _make_markdown() -> MarkdownIt:
    """A parser that swallows nothing: what it does not format it shows as written."""
    parser = MarkdownIt("js-default", {"html": False, "linkify": False, "breaks": True})
    parser.disable(["image", "reference", "lheading", "code"])
    dollarmath_plugin(parser, allow_labels=False, allow_blank_lines=False)
    amsmath_plugin(parser)
    parser.inline.ruler.at("math_inline", _inline_math)
    parser.block.ruler.before(
        "math_block", "bracket_math", _bracket_block, {"alt": ["paragraph", "blockquote", "list"]}
    )
    for name in ("math_inline", "math_inline_double", "math_block", "amsmath"):
        parser.add_render_rule(name, _math)
    # The headings of a page are its own.
    parser.add_render_rule("heading_open", lambda *_: '<p class="heading">')
    parser.add_render_rule("heading_close", lambda *_: "</p>\n")
    return parser


_MARKDOWN = _make_markdown()
# fmt: off
_TAGS = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "span", "a", "blockquote", "ul", "ol", "li",
    "table", "thead", "tbody", "tr", "th", "td",
}
# fmt: on
_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
    tag_attribute_values={"span": {"data-display": {"true", "false"}}},
    allowed_classes={"span": {"math"}, "p": {"heading"}},
    set_tag_attribute_values={"a": {"target": "_blank"}},
    link_rel="noopener nofollow",
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
)
_JSON = JsonLexer()
_CLASSES_ONLY: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
