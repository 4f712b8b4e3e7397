r"""Render untrusted text as safe HTML. All texts of a record reach a page through this module.

`markdown` reads Markdown with LaTeX between `$ $`, `$$ $$`, `\( \)`, `\[ \]` or `\begin{align} \end{align}`.
Formulas become `<span class="math" data-display="true|false">source</span>`, which `math.js` typesets in the
browser. The source remains visible without scripts, and for formulas that cannot be typeset.
Raw HTML, images, relative links, styles and ids are removed.

Long text is cut with a visible note; the complete text can be downloaded with the record. LaTeX damaged by a
JSON reader is shown repaired, with a note of each repair.
"""

import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import partial
from threading import Lock
from typing import Any

import nh3
from django.utils.html import escape, format_html, format_html_join
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

from reviews.evidence.formulas import CLOSING, DISPLAY, content_end, find_formulas, is_bare_formula
from reviews.evidence.formulas import MAX_CHARS as MAX_FORMULA_CHARS
from reviews.records.json_text import indented
from reviews.records.latex import LatexRepair, restore_latex

MAX_CHARS = 50_000
MAX_INLINE_CHARS = 1_000
# Most fields of a record are short, and many records share their values.
_SHORT_JSON = 100
_MAX_LISTED_REPAIRS = 20
# A formula at the beginning of a text is shown whole up to this multiple of the limit.
_MOST_OF_LIMIT = 4
# The parser searches the rest of the text for the end of each of these: thousands of them cost seconds.
_COSTLY = ("[", "\\begin{")
_MAX_OPENINGS = 2_000

# In HTML from this module: a formula, a tag, a LaTeX command, a word, a character, or white space.
_TOKEN = re.compile(
    r"""<span\b[^>]*\bdata-display=[^>]*>[^<]*</span>|<(?:[^">]|"[^"]*")*>|\\[A-Za-z]+|\w+|&\#?\w+;|\s+|."""
)
# Separates texts. The cleaner leaves no comment in them.
_BETWEEN = "<!---->"

# Control characters are shown, for example the form feed of a misread "\f" in \frac.
_VISIBLE_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"}
# Overrides of the direction would show the text after them in another order: "54" as "45".
_VISIBLE_CONTROLS |= dict.fromkeys((0x202D, 0x202E), 0xFFFD)

_ALL_CONTROLS = {code: 0x2400 + code for code in range(32)}


class TextCache:
    """Cache of rendered texts that drops the least recently used once keys and values exceed `max_bytes`.

    The same texts are needed repeatedly: the models of a task share its reference, records are prefetched
    before they are shown, and a rejected form shows everything again. Each process has one cache for all
    its threads.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, tuple[SafeString, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, text: str, variant: Hashable, render: Callable[[], SafeString]) -> SafeString:
        """Return the cached result of `render` for this text and variant, or call it."""
        key = (variant, text)
        with self._lock:
            if found := self._entries.get(key):
                self._entries.move_to_end(key)
                return found[0]
        rendered = render()
        self._add(key, rendered, sys.getsizeof(text) + sys.getsizeof(rendered))
        return rendered

    def _add(self, key: Hashable, rendered: SafeString, size: int) -> None:
        with self._lock:
            if key in self._entries:
                return  # added by another thread in the meantime
            self._entries[key] = (rendered, size)
            self.size += size
            while self.size > self._max_bytes:
                _, (_, freed) = self._entries.popitem(last=False)
                self.size -= freed


_CACHE = TextCache(32 * 1024**2)


def markdown(text: str, limit: int = MAX_CHARS) -> SafeString:
    """Render Markdown and LaTeX as HTML blocks. Show about `limit` characters."""
    return _CACHE.get(text, ("blocks", limit), partial(_blocks, text, limit))


def inline(text: str, limit: int = MAX_INLINE_CHARS) -> SafeString:
    """Render Markdown and LaTeX as inline HTML, for table cells and list items."""
    return _CACHE.get(text, ("inline", limit), partial(_in_line, text, limit))


def answer(text: str, limit: int = MAX_INLINE_CHARS) -> SafeString:
    """Render a final answer as inline HTML. It may be a formula without delimiters."""
    return _bare_formula(text, limit) or inline(text, limit)


def result(text: str, limit: int = MAX_CHARS) -> SafeString:
    """Render a final answer or intermediate result as HTML blocks. It may be a formula without delimiters."""
    formula = _bare_formula(text, limit)
    return _trusted(f"<p>{formula}</p>") if formula else markdown(text, limit)


def _bare_formula(text: str, limit: int) -> SafeString | None:
    """Return the HTML of a text that is a formula without delimiters, and None for any other text."""
    shown, repairs = restore_latex(text[: limit + 1])
    if len(text) > limit or repairs or not is_bare_formula(shown):
        return None
    return _trusted(_math_html(shown.translate(_VISIBLE_CONTROLS), is_display=False))


def plain(text: str, limit: int = MAX_CHARS) -> SafeString:
    """Render text as it is, for texts on which `markdown` would be too slow."""
    shown, repairs = restore_latex(_start(text, limit))
    html = f'<p class="plain">{escape(shown.translate(_VISIBLE_CONTROLS))}</p>'
    return _trusted(html + _repair_details(repairs) + _cut_note(text, limit))


def _blocks(text: str, limit: int) -> SafeString:
    shown, repairs = restore_latex(_start(text, limit))
    if _is_costly(shown):
        return plain(text, limit)
    html = _CLEANER.clean(_MARKDOWN.render(shown.translate(_VISIBLE_CONTROLS)))
    return _trusted(html + _repair_details(repairs) + _cut_note(text, limit))


def _in_line(text: str, limit: int) -> SafeString:
    shown, repairs = restore_latex(_start(text, limit))
    html: str = escape(shown.translate(_VISIBLE_CONTROLS))
    if not _is_costly(shown):
        html = _CLEANER.clean(_MARKDOWN.renderInline(shown.translate(_VISIBLE_CONTROLS)))
    if len(text) > limit:
        html += " …"
    if repairs:
        note = ' <span class="repairs">({}: {})</span>'
        html += format_html(note, _counted(repairs), _listed(repairs))
    return _trusted(html)


def diff_html(pieces: Iterable[tuple[str, str]]) -> SafeString:
    """Render pieces of a diff, (kind, text) pairs: mark `removed` and `added` ones, and render formulas."""
    tags = {"removed": "del", "added": "ins"}
    parts = []
    for kind, text in pieces:
        html = _with_formulas(text)
        parts.append(f"<{tags[kind]}>{html}</{tags[kind]}>" if kind in tags else html)
    return _trusted("".join(parts))


def words_of(texts: Iterable[str]) -> list[str]:
    """Return the words of HTML texts from this module. A formula is one word."""
    return [_key(token) for token in _TOKEN.findall(_BETWEEN.join(texts)) if _is_word(token)]


def mark_words(texts: Iterable[str], tag: str, marked: Collection[int]) -> list[SafeString]:
    """Put words of HTML texts from this module, by their number in `words_of`, into `del` or `ins` elements.

    Neighbouring words share an element, unless a tag is between them.
    """
    parts: list[str] = []
    number, is_open, gap = 0, False, ""
    for token in _TOKEN.findall(_BETWEEN.join(texts)):
        if token.isspace():
            gap = token
            continue
        opens = _is_word(token) and number in marked
        number += _is_word(token)
        parts += _boundary(tag, gap, is_open=is_open, opens=opens)
        parts.append(token)
        is_open, gap = opens, ""
    parts += _boundary(tag, gap, is_open=is_open, opens=False)
    return [_trusted(html) for html in "".join(parts).split(_BETWEEN)]


def _boundary(tag: str, gap: str, *, is_open: bool, opens: bool) -> list[str]:
    """Return the white space between two tokens, with the start or the end of an element if one is there."""
    if is_open == opens:
        return [gap]
    return [gap, f"<{tag}>"] if opens else [f"</{tag}>", gap]


def _is_word(token: str) -> bool:
    return not token.isspace() and (not token.startswith("<") or "data-display=" in token)


def _key(token: str) -> str:
    """Return a word as it is compared: formulas without their delimiters and white space."""
    return "".join(token[token.index(">") + 1 : -len("</span>")].split()) if token.startswith("<") else token


def _with_formulas(text: str) -> str:
    parts: list[str] = []
    done = 0
    for formula in find_formulas(text):
        parts.append(escape(text[done : formula.start].translate(_VISIBLE_CONTROLS)))
        parts.append(_math_html(formula.source, formula.is_display))
        done = formula.end
    return "".join([*parts, escape(text[done:].translate(_VISIBLE_CONTROLS))])


def _is_costly(text: str) -> bool:
    return any(text.count(opening) > _MAX_OPENINGS for opening in _COSTLY)


def json_html(value: Any) -> SafeString:
    """Render a JSON value, indented, with pygments' classes. The HTML goes inside `<pre class="json">`."""
    text = indented(value, 2)
    if len(text) > _SHORT_JSON:
        return _coloured(text)
    return _CACHE.get(text, "json", partial(_coloured, text))


def _coloured(text: str) -> SafeString:
    coloured = highlight(text[:MAX_CHARS].translate(_VISIBLE_CONTROLS), _JSON, _CLASSES_ONLY)
    return _trusted(coloured.rstrip("\n") + _cut_note(text, MAX_CHARS))


def text_with_spans(text: str, spans: Iterable[tuple[int, int]]) -> SafeString:
    """Render plain text for a `<pre>`. Span number n of `text` becomes `<span data-span="n">`.

    Spans that overlap an earlier one are not marked.
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
    return _trusted("".join(parts) + _cut_note(text, MAX_CHARS))


def _start(text: str, limit: int) -> str:
    """Return the beginning of a text, without cutting a formula."""
    if len(text) <= limit:
        return text
    around = find_formulas(text[: limit + MAX_FORMULA_CHARS])
    cut = next((formula for formula in around if formula.start < limit < formula.end), None)
    if cut is None:
        return text[:limit]
    # Nothing would be left without a formula at the beginning.
    return text[: cut.start or min(cut.end, _MOST_OF_LIMIT * limit)]


def _repair_details(repairs: Sequence[LatexRepair]) -> str:
    if not repairs:
        return ""
    html = '<details class="repairs"><summary>{}</summary>{}</details>'
    return format_html(html, _counted(repairs), _listed(repairs))


def _counted(repairs: Sequence[LatexRepair]) -> str:
    return "1 repair" if len(repairs) == 1 else f"{len(repairs):,} repairs"


def _listed(repairs: Sequence[LatexRepair]) -> str:
    """List each repair: the original and the shown characters."""
    each = format_html_join(
        "; ",
        "<code>{}</code> shown as <code>{}</code>",
        ((was.translate(_ALL_CONTROLS), shown) for was, shown in repairs[:_MAX_LISTED_REPAIRS]),
    )
    more = len(repairs) - _MAX_LISTED_REPAIRS
    return format_html("{}; and {} more", each, f"{more:,}") if more > 0 else each


def _cut_note(text: str, limit: int) -> str:
    if len(text) <= limit:
        return ""
    return format_html(
        '<span class="cut-note">Cut here: the first {} of {} characters are shown.</span>',
        f"{limit:,}",
        f"{len(text):,}",
    )


def _trusted(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308 (each caller escapes or cleans what it passes)


# Formulas


def _inline_math(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 (markdown-it's signature)
    r"""Parse an inline formula: `$ $`, `$$ $$`, `\( \)`, `\[ \]`."""
    two = state.src[state.pos : state.pos + 2]
    opening = two if two in CLOSING else two[:1]
    if opening not in CLOSING:
        return False
    start = state.pos + len(opening)
    end = content_end(state.src, opening, start)
    if end < 0:
        return False
    if not silent:
        token = state.push("math_inline_double" if opening in DISPLAY else "math_inline", "math", 0)
        token.content = state.src[start:end]
        token.markup = opening
    state.pos = end + len(CLOSING[opening])
    return True


def _bracket_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    r"""Parse a block formula: from a line that begins with `\[` to a line that ends with `\]`."""
    start = state.bMarks[start_line] + state.tShift[start_line]
    if not state.src.startswith(r"\[", start):
        return False
    end = state.src.find(r"\]", start, start + MAX_FORMULA_CHARS)
    last = next((line for line in range(start_line, end_line) if end < state.eMarks[line]), end_line)
    if end < 0 or last == end_line or state.src[end + 2 : state.eMarks[last]].strip():
        return False
    if not silent:
        # Line by line: a block quote puts its markers between the lines of the formula.
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
    return _math_html(token.content, token.type != "math_inline")


def _math_html(source: str, is_display: bool) -> str:  # noqa: FBT001 (a value)
    display = "true" if is_display else "false"
    return format_html('<span class="math" data-display="{}">{}</span>', display, source.strip())


# Markdown


def _make_markdown() -> MarkdownIt:
    """Return a parser that drops nothing: unsupported syntax is shown as written."""
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
    # Only the page itself has headings.
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
