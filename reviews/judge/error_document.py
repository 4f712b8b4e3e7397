"""The defects of a judge's prompts as a Markdown document, to paste into an issue or a prompt's history."""

import re
from collections.abc import Callable, Iterator

from reviews.judge.data_summary import counted
from reviews.judge.error_analysis import ErrorAnalysis, Example, NamedCause, TemplateErrors

# What Markdown would take for a sign of its own.
_SIGNS = re.compile(r"([\\`*_{}\[\]<>#!|~$&])")
_TICKS = re.compile(r"`+")


def markdown(defects: ErrorAnalysis, link: Callable[[Example], str]) -> Iterator[str]:
    """The document, line by line with line ends. `link` gives the address of an example's record.

    What records say stands in code blocks, so that nothing in it is formatted, run or fetched.
    """
    yield f"# What is wrong with the judge's prompts: {_plain(defects.scope.run.name)}\n\n"
    if not defects.templates:
        yield "No reviewer has named a cause yet.\n"
    for template in defects.templates:
        yield from _template(template, link)


def _template(template: TemplateErrors, link: Callable[[Example], str]) -> Iterator[str]:
    yield f"## {_plain(template.path)}\n\n"
    yield "| Cause | Named | For |\n|---|---:|---|\n"
    for cause in template.causes:
        criteria = ", ".join(f"{_plain(one.title)} ({one.mentions:,})" for one in cause.criteria)
        yield f"| {_plain(cause.title)} | {cause.mentions:,} | {criteria} |\n"
    yield "\n"
    for cause in template.causes:
        yield from _cause(cause, link)


def _cause(cause: NamedCause, link: Callable[[Example], str]) -> Iterator[str]:
    yield f"### {_plain(cause.title)}, named {counted(cause.mentions, 'time')}\n\n"
    for example in cause.examples:
        yield f"[{_plain(example.title)}]({link(example)}), {_plain(example.criterion_title)}\n\n"
        judge = f"The judge ({_plain(example.judge)})"
        yield from _said(judge, example.judge_score, example.judge_justification)
        yield from _said("The reviewer", example.human_score, example.human_justification)
        if example.comment:
            yield f"Comment:\n\n{_block(example.comment)}\n"


def _said(who: str, score: str, justification: str) -> Iterator[str]:
    gave = f"{who}: **{_plain(score)}**" if score else f"{who}: no score"
    yield f"{gave}\n\n"
    if justification:
        yield f"{_block(justification)}\n"


def _plain(text: str) -> str:
    """A text within a line, with no sign that formats."""
    return _SIGNS.sub(r"\\\1", " ".join(text.split()))


def _block(text: str) -> str:
    """A text as it is, in a fence longer than any run of backticks in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.strip()}\n{fence}\n"
