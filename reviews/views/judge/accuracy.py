"""Show how often the judge is right, by criterion, and which scores it confuses."""

from collections.abc import Iterator, Sequence

from cognireview.types.estimates import Basis, Part
from cognireview.types.report_parts import AfterReveal, GroupAccuracy, JudgeGroup, ReviewerAgreement
from reviews.judge import accuracy, data_summary, reviewer_agreement
from reviews.judge.accuracy import DEFINITIONS, GroupField, JudgeVsHuman
from reviews.judge.accuracy_figures import AccuracyFigures, figure_title, parts_sentence, parts_sentence_of
from reviews.judge.drilldown import OTHER_SCORE
from reviews.judge.scope import NO_MODEL, SCOPE_FILTERS
from reviews.statistics.intervals import complement
from reviews.views.dot_plots import Dot, DotPlot
from reviews.views.judge import confusion, tables
from reviews.views.judge.filters import JudgeFilters
from reviews.views.judge.sections import Link, Section, linked
from reviews.views.tables import FEWEST, figure, on_paper, share

_MOST_GROUPS = 12  # groups in the plot
_MOST_WRONG = "most wrong verdicts that the target allows"
_GROUP_FIELDS: tuple[GroupField, ...] = ("judge", "template", "model")


def overview_sections(filters: JudgeFilters) -> Iterator[Section]:
    compared = filters.compared
    best = tables.best(compared)
    if best is None:
        return
    figures = compared.figures_of(*best)
    yield Section(
        "criteria",
        "Accuracy by criterion",
        help=DEFINITIONS["accuracy"],
        plot=_plot(figures, filters, *best),
        tables=[linked(tables.section(compared, filters, *best), filters)],
        notes=[
            f"{accuracy.BASES[best[0]]} {accuracy.PARTS[best[1]] if best[0] == 'blind' else ''}".strip(),
            *filter(None, [parts_sentence(figures)]),
        ],
    )
    if caught := [one for one in figures if one.defects_caught.n]:
        yield Section(
            "defects",
            "Defects caught by criterion",
            help=DEFINITIONS["defects_caught"],
            plot=DotPlot("Share of what reviewers fail that the judge fails, too", _caught(caught, filters)),
        )
    verdicts = [one for one in figures if one.criterion is None]
    if verdicts:
        yield Section(
            "confusion",
            "Verdicts",
            help=confusion.HELP,
            template="judge/confusions.html",
            data=[confusion.confusion_table(one, filters) for one in verdicts],
        )


def _plot(figures: list[AccuracyFigures], filters: JudgeFilters, basis: Basis, part: Part) -> DotPlot:
    bands = _agreement_bands(filters) if basis == "blind" else {}
    dots = [
        Dot(
            one.title,
            share(one.accuracy, filters.ratings_of(one)),
            band=bands.get(one.criterion),
            is_assisted=basis == "assisted",
            has_line=one.criterion is None,
        )
        for one in figures
    ]
    return DotPlot(
        "Accuracy of the verdict and of each criterion",
        dots,
        line=_target(filters, basis, part),
        line_title="target of the verdict",
        band_title="agreement among reviewers (95% interval)" if bands else "",
    )


def _target(filters: JudgeFilters, basis: Basis, part: Part) -> float | None:
    """Return the target of the run for figures about the whole run, in percent."""
    return filters.target if (basis, part) == ("blind", "run") else None


def _most_wrong(target: float | None) -> float | None:
    """Return the largest share of wrong verdicts that a target allows, in percent."""
    return None if target is None else 100 - target


def _caught(figures: list[AccuracyFigures], filters: JudgeFilters) -> list[Dot]:
    """Return the share of defects that the judge caught, each of which leads to what reviewers failed."""
    return [
        Dot(
            one.title,
            share(one.defects_caught, filters.ratings_of(one, **_failed(one))),
            is_assisted=one.basis == "assisted",
        )
        for one in figures
    ]


def _failed(figures: AccuracyFigures) -> dict[str, str]:
    """Return the filter of ratings that fail, if one score does."""
    failed = [category.spelled for category in figures.table.categories if category.level == "no"]
    return {"human_said": failed[0]} if len(failed) == 1 and failed[0] else {}


def _agreement_bands(filters: JudgeFilters) -> dict[str | None, tuple[float, float]]:
    """Return the interval of the share of records on which all reviewers agree, in percent, by criterion."""
    return {
        one.criterion: (100 * low, 100 * high)
        for one in filters.agreement
        if one.unanimous.n >= FEWEST
        and (low := one.unanimous.low) is not None
        and (high := one.unanimous.high) is not None
    }


def error_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show how often each score is wrong, and the confusion matrices, of one kind of ratings.

    Without a choice, it is the kind that says most. The matrix of the chosen criterion comes first.
    """
    kinds = _separate(filters.compared)
    names = {tables.section_name(*kind): kind for kind in kinds}
    if not kinds:
        return
    basis, part = names.get(filters.ratings, kinds[0])
    figures = filters.compared.figures_of(basis, part)
    first = [one for one in figures if one.criterion == filters.criterion]
    kept = {"of": filters.criterion} if filters.criterion else {}
    yield Section(
        f"scores-{tables.section_name(basis, part)}",
        tables.SECTIONS[basis, part],
        answer=_error_answer(figures),
        help=confusion.HELP,
        plot=_error_plot(figures, filters, _target(filters, basis, part)),
        template="judge/confusions.html",
        data=[
            confusion.confusion_table(one, filters)
            for one in (*first, *(one for one in figures if one not in first))
        ],
        notes=[*filter(None, [parts_sentence(figures)])],
        links=[
            Link(tables.SHORT_SECTIONS[kind], filters.address("judge-errors", ratings=name, **kept))
            for name, kind in names.items()
            if kind != (basis, part)
        ],
        tables=[linked(on_paper(tables.section(filters.compared, filters, basis, part)), filters)],
    )


def group_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show the errors by judge, prompt and model, those with most errors first."""
    compared = filters.compared
    known = [one.criterion for one in compared.blind]
    criterion = filters.criterion if filters.criterion in known else None
    groups = compared.groups_of(criterion)
    if not groups:
        return
    table = tables.groups(compared, criterion)
    found = [one for one in groups if one.accuracy.n >= FEWEST]
    found.sort(key=lambda one: one.accuracy.value or 0)
    titles = _group_titles([one.group for one in found])
    dots = [
        Dot(
            titles[one.group],
            share(complement(one.accuracy), _wrong_of_group(one, filters)),
            has_line=one.part == "run",
        )
        for one in found[:_MOST_GROUPS]
    ]
    left_out = f", the {_MOST_GROUPS} with most errors" if len(found) > _MOST_GROUPS else ""
    title = f"Share of wrong scores of groups with {FEWEST} blind ratings or more{left_out}"
    if not dots:
        dots = [*_single_groups(filters, criterion)]
        title = f"Share of wrong scores by judge, by prompt and by model, with {FEWEST} blind ratings or more"
    yield Section(
        "by-group",
        table.title,
        answer="" if dots else f"No judge, prompt or model has {FEWEST} blind ratings yet.",
        plot=_group_plot(title, dots, filters, criterion),
        links=[Link("Score pairs (CSV)", filters.address("judge-table", "pairs"))],
        tables=[linked(table, filters)],
    )


def _group_plot(title: str, dots: list[Dot], filters: JudgeFilters, criterion: str | None) -> DotPlot | None:
    """Return a plot of wrong scores by group. The target is about verdicts over the whole run."""
    if not dots:
        return None
    has_line = criterion is None and any(dot.has_line for dot in dots)
    line = _most_wrong(filters.target) if has_line else None
    return DotPlot(title, dots, line=line, line_title=_MOST_WRONG)


def _single_groups(filters: JudgeFilters, criterion: str | None) -> Iterator[Dot]:
    """Yield the errors by judge, by prompt and by model, without those that all records have in common."""
    for field in _GROUP_FIELDS:
        found = filters.compared.accuracy_by(field, criterion)
        for name, part, estimate in found if len(found) > 1 else ():
            if estimate.n >= FEWEST:
                group = {field: name or NO_MODEL}
                url = filters.blind_ratings(criterion, part=part, **group, human_said=OTHER_SCORE)
                title = f"{SCOPE_FILTERS[field]}: {name.rpartition('/')[2] or 'no model'}"
                yield Dot(title, share(complement(estimate), url), has_line=part == "run")


def _group_titles(groups: Sequence[JudgeGroup]) -> dict[JudgeGroup, str]:
    """Return short titles: the parts in which the groups differ, and prompts by the end of their path."""
    ends = {one.template: one.template.rpartition("/")[2] for one in groups}
    prompts = ends if len({*ends.values()}) == len(ends) else dict(zip(ends, ends, strict=True))
    parts = [(one.judge, prompts[one.template], one.model or "no model") for one in groups]
    varied = [place for place, values in enumerate(zip(*parts, strict=True)) if len({*values}) > 1] or [2]
    return {one: " · ".join(part[place] for place in varied) for one, part in zip(groups, parts, strict=True)}


def _wrong_of_group(group: GroupAccuracy, filters: JudgeFilters) -> str:
    """Return the URL of the group's ratings that differ from the judge."""
    chosen = {
        "judge": group.group.judge,
        "template": group.group.template,
        "model": group.group.model or NO_MODEL,
    }
    wrong = {
        "criterion": group.criterion or "",
        "basis": "blind",
        "part": group.part,
        "human_said": OTHER_SCORE,
    }
    return filters.address("judge-decisions", **chosen, **wrong)


def _error_answer(figures: list[AccuracyFigures]) -> str:
    """Say how often the verdict is wrong, and which criterion is most often."""
    known = [one for one in figures if one.n >= FEWEST and one.accuracy.value is not None]
    if not known:
        return f"A figure needs {FEWEST} ratings or more."
    sentences = []
    for verdict in (one for one in known if one.criterion is None):
        wrong = share(complement(verdict.accuracy)).words
        whose = f"of {tables.RECORDS[verdict.part]}"
        if verdict.basis == "assisted":
            whose = "of the decided records, for reviewers who saw it"
        sentences.append(f"The judge's verdict is wrong on {wrong} {whose}.")
    criteria = [one for one in known if one.criterion is not None]
    if criteria and (len(criteria) > 1 or not sentences):
        worst = min(criteria, key=lambda one: one.accuracy.value or 0)
        sentences.append(
            f"Most errors by criterion: {worst.title}, {share(complement(worst.accuracy)).words}."
        )
    return " ".join(sentences)


def _error_plot(
    figures: list[AccuracyFigures], filters: JudgeFilters, target: float | None
) -> DotPlot | None:
    """Return the share of wrong scores, each of which leads to the wrong ones.

    The verdict comes first, then the criteria with most errors, and at last those with too few ratings.
    """
    known = [one for one in figures if one.accuracy.value is not None]
    known.sort(key=lambda one: (one.criterion is not None, one.accuracy.n < FEWEST, one.accuracy.value))
    dots = [
        Dot(
            one.title,
            share(complement(one.accuracy), filters.ratings_of(one, human_said=OTHER_SCORE)),
            is_assisted=one.basis == "assisted",
            has_line=one.criterion is None,
        )
        for one in known
    ]
    if not dots:
        return None
    return DotPlot(
        "Share of wrong scores: the verdict, then each criterion",
        dots,
        line=_most_wrong(target),
        line_title=_MOST_WRONG,
    )


def _separate(compared: JudgeVsHuman) -> list[tuple[Basis, Part]]:
    """Return the ratings to show apart: all, and blind ones also by part, if both parts have some.

    If only one part has blind ratings, and they say nothing about the other one, it takes the place of all.
    """
    blind = [part for basis, part in compared.rated if basis == "blind"]
    # The verdict comes first, if there are ratings of it.
    whole = next(iter(compared.figures_of("blind", "run")), None)
    if whole is None or whole.accuracy.value is None:
        blind = [part for part in blind if part != "run"] or blind
    elif len(blind) < len(accuracy.PARTS):
        blind = ["run"]
    return [("blind", part) for part in blind] + [
        rated for rated in compared.rated if rated == ("assisted", "run")
    ]


def reviewer_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show how often reviewers agree with each other, and how many scores they change after the reveal."""
    found = filters.agreement
    table = tables.reviewers(found)
    dots = [
        Dot(
            figure_title(one.criterion),
            share(one.unanimous, filters.blind_ratings(one.criterion, shared="yes")),
        )
        for one in found
    ]
    yield Section(
        "reviewers",
        "Agreement among reviewers",
        answer=agreement_answer(found) if found else table.empty,
        help=reviewer_agreement.DEFINITIONS["unanimous"],
        plot=DotPlot("Records on which all reviewers agree", dots) if dots else None,
        notes=[*filter(None, [parts_sentence_of(reviewer_agreement.criteria_in_parts(filters.scope))])],
        tables=[linked(table, filters)] if found else [],
    )
    compared = filters.compared
    changes = tables.after_reveal(compared, filters)
    changed = [
        Dot(figure_title(one.criterion), share(one.changed, tables.changed_ratings(filters, one.criterion)))
        for one in compared.after_reveal
        if one.changed.value is not None
    ]
    yield Section(
        "after-reveal",
        changes.title,
        answer=changes_answer(compared.after_reveal) if changes.rows else changes.empty,
        help=DEFINITIONS["changed"],
        plot=DotPlot("Blind scores that were changed after the reveal", changed) if changed else None,
        tables=[linked(changes, filters)] if changes.rows else [],
    )


def agreement_answer(found: Sequence[ReviewerAgreement]) -> str:
    """Say how often reviewers agree on the verdict, or else on a criterion, if enough records tell."""
    for one in found:
        if one.unanimous.value is not None and one.unanimous.n >= FEWEST:
            agreed, subject = share(one.unanimous).words, _subject(one.criterion)
            alpha = "" if one.alpha.value is None else f"; Krippendorff's alpha is {figure(one.alpha).words}"
            return (
                f"Reviewers agree on {subject} in {agreed} of the records that several scored blind{alpha}."
            )
    return f"A figure needs {FEWEST} records or more that several reviewers scored blind."


def changes_answer(found: Sequence[AfterReveal]) -> str:
    """Say how many blind verdicts, or else scores, were changed after the reveal, if there are enough."""
    for one in found:
        if one.changed.value is not None and one.changed.n >= FEWEST:
            changed = share(one.changed).words
            return (
                f"After the judge's scores are revealed, reviewers change {_subject(one.criterion)} in "
                f"{changed} of their blind reviews."
            )
    return f"A figure needs {FEWEST} submitted reviews or more."


def _subject(criterion: str | None) -> str:
    return "the verdict" if criterion is None else f"“{figure_title(criterion)}”"


def data_sections(filters: JudgeFilters) -> Iterator[Section]:
    """Show the facts about the records that a reader of the figures must know."""
    sentences = data_summary.summarize_data(filters.scope.run).sentences
    if sentences:
        yield Section("data", "Data available", notes=sentences)
