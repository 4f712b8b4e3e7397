"""Rendering of untrusted text: supported syntax is formatted, everything else is shown or removed."""

from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from itertools import count

import pytest
from django.utils.safestring import SafeString

from reviews.evidence.rendering import (
    MAX_CHARS,
    TextCache,
    answer,
    diff_html,
    inline,
    json_html,
    mark_words,
    markdown,
    plain,
    result,
    text_with_spans,
    words_of,
)


class Seen(HTMLParser):
    """Collect tags, attributes and their values, as a browser parses them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.values: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.values |= {value or "" for _, value in attrs}


def formula(source: str) -> str:
    return f'<span class="math" data-display="false">{source}</span>'


def display(source: str) -> str:
    return f'<span class="math" data-display="true">{source}</span>'


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        (r"so $x^2$ holds", formula("x^2")),
        (r"so \(\frac{1}{2}\) holds", formula(r"\frac{1}{2}")),
        (r"it is 2$\pi$ long", formula(r"\pi")),
        (r"in dollars $a\$b$", formula(r"a\$b")),
        (r"if $a < b & c$", formula("a &lt; b &amp; c")),
        (r"so $$x^2$$ holds", display("x^2")),
        (r"so \[x^2\] holds", display("x^2")),
        ("$$\nx^2\n$$", display("x^2")),
        ("\\[\nx\n+ y\n- z\n\\]", display("x\n+ y\n- z")),
        ("text before\n\\[\nx\n\\]\ntext behind", display("x")),
        ("- item\n\n  \\[\n  x\n  \\]", display("x")),
        ("> \\[\n> x\n> \\]", display("x")),
        (r"\begin{align} a &= b \end{align}", display(r"\begin{align} a &amp;= b \end{align}")),
    ],
)
def test_formula_keeps_its_source(text: str, formula: str) -> None:
    assert formula in markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "it costs $5 and $10",
        "US$5 against CA$6",
        "between $5-$10",
        "first 5$, then 10$ more",
        "$5 (or US$ 7)",
        "`$x$` is code",
        r"`\(x\)` is code",
        "```\n$x$\n```",
        "it costs $5 in `a$b`",
        r"an escaped \$x\$",
        r"\(never closed",
        "$$\nnever closed",
        "$ $",
    ],
)
def test_money_and_code_are_no_formulas(text: str) -> None:
    assert "math" not in markdown(text)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("**bold** and *soft*", "<strong>bold</strong> and <em>soft</em>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("3. third", '<ol start="3">'),
        ("| a |\n|---|\n| 1 |", "<td>1</td>"),
        ("```python\nprint(1)\n```", "<pre><code>print(1)\n</code></pre>"),
        ("# Heading", '<p class="heading">Heading</p>'),
        ("text\n---\nmore", "<p>text</p>\n<hr>\n<p>more</p>"),
    ],
)
def test_markdown_is_formatted(text: str, html: str) -> None:
    assert html in markdown(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;"),
        ('<img src=x onerror="alert(1)">', "&lt;img"),
        ("[go](javascript:alert(1))", "[go](javascript:alert(1))"),
        ("[1]: http://example.org\nsee", "[1]: http://example.org"),
        ("    indented", "<p>indented</p>"),
        ("a\x0c and \x08x", "a␌ and ␈x"),
    ],
)
def test_unsupported_syntax_is_shown_as_written(text: str, shown: str) -> None:
    assert shown in markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<a href="javascript:alert(1)">x</a>',
        "![a picture](http://example.org/x.png)",
        "| a |\n|--:|\n| 1 |",
        '[x](http://example.org "onmouseover=alert(1)")',
        r'$\href{javascript:alert(1)}{x}" onclick="alert(1)$',
        '<span class="math">x</span>',
    ],
)
def test_scripts_images_and_styles_are_removed(text: str) -> None:
    seen = Seen()
    seen.feed(markdown(text))
    assert seen.tags <= {"p", "a", "span", "table", "thead", "tbody", "tr", "th", "td"}
    assert seen.attributes <= {"href", "target", "rel", "class", "data-display"}
    assert not any(value.startswith("javascript") for value in seen.values)


def test_external_link_opens_new_tab_without_referrer() -> None:
    assert 'href="https://example.org" target="_blank" rel="noopener nofollow"' in markdown(
        "[there](https://example.org)"
    )


def test_link_to_this_site_is_removed() -> None:
    assert "href" not in markdown("[sign out](/logout/)")


@pytest.mark.parametrize("render", [markdown, plain, json_html, lambda text: text_with_spans(text, [])])
def test_long_text_is_cut_with_a_note(render: Callable[[str], str]) -> None:
    html = render("x" * 3_000_000)
    assert len(html) < MAX_CHARS + 1000
    assert "the first 50,000 of 3,000,0" in html


@pytest.mark.parametrize("nuisance", ["[", "![[", r"\begin{align}" + "\n"])
def test_costly_text_is_shown_as_written(nuisance: str) -> None:
    assert '<p class="plain">' in markdown(nuisance * 5000)


def test_json_is_highlighted_by_classes() -> None:
    html = json_html({"a<b": [1, None]})
    assert '<span class="nt">"a&lt;b"</span>' in html
    assert '<span class="kc">null</span>' in html
    assert "style=" not in html


def test_spans_are_numbered() -> None:
    assert text_with_spans("a<b cd", [(4, 6), (0, 3)]) == (
        '<span data-span="1">a&lt;b</span> <span data-span="0">cd</span>'
    )


def test_overlapping_or_outlying_span_is_not_marked() -> None:
    assert text_with_spans("abcdef", [(0, 3), (2, 5), (4, 9), (0, 0)]) == (
        '<span data-span="0">abc</span>def'
    )


class TestInline:
    def test_inline_text_has_no_blocks(self) -> None:
        assert inline("**so** $x$\n# no heading") == (
            '<strong>so</strong> <span class="math" data-display="false">x</span><br>\n# no heading'
        )

    def test_inline_text_is_not_cut_inside_a_formula(self) -> None:
        assert inline("so $x^2 + y^2$ holds", 10) == "so  …"
        assert inline("so it is", 10) == "so it is"

    def test_inline_html_is_escaped(self) -> None:
        assert inline("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;"


class TestDamagedLatex:
    """A JSON parser took the backslash and a letter for a control character before the text was imported."""

    def test_damaged_latex_is_repaired_with_a_note(self) -> None:
        html = markdown("so $\x0crac{1}{2}$ and $\theta$")
        assert r'<span class="math" data-display="false">\frac{1}{2}</span>' in html
        assert r'<span class="math" data-display="false">\theta</span>' in html
        assert "<summary>2 repairs</summary>" in html
        assert r"<code>␌rac</code> shown as <code>\frac</code>" in html

    def test_damaged_inline_latex_is_repaired_with_a_note(self) -> None:
        assert "(1 repair: <code>␈eta</code> shown as" in inline("$\x08eta$")

    def test_undamaged_latex_has_no_note(self) -> None:
        assert "repair" not in markdown("a\nuse of\ttabs")


@pytest.mark.parametrize(
    "render", [markdown, inline, plain, json_html, lambda text: text_with_spans(text, [])]
)
def test_overrides_of_the_direction_are_shown_and_do_nothing(render: Callable[[str], SafeString]) -> None:
    html = render("is \u202e54 or \u202d45")
    assert "\ufffd54" in html
    assert "\ufffd45" in html


class TestDiff:
    def test_diff_marks_pieces_and_keeps_formulas_whole(self) -> None:
        html = diff_html([("same", "it is "), ("removed", "$5 < 6$"), ("added", r"\[x\]"), ("same", " <b>")])
        assert html == (
            'it is <del><span class="math" data-display="false">5 &lt; 6</span></del>'
            '<ins><span class="math" data-display="true">x</span></ins> &lt;b&gt;'
        )

    def test_words_of_html_are_those_that_a_reader_sees(self) -> None:
        html = markdown("## So **a<b**, [x](https://a.org/b)\n\n- $c + d$\n- `\\frac`")
        assert words_of([html, "<p>e</p>"]) == ["So", "a", "&lt;", "b", ",", "x", "c+d", "\\frac", "e"]

    @pytest.mark.parametrize(
        ("text", "marked", "found"),
        [
            ("a b c d", {1, 2}, "<p>a <del>b c</del> d</p>"),
            ("a **b** c", {0, 1, 2}, "<p><del>a</del> <strong><del>b</del></strong> <del>c</del></p>"),
            ("a", set(), "<p>a</p>"),
            (
                "so $x$ ok",
                {1},
                '<p>so <del><span class="math" data-display="false">x</span></del> ok</p>',
            ),
        ],
    )
    def test_marks_stay_inside_the_elements_of_the_text(
        self, text: str, marked: set[int], found: str
    ) -> None:
        [html] = mark_words([markdown(text)], "del", marked)
        assert html.strip() == found

    @pytest.mark.parametrize(
        "text",
        [
            "| a | b |\n|---|---|\n| 1 | $$x$$ |",
            "> q\n\n```py\nif a < b:\n    c\n```",
            "<!----> <b> \"'&",
            "",
        ],
    )
    def test_marks_change_nothing_else(self, text: str) -> None:
        texts = [markdown(text), json_html({"a": [text, 1, None]})]
        everything = range(len(words_of(texts)))
        marked = mark_words(texts, "ins", everything)
        assert [html.replace("<ins>", "").replace("</ins>", "") for html in marked] == texts


def test_same_text_is_rendered_once() -> None:
    text = "a text that no other test renders"
    assert markdown(text) is markdown(text)


def test_cache_renders_a_text_once() -> None:
    cache = TextCache(10_000)
    shown = [cache.get("x", "bold", partial(SafeString, html)) for html in ("<b>x</b>", "again")]
    assert shown == ["<b>x</b>"] * 2


def test_cache_renders_each_text_and_variant() -> None:
    cache, numbers = TextCache(10_000), count()
    shown = [cache.get(text, variant, lambda: SafeString(next(numbers))) for text in "xy" for variant in "12"]
    assert shown == ["0", "1", "2", "3"]


def test_cache_drops_the_least_recently_used_text() -> None:
    cache = TextCache(3_500)
    for text in "abc":
        cache.get(text, "", partial(SafeString, "x" * 1_000))
    cache.get("a", "", partial(SafeString, "again"))
    cache.get("d", "", partial(SafeString, "x" * 1_000))
    is_cached = [cache.get(text, "", partial(SafeString, "again")) != "again" for text in "acdb"]
    assert is_cached == [True, True, True, False]


def test_cache_never_exceeds_its_size() -> None:
    cache = TextCache(10_000)
    for number in range(100):
        cache.get(f"text {number}", "", partial(SafeString, "x" * 3_000))
        assert cache.size <= 10_000
    cache.get("huge", "", partial(SafeString, "x" * 20_000))
    assert cache.size == 0


@pytest.mark.parametrize(
    "text",
    [r"95^\circ", r"\frac{7}{2}", r"n \geq 2", "x^2 + 1", r"\text{yes, it is } \pi", "(5 e^6 + 1)/36"],
)
def test_final_answer_can_be_a_formula_without_delimiters(text: str) -> None:
    assert answer(text) == f'<span class="math" data-display="false">{text}</span>'


@pytest.mark.parametrize(
    "text",
    [
        "54",
        "x = 0",
        "final_answer",
        r"\dfrac{\pi^{3",
        r"the sum of \( a^2 \)",
        "the power x^2",
        "** x^2",
        r"It is \[a^2\].",
        r"\frac{1}{2}\n\n$x$",
        "<b>x^2</b>`",
    ],
)
def test_final_answer_that_is_no_formula_is_text(text: str) -> None:
    assert answer(text) == inline(text)


def test_result_is_a_paragraph_with_a_formula_or_markdown() -> None:
    assert result("x^2") == '<p><span class="math" data-display="false">x^2</span></p>'
    assert result("- one\n- two") == markdown("- one\n- two")


def test_markup_in_a_bare_formula_is_escaped() -> None:
    assert answer("<b>^2") == '<span class="math" data-display="false">&lt;b&gt;^2</span>'


def test_formula_at_the_beginning_is_not_cut_away() -> None:
    long = r"\(" + "x + " * 60 + r"y\)"
    assert inline(f"{long} and more", 120) == f'<span class="math" data-display="false">{long[2:-2]}</span> …'
    assert inline(r"\(" + "x + " * 600 + r"y\)", 120).endswith("x  …")
