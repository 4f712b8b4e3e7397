"""Pages use one term for one thing: no template, form or message has a word that the glossary replaces."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)

# Words that pages do not use -> the term of the glossary.
REPLACED = {
    r"desk": "dashboard",
    r"told|tells? (?:of|who|how)": "says, shows, notifies",
    r"held|holds?": "claimed by, has, current",
    r"free|frees|give back|given back|gives back": "release, available",
    r"stands?": "current, is, shows",
    r"hand (?:this|it|over)?\s*to a lead|with a lead|handed to": "escalate, send to a lead",
    r"take (?:it )?back|taken back|put back": "undo, withdraw",
    r"commit (?:my|your|their) scores|committed scores": "lock in",
    r"drawn by lot|by lot": "random sample",
    r"why a human|wanted a person|wants a person": "flag reason",
    r"nobody flagged|somebody flagged": "unflagged, flagged",
    r"in force": "current decision",
    r"opinions?": "independent review",
    r"those of others": "independent review",
    r"of late|anew|whoever": "plain English",
    r"stale": "outdated decision",
    r"ideal response": "reference answer",
    r"defects?": "error analysis, cause",
    r"escape rate": "miss rate",
    r"last sign of life": "last active",
    r"settle(?:d|s)? (?:the|a|this|several|conflicts?)": "resolve",
    r"turned (?:over|round)": "override",
    r"\d %|per cent": "63%",
}
PATTERN = re.compile(r"\b(?:" + "|".join(f"(?:{words})" for words in REPLACED) + r")\b", re.IGNORECASE)

# Text that has such a word for a reason: file -> words.
EXCEPTIONS: dict[str, set[str]] = {}

# Packages with forms and messages of pages.
PACKAGES = ("accounts", "runs", "site")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / "reviews" / "views" / package).glob("*.py"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS = sorted(path for path in (ROOT / "static").rglob("*.js") if "vendor" not in path.parts)

MARKUP = re.compile(r"{%.*?%}|{{.*?}}|<(?:script|style).*?</(?:script|style)>|<[^>]*>", re.DOTALL)
ATTRIBUTE = re.compile(r'(?:aria-label|title|placeholder|alt)="([^"]*)"')
LABEL = re.compile(r'(?:label|title)="([^"]*)"')
SCRIPT_STRING = re.compile(r'"([^"\n]* [^"\n]*)"|`([^`]* [^`]*)`')


def template_texts(source: str) -> Iterator[str]:
    """The comments, attributes and text of a template, without tags and variables."""
    yield from (re.sub(r"`[^`]*`", "", comment) for comment in re.findall(r"{#(.*?)#}", source))
    source = re.sub(r"{#.*?#}", "", source)
    yield from (re.sub(MARKUP, " ", value) for value in ATTRIBUTE.findall(source))
    yield from LABEL.findall(source)
    yield re.sub(MARKUP, " ", source)


def python_texts(source: str) -> Iterator[str]:
    """The string literals, formatted ones included, without docstrings."""
    tree = ast.parse(source)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, kinds)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
            yield node.value


def script_texts(source: str) -> Iterator[str]:
    for quoted, template in SCRIPT_STRING.findall(source):
        yield quoted or re.sub(r"\${.*?}", " ", template)


def texts(path: Path) -> Iterator[str]:
    readers = {".html": template_texts, ".py": python_texts, ".js": script_texts}
    return readers[path.suffix](path.read_text())


def replaced_words(path: Path) -> set[str]:
    allowed = EXCEPTIONS.get(path.relative_to(ROOT).as_posix(), set())
    found = {word.lower() for text in texts(path) for word in PATTERN.findall(text)}
    return found - allowed


@pytest.mark.parametrize(
    "path", [*TEMPLATES, *SCRIPTS, *MODULES], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_page_text_keeps_to_the_glossary(path: Path) -> None:
    assert replaced_words(path) == set()


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("page.html", "<p>Bo holds this record.</p>"),
        ("page.html", '<button title="Free it">x</button>'),
        ("page.html", '{% include "x.html" with label="Give back" %}'),
        ("page.html", "{# The desk of a lead. #}"),
        ("view.py", 'messages.success(request, f"{n} records held by others.")'),
        ("page.js", 'say("You are told when it is over.");'),
    ],
)
def test_glossary_check_finds_a_replaced_word(name: str, source: str) -> None:
    readers = {".html": template_texts, ".py": python_texts, ".js": script_texts}
    assert any(PATTERN.search(text) for text in readers[Path(name).suffix](source))


def test_exceptions_of_the_glossary_are_used() -> None:
    for name, words in EXCEPTIONS.items():
        found = {word.lower() for text in texts(ROOT / name) for word in PATTERN.findall(text)}
        assert words <= found
