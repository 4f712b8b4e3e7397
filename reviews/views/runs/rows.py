"""The rows of a list of records. A template would take six times as long for the 50 rows of a page."""

import datetime as dt
from functools import cache, lru_cache
from typing import Any, NamedTuple

from django.template.defaultfilters import capfirst
from django.utils.safestring import SafeString

from cognireview.web.markup import format_html, format_html_join, join_html
from reviews.models import Evaluation, Run, User
from reviews.records.rubric import Rubric, Verdict
from reviews.records.wording import shorten_middle
from reviews.rubric.run_rubric import run_rubric
from reviews.search.listing import ListedRecord, RecordPage
from reviews.search.verdicts import judge_verdict
from reviews.templatetags.times import clock, due, moment
from reviews.views.row_parts import NOTHING, record_address, shorten

_SHOWN_REASONS, _REASON_LENGTH = 2, 90
# Filled by position, which takes half as long as by name.
_ROW = """<tr data-row="{}">{}
<th scope="row"><a href="{}">{}</a></th>
<td data-column="Model">{}</td><td data-column="Judge">{}</td><td class="nowrap" data-column="Verdict">{}</td>
<td class="reasons">{}</td>
<td class="state" data-column="Status">{} {} {} {}</td>
</tr>
"""
_PICK = (
    '<td class="pick"><input type="checkbox" name="record" value="{}" data-pick aria-label="Select {}"></td>'
)
_MUTED = '<span class="muted">{}</span>'
_BLIND = format_html(_MUTED, "Blind")
_CHANGED_FROM = '<del class="muted">{}</del> <span aria-hidden="true">→</span> '
_NOTE = '<span class="small muted block">{}{}</span>'
# The cached rows of a table, by the values of their record and whether it is hidden. They depend neither on
# the time nor on the reader. Formatting a row takes five times as long as finding it.
_RowCache = dict[tuple[tuple[Any, ...], bool], SafeString]
_MAX_CACHED = 200


class _Table(NamedTuple):
    """The facts on which all rows of a page depend."""

    rubric: Rubric
    #: The due date of the run, and whether its queue hides flag reasons.
    due_on: dt.date | None
    hides_reasons: bool
    #: Whether each row has a checkbox.
    selects: bool


def rows_of(page: RecordPage, run: Run, reader: User, *, selects: bool) -> SafeString:
    """Return the rows of a page for its reader, each with a checkbox if the reader `selects` records."""
    table = _Table(run_rubric(run), run.due_on, run.draws_samples, selects)
    cached = _row_cache(table)
    return join_html(_row(table, cached, one, reader, is_blind=one.pk in page.hidden) for one in page.records)


@lru_cache(maxsize=8)
def _row_cache(_table: _Table) -> _RowCache:
    return {}


def _row(
    table: _Table, cached: _RowCache, listed: ListedRecord, reader: User, *, is_blind: bool
) -> SafeString:
    key = listed.values, is_blind
    if known := cached.get(key):
        return known
    evaluation = listed.create()
    row = _format_row(table, evaluation, reader, is_blind=is_blind)
    depends_on_more = evaluation.claimed_by_id or evaluation.assigned_to_id or evaluation.due
    if not depends_on_more:
        if len(cached) >= _MAX_CACHED:
            cached.clear()
        cached[key] = row
    return row


def _format_row(table: _Table, evaluation: Evaluation, reader: User, *, is_blind: bool) -> SafeString:
    return format_html(
        _ROW,
        evaluation.pk,
        format_html(_PICK, evaluation.pk, evaluation.title) if table.selects else NOTHING,
        record_address(evaluation.pk),
        evaluation.short_title,
        shorten_middle(evaluation.model_id or ""),
        shorten_middle(evaluation.judge_llm_model),
        _BLIND if is_blind else _verdict_cell(*_verdicts(evaluation, table.rubric)),
        _BLIND if is_blind else _reasons(evaluation),
        NOTHING if evaluation.is_outdated else evaluation.shown_status,
        _badges(evaluation),
        _due(evaluation),
        _note(evaluation, reader),
    )


@cache
def _verdict_cell(verdict: Verdict | None, judged: Verdict | None) -> SafeString:
    """Show the verdict, after that of the judge if a person changed it."""
    return format_html(
        '{}<span class="{}">{}</span>',
        format_html(_CHANGED_FROM, judged) if judged not in {None, verdict} else NOTHING,
        f"badge {verdict.lower()}" if verdict else "muted",
        verdict or "none",
    )


def _verdicts(evaluation: Evaluation, rubric: Rubric) -> tuple[Verdict | None, Verdict | None]:
    """Return the verdict to show, and that of the judge."""
    judged, human = judge_verdict(evaluation, rubric), rubric.verdict(evaluation.human_corrected_scores)
    return human or judged, judged


def _reasons(evaluation: Evaluation) -> SafeString:
    if evaluation.hides_reasons:
        return format_html(_MUTED, "shown after you decide")
    reasons = evaluation.review_reasons
    if not reasons:
        return NOTHING
    more = len(reasons) - _SHOWN_REASONS
    texts = [(shorten(one, _REASON_LENGTH),) for one in reasons[:_SHOWN_REASONS]]
    shown = format_html_join("", "<span>{}</span>", texts)
    return shown + format_html(_MUTED, f"and {more} more") if more > 0 else shown


def _badges(evaluation: Evaluation) -> SafeString:
    if not (evaluation.is_outdated or evaluation.is_escalated or evaluation.priority > 0):
        return NOTHING
    possible = (
        (evaluation.is_outdated, "partial", "Outdated decision"),
        (evaluation.is_escalated, "partial", "Escalated"),
        (evaluation.priority > 0, "info", "Priority"),
    )
    shown = [(style, text) for is_shown, style, text in possible if is_shown]
    return format_html_join(" ", '<span class="badge {}">{}</span>', shown)


def _due(evaluation: Evaluation) -> SafeString:
    if evaluation.due is None:
        return NOTHING
    style = "small block" if evaluation.is_overdue else "small block muted"
    return format_html('<span class="{}">{}</span>', style, capfirst(due(evaluation.due)))


def _note(evaluation: Evaluation, reader: User) -> SafeString:
    """Return a note on the person who decided, claimed or has to review a record."""
    if evaluation.review:
        decision = evaluation.review
        return format_html(_NOTE, f"{decision.reviewer.name}, ", moment(decision.submitted_at))
    if evaluation.is_in_progress and evaluation.claimed_by:
        name = _name(evaluation.claimed_by, reader)
        return format_html(_NOTE, f"Claimed by {name} until ", clock(evaluation.claimed_until))
    if evaluation.assigned_to and evaluation.in_queue:
        return format_html(_NOTE, f"Assigned to {_name(evaluation.assigned_to, reader)}", "")
    if evaluation.human_reviewer_id:
        return format_html(_NOTE, f"{evaluation.human_reviewer_id} (imported)", "")
    return NOTHING


def _name(person: User, reader: User) -> str:
    return "you" if person == reader else person.name
