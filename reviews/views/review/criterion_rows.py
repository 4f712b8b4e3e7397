"""The rows of the review form. A template would take six times as long for the criteria of a record."""

from functools import lru_cache
from typing import NamedTuple

from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from cognireview.web.markup import format_html, format_html_join
from reviews.evidence.rendering import markdown, plain
from reviews.models import User
from reviews.records.score_extraction import Repair
from reviews.review.forms.criterion import CauseOption, CriterionForm, NumberField, ScoreOption
from reviews.review.forms.review import ReviewForm
from reviews.templatetags.keys import key, shortcut
from reviews.views.row_parts import NOTHING

_ROW = """<fieldset class="criterion{states}" id="criterion-{number}" tabindex="-1" data-number="{number}" \
data-judged="{judged}" data-word="{word}" data-rank="{rank}" data-weight="{weight}"{optional}>
  {title}
  <div class="levels">{number_field}{buttons}</div>
  {description}{errors}{outdated}{justification}
  <div class="foot">
    {causes}{repairs}
    {reason}
  </div>
</fieldset>
"""
_TITLE = '<legend><span class="index">{}</span> {}{}</legend>\n{}{}'
_OPTIONAL = format_html('{} <small class="muted">optional</small>', "")
_SEEN = '<input type="hidden" name="{}-seen" value="{}">'
_TYPED_TITLE = """<legend class="visually-hidden">Criterion {place}</legend>
<div class="field name">
  <label for="name-{number}"><span class="index">{place}</span>\
<span class="visually-hidden"> Name of the criterion</span></label>
  <input id="name-{number}" name="{prefix}-name" value="{name}" maxlength="200" \
placeholder="Criterion"{invalid}>
</div>"""
_INVALID = ' aria-invalid="true" aria-describedby="errors-{}"'
_ERRORS = '<div class="errors" id="errors-{}">{}</div>'
_NUMBER = """<span class="number-field" data-thresholds="{thresholds}">
  <input type="range" class="track" min="{minimum}" max="{maximum}" step="{step}" value="{value}" \
tabindex="-1" aria-hidden="true" hidden>
  <input type="number" name="{prefix}-score" value="{value}" min="{minimum}" max="{maximum}" step="{step}" \
inputmode="decimal" aria-label="Score of criterion {place}, from {minimum} to {maximum}"{invalid}>
  {judged}{own}
</span>"""
_SEGMENT = '<div class="segment">{}</div>'
_BUTTON = """<label class="level{states}" data-level="{value}" data-counts="{level}" data-amount="{amount}" \
data-rank="{rank}"{skipped} data-key="{key}"{title}>\
<input type="radio" name="{prefix}-score" value="{value}"{checked}{invalid}>\
<span>{label}</span>{hint}{judged}{own}</label>
"""
_JUDGED = format_html('<span class="visually-hidden"> {}</span>', "judge")
_OWN = format_html('<span class="visually-hidden"> {}</span>', "you")
_DESCRIPTION = '<div class="prose small muted description">{}</div>'
_LONG_DESCRIPTION = """<details class="small muted description"><summary>Description</summary>\
<div class="prose">{}</div></details>"""
_OUTDATED = format_html(
    '<p class="banner warn small">{}</p>', "The judge's output for this criterion has changed."
)
_JUSTIFICATION = '<div class="prose justification">{}</div>'
_WORDS_OF_JUDGE = '<span class="author">Judge:</span> {}'
_CAUSES = """<div class="because"><details class="why">
  <summary><strong class="change">{change}</strong> <span class="chosen">{chosen}</span></summary>
  <div class="causes" role="radiogroup" aria-labelledby="why-{number}">
    <h4 id="why-{number}">Why<span class="visually-hidden"> was the judge wrong</span>?</h4>
    {causes}
    <button type="button" class="cause chip" data-more hidden>{more_key}More</button>
  </div>
</details>
<button type="button" class="chip-remove" data-no-cause \
aria-label="Remove the cause of criterion {place}" hidden>&times;</button></div>"""
_CAUSE = """<label class="cause chip" data-cause-key="{key}"{directions}{hidden}>\
<input type="radio" name="{prefix}-cause" value="{word}"{checked}>{hint}<span>{title}</span></label>
"""
_REPAIRS = """<details class="repairs">
  <summary>{} JSON fix{}</summary>
  <ul class="stack tight">{}</ul>
</details>"""
_REPAIR = "<li>{}: <code>{}</code> read as <code>{}</code></li>"
_REASON = """<details class="reason"{open}>
  <summary{shortcut}>Your reason {key}<span class="visually-hidden">, criterion {place}</span></summary>
  <label class="visually-hidden" for="justification-{number}">Your reason for criterion {place}, \
in Markdown and LaTeX</label>
  <textarea id="justification-{number}" name="{prefix}-justification" rows="2" \
placeholder="Your reason"{invalid}
    hx-post="{preview}" hx-trigger="input changed delay:300ms" hx-params="{prefix}-justification" \
hx-target="#preview-{number}" hx-swap="innerHTML" hx-sync="this:replace">
{reason}</textarea>
  {words_of}
  <div class="prose preview" id="preview-{number}">{rendered}</div>
  <div class="row">
    <label class="remove"><input type="checkbox" name="{prefix}-removed" value="yes"{removed}> \
Exclude this criterion</label>
    {use_words}
  </div>
</details>"""
_WORDS_OF = '<p class="small words-of" data-words-of{}>Words of <strong>{}</strong></p>'
_USE_WORDS = format_html(
    '<button type="button" class="button quiet small" data-swap-words hidden>{}</button>',
    "Use the judge's words",
)


class _FormContext(NamedTuple):
    form: ReviewForm
    reader: User
    #: Whether texts are too long to format.
    is_heavy: bool


def criterion_rows(form: ReviewForm, reader: User) -> SafeString:
    if form.shows_errors:
        form.is_valid()  # adds errors to the rows
    shown = _FormContext(form, reader, form.is_heavy)
    return format_html_join("", "{}", [(_row(row, shown),) for row in form.rows])


def blank_row(form: ReviewForm, reader: User) -> SafeString:
    """Return the row that the page copies to add another."""
    return _row(form.blank_row, _FormContext(form, reader, is_heavy=False))


def _row(row: CriterionForm, shown: _FormContext) -> SafeString:
    errors = row.errors if shown.form.shows_errors else {}
    return format_html(
        _ROW,
        states=_states(row),
        number=row.number,
        judged=row.judged,
        word=row.judged_word,
        rank=_number(row.judged_rank),
        weight=row.weight,
        optional=NOTHING if row.is_required else " data-optional",
        title=_title(row, shown) if row.proposal else _typed_title(row, shown),
        number_field=_number_field(row, row.field, shown) if row.field else NOTHING,
        buttons=_buttons(row, shown),
        description=_description(row),
        errors=_errors(row) if errors else NOTHING,
        outdated=_OUTDATED if row.is_outdated else NOTHING,
        justification=_justification(row, shown) if row.proposal else NOTHING,
        causes=_causes(row, shown) if row.judged else NOTHING,
        repairs=_repairs(row.repairs) if row.repairs else NOTHING,
        reason=_reason(row, shown),
    )


def _states(row: CriterionForm) -> str:
    states = {
        "extracted": row.is_extracted,
        "changed": row.is_changed,
        "edited": row.is_edited,
        "overridden": row.judged and row.value and row.is_overridden,
        "removed": row.is_removed,
        "added": row.proposal is None,
    }
    return "".join(f" {name}" for name, applies in states.items() if applies)


def _title(row: CriterionForm, shown: _FormContext) -> SafeString:
    seen = NOTHING if shown.form.is_blind else format_html(_SEEN, row.prefix, row.fingerprint)
    optional = NOTHING if row.is_required else _OPTIONAL
    return format_html(_TITLE, row.place, row.title, optional, row["name"], seen)


def _typed_title(row: CriterionForm, shown: _FormContext) -> SafeString:
    return format_html(
        _TYPED_TITLE,
        place=row.place,
        number=row.number,
        prefix=row.prefix,
        name=row.typed_name,
        invalid=_invalid(row, "name", shown),
    )


def _invalid(row: CriterionForm, field: str, shown: _FormContext) -> SafeString:
    """Return the attributes of an input with errors."""
    if not shown.form.shows_errors or not row[field].errors:
        return NOTHING
    return format_html(_INVALID, row.number)


def _errors(row: CriterionForm) -> SafeString:
    fields = ("name", "score", "cause", "justification")
    return format_html(
        _ERRORS, row.number, format_html_join("", "{}", [(row[one].errors,) for one in fields])
    )


def _number(value: float | None) -> str:
    return "" if value is None else str(value)


def _number_field(row: CriterionForm, field: NumberField, shown: _FormContext) -> SafeString:
    return format_html(
        _NUMBER,
        thresholds=field.thresholds,
        minimum=field.minimum,
        maximum=field.maximum,
        step="any" if field.step is None else field.step,
        value=field.value,
        prefix=row.prefix,
        place=row.place,
        invalid=_invalid(row, "score", shown),
        judged=format_html("<small>judge {}</small>", row.judged_word) if row.judged else NOTHING,
        own=format_html("<small>you {}</small>", row.own_word) if row.own_word else NOTHING,
    )


def _buttons(row: CriterionForm, shown: _FormContext) -> SafeString:
    if not (options := row.options):
        return NOTHING
    invalid = _invalid(row, "score", shown)
    buttons = [(_button(one, row.prefix, invalid, shown.reader),) for one in options]
    return format_html(_SEGMENT, format_html_join("", "{}", buttons))


def _button(option: ScoreOption, prefix: str | None, invalid: SafeString, reader: User) -> SafeString:
    choice, label = option.choice, option.label
    is_marked = option.begins_with_key and reader.has_shortcuts
    has_hint = choice.key and reader.has_shortcuts and not is_marked
    return format_html(
        _BUTTON,
        states=f"{' judge' if option.judged else ''}{' own' if option.own else ''}",
        value=choice.value,
        level=choice.level or NOTHING,
        amount=_number(choice.amount),
        rank=_number(choice.rank),
        skipped=" data-skipped" if choice.is_skipped else NOTHING,
        key=choice.key,
        title=format_html(' title="{}"', choice.label) if label != choice.label else NOTHING,
        prefix=prefix,
        checked=" checked" if option.checked else NOTHING,
        invalid=invalid,
        label=format_html("<u>{}</u>{}", label[:1], label[1:]) if is_marked else label,
        hint=format_html(" <kbd>{}</kbd>", choice.key.upper()) if has_hint else NOTHING,
        judged=_JUDGED if option.judged else NOTHING,
        own=_OWN if option.own else NOTHING,
    )


def _description(row: CriterionForm) -> SafeString:
    if not (text := row.known.description):
        return NOTHING
    return format_html(_LONG_DESCRIPTION if row.has_long_description else _DESCRIPTION, markdown(text))


def _justification(row: CriterionForm, shown: _FormContext) -> SafeString:
    text = row.judged_text
    words = format_html(_WORDS_OF_JUDGE, _formatted(text, shown)) if text else NOTHING
    return format_html(_JUSTIFICATION, words)


def _formatted(text: str, shown: _FormContext) -> SafeString:
    return plain(text) if shown.is_heavy else markdown(text)


def _causes(row: CriterionForm, shown: _FormContext) -> SafeString:
    """Return why the judge was wrong: the change of the score, and the causes.

    They open over the row, so that nothing moves.
    """
    causes, has_keys = row.causes, shown.reader.has_shortcuts
    return format_html(
        _CAUSES,
        change=row.change or "Same score",
        chosen=next((one.title for one in causes if one.checked and one.title), "Add a cause"),
        number=row.number,
        place=row.place,
        causes=format_html_join("", "{}", [(_cause(one, row.prefix, has_keys=has_keys),) for one in causes]),
        more_key=_key("0") if has_keys else NOTHING,
    )


# Most records have the same causes.
@lru_cache(maxsize=2048)
def _cause(cause: CauseOption, prefix: str | None, *, has_keys: bool) -> SafeString:
    directions = " ".join(cause.directions)
    return format_html(
        _CAUSE,
        key=cause.key,
        directions=format_html(' data-directions="{}"', directions) if directions else NOTHING,
        hidden=NOTHING if cause.key else " hidden",
        prefix=prefix,
        word=cause.word,
        checked=" checked" if cause.checked else NOTHING,
        hint=_key(cause.key) if has_keys else NOTHING,
        title=cause.title,
    )


def _key(pressed: str) -> SafeString:
    return format_html("<kbd>{}</kbd> ", pressed)


def _repairs(repairs: tuple[Repair, ...]) -> SafeString:
    """Return the repairs made while a criterion was extracted from raw output."""
    rows = [(capfirst(one.step), one.before, one.after) for one in repairs]
    plural = NOTHING if len(repairs) == 1 else "es"
    return format_html(_REPAIRS, len(repairs), plural, format_html_join("", _REPAIR, rows))


def _reason(row: CriterionForm, shown: _FormContext) -> SafeString:
    reason, is_removed = row.reason, row.is_removed
    return format_html(
        _REASON,
        open=" open" if reason or is_removed or not row.proposal else NOTHING,
        shortcut=shortcut(shown.reader, "reason"),
        key=key(shown.reader, "reason"),
        place=row.place,
        number=row.number,
        prefix=row.prefix,
        invalid=_invalid(row, "justification", shown),
        preview=reverse("preview"),
        reason=reason,
        words_of=_words_of(row) if shown.form.sheet.is_adjudication else NOTHING,
        rendered=_formatted(reason, shown) if reason else NOTHING,
        removed=" checked" if is_removed else NOTHING,
        use_words=_USE_WORDS if row.judged_text else NOTHING,
    )


def _words_of(row: CriterionForm) -> SafeString:
    who = row.words_of
    return format_html(_WORDS_OF, NOTHING if who else " hidden", who)
