"""The style sheets take colours, distances, sizes of text, corners and shadows from the tokens."""

import re
from itertools import chain
from pathlib import Path

import pytest
from django.conf import settings

SHEETS = settings.BASE_DIR / "static" / "css"
TOKENS = SHEETS / "tokens.css"
OTHERS = sorted({*SHEETS.glob("*.css")} - {TOKENS})

DECLARATION = re.compile(r"(?<![\w-])([a-z-]+):\s*([^;{}]+)(?=[;}])")
COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch|light-dark)a?\(|\b(?:white|black|red)\b", re.IGNORECASE
)
RAW_LENGTH = re.compile(r"(?<![\w.-])\d*\.?\d+(?:rem|px|pt|em|vh|dvh)\b")
# A hairline is no distance, and text inside of text is relative to it.
ALLOWED = {"1px", ".875em"}
DISTANCES = re.compile(
    r"(?:padding|margin|gap|row-gap|column-gap)(?:-[a-z-]+)?|font-size|line-height|border-(?:[a-z-]+-)?radius"
)


def declarations(sheet: str) -> list[tuple[str, str]]:
    """Return the declarations for screens: paper has measures of its own."""
    text = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    screen = re.sub(r"@media print \{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}", "", text)
    return DECLARATION.findall(screen)


def one_off_values(sheet: str) -> list[str]:
    """Return the declarations with a value that a token should give."""
    found = []
    for name, value in declarations(sheet):
        lengths = set(RAW_LENGTH.findall(value)) - ALLOWED
        is_size = DISTANCES.fullmatch(name) and (
            lengths or (name == "line-height" and re.fullmatch(r"[\d.]*[2-9]\d*", value))
        )
        is_shadow = name == "box-shadow" and "inset" not in value and lengths
        if COLOUR.search(value) or is_size or is_shadow:
            found.append(f"{name}: {value}")
    return found


@pytest.mark.parametrize("sheet", OTHERS, ids=lambda sheet: sheet.name)
def test_style_sheet_takes_its_values_from_the_tokens(sheet: Path) -> None:
    assert one_off_values(sheet.read_text()) == []


def test_one_off_values_finds_colours_and_distances() -> None:
    sheet = """
    a { color: #fff; padding: 0 .375rem; margin: 1px; line-height: 1.2; border-radius: .5rem; }
    b { color: var(--ink); padding: 0 var(--space-8); line-height: 1; width: 9rem; }
    i { box-shadow: 0 1px 2px var(--line); }
    u { box-shadow: inset 0 0 0 2px currentcolor; }
    @media print { b { margin: 3pt; } }"""
    found = [value.split(":")[0] for value in one_off_values(sheet)]
    assert found == ["color", "padding", "line-height", "border-radius", "box-shadow"]


def test_every_token_in_use_is_defined() -> None:
    texts = {path.name: path.read_text() for path in SHEETS.glob("*.css")}
    defined = set(re.findall(r"(--[\w-]+):", "".join(texts.values())))
    used = set(chain.from_iterable(re.findall(r"var\((--[\w-]+)", text) for text in texts.values()))
    assert used - defined == set()
