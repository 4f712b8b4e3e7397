"""The rows of the table of other models. A template looks up about 700 names for the records of a task."""

from typing import NamedTuple

from django.urls import reverse
from django.utils.safestring import SafeString

from cognireview.web.markup import format_html, format_html_join
from reviews.evidence import rendering
from reviews.evidence.siblings import Sibling, Siblings, SiblingScore
from reviews.models import Evaluation
from reviews.records.wording import shorten_middle
from reviews.views.row_parts import NOTHING, record_address, shorten

_LONGEST_MODEL, _LONGEST_ANSWER, _LONGEST_SCORE = 60, 120, 8
_ROW = """<tr{current}>
  <th scope="row">{model}</th>
  <td>{answer}{same}</td>
  {scores}
  {verdicts}
</tr>
"""
_THIS = '{} <span class="small muted">this record</span>'
_OTHER = '<a href="{address}" data-peek="{peek}"{title}>{model}</a>{judge}'
_JUDGE = ' <span class="small muted">judged by {}</span>'
_SEE_ABOVE = format_html('<span class="muted">{}</span>', "see above")
_NO_ANSWER = format_html('<span class="muted">{}</span>', "none extracted")
_ANSWER = '<span class="answer">{}</span>'
_SAME = format_html(' <span class="small muted">{}</span>', "same")
_SCORE = '<td class="score" data-counts="{}">{}</td>'
_VERDICTS = '<td class="nowrap">{}{}</td>'
_JUDGED = '<span class="badge {}">{}</span>'
_DECIDED = ' <span class="badge {}">{} <small>human</small></span>'


class _TableContext(NamedTuple):
    #: The record on the page.
    evaluation: Evaluation
    #: Whether the page shows the final answer of the record above the table.
    has_answer_above: bool
    have_verdicts: bool


def sibling_rows(siblings: Siblings, evaluation: Evaluation, *, has_answer_above: bool) -> SafeString:
    shown = _TableContext(evaluation, has_answer_above, siblings.have_verdicts)
    return format_html_join("", "{}", [(_row(one, shown),) for one in siblings.records])


def _row(sibling: Sibling, shown: _TableContext) -> SafeString:
    is_this = sibling.is_this
    return format_html(
        _ROW,
        current=format_html(' aria-current="{}"', "true") if is_this else NOTHING,
        model=format_html(_THIS, _model(sibling)) if is_this else _link(sibling, shown.evaluation),
        answer=_SEE_ABOVE if is_this and shown.has_answer_above else _answer(sibling),
        same=_SAME if sibling.is_same_answer and not is_this else NOTHING,
        scores=format_html_join("", _SCORE, [(one.level or NOTHING, _score(one)) for one in sibling.scores]),
        verdicts=_verdicts(sibling) if shown.have_verdicts else NOTHING,
    )


def _model(sibling: Sibling) -> str:
    return shorten_middle(sibling.model, _LONGEST_MODEL)


def _link(sibling: Sibling, evaluation: Evaluation) -> SafeString:
    is_cut = len(sibling.model) > _LONGEST_MODEL
    is_of_judge = sibling.judge == evaluation.judge_llm_model
    return format_html(
        _OTHER,
        address=record_address(sibling.pk),
        peek=reverse("peek", args=[evaluation.pk, sibling.pk]),
        title=format_html(' title="{}"', sibling.model) if is_cut else NOTHING,
        model=_model(sibling),
        judge=NOTHING if is_of_judge else format_html(_JUDGE, shorten(sibling.judge, _LONGEST_MODEL)),
    )


def _answer(sibling: Sibling) -> SafeString:
    if not sibling.answer:
        return _NO_ANSWER
    return format_html(_ANSWER, rendering.answer(sibling.answer, _LONGEST_ANSWER))


def _score(score: SiblingScore) -> str:
    if not score.is_overridden:
        return shorten(score.judge, _LONGEST_SCORE) or "–"  # noqa: RUF001 (the sign for no score)
    judge = f"{shorten(score.judge, _LONGEST_SCORE)} → " if score.judge else ""
    return f"{judge}{shorten(score.human, _LONGEST_SCORE)}"


def _verdicts(sibling: Sibling) -> SafeString:
    judged, decided = sibling.judged, sibling.decided
    return format_html(
        _VERDICTS,
        format_html(_JUDGED, judged.lower(), judged) if judged else NOTHING,
        format_html(_DECIDED, decided.lower(), decided) if decided else NOTHING,
    )
