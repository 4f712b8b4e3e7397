"""Build the tables that compare the judge with humans, for pages, the report and CSV files."""

from collections.abc import Callable, Iterable
from functools import partial
from heapq import nlargest

from cognireview.types.estimates import Basis, Estimate, Part
from cognireview.types.report_parts import GroupAccuracy, ReviewerAgreement
from reviews.judge import accuracy, reviewer_agreement
from reviews.judge.accuracy import DEFINITIONS, JudgeVsHuman
from reviews.judge.accuracy_figures import AccuracyFigures, figure_title
from reviews.views.judge.filters import JudgeFilters
from reviews.views.tables import LIMITS, Cell, Column, Table, count, figure, share, text_columns, words

_Show = Callable[[Estimate], Cell]

# The titles of the sections.
SECTIONS: dict[tuple[Basis, Part], str] = {
    ("blind", "run"): "Blind: the whole run",
    ("blind", "flagged"): "Blind: flagged records",
    ("blind", "unflagged"): "Blind: unflagged records",
    ("assisted", "run"): "Assisted decisions (may overstate the judge's accuracy)",
    ("assisted", "flagged"): "Assisted decisions on flagged records",
    ("assisted", "unflagged"): "Assisted decisions on unflagged records",
}
# Their titles on buttons.
SHORT_SECTIONS: dict[tuple[Basis, Part], str] = {
    ("blind", "run"): "Whole run",
    ("blind", "flagged"): "Flagged records",
    ("blind", "unflagged"): "Unflagged records",
    ("assisted", "run"): "Assisted decisions",
}
RECORDS: dict[Part, str] = {
    "run": "all records of the run",
    "flagged": "flagged records",
    "unflagged": "unflagged records",
}
# The rated records of a group.
_RATED: dict[Part, str] = {
    "run": "flagged and unflagged",
    "flagged": "flagged",
    "unflagged": "unflagged",
}
MOST_GROUPS = 40
_BASIS_HELP = (
    "Whether the reviewers had seen the judge's scores. Only blind ratings measure the judge.\n\n"
    f"{' '.join(accuracy.BASES.values())}"
)
_PART_HELP = (
    "Which records the figure is about. Flagged and unflagged records differ, so they are also shown apart. "
    "\n\n"
    f"{' '.join(accuracy.PARTS.values())}"
)
NO_BLIND = "No blind scores were submitted yet."
NONE_YET = "Nobody has scored a record with a judge score yet."
_NO_INDEPENDENT_REVIEWS = "No record has several independent reviews yet."


def estimate_column(name: str, title: str, explained: str) -> Column:
    """Return a column of estimates. A CSV file has the interval in further columns."""
    return Column(name, title, explained, parts=tuple(f"{name}_{part}" for part in LIMITS))


def _shown_by(show: _Show, titles: dict[str, str]) -> list[tuple[Column, _Show]]:
    """Return the columns of figures, each with the function that formats its cells."""
    return [(estimate_column(name, title, DEFINITIONS[name]), show) for name, title in titles.items()]


_FIGURES = [
    *_shown_by(share, {"accuracy": "Accuracy", "defects_caught": "Defects caught"}),
    *_shown_by(figure, {"kappa": "Kappa", "weighted_kappa": "Weighted kappa", "ac1": "AC1"}),
    *_shown_by(share, {"false_pass": "False pass", "false_fail": "False fail"}),
    *_shown_by(partial(share, sign="+"), {"leniency": "Leniency"}),
]
_CRITERION = Column("criterion", "Criterion", is_number=False)
_COLUMNS = [column for column, _ in _FIGURES]


def _figures(figures: AccuracyFigures) -> list[Cell]:
    return [show(getattr(figures, column.name)) for column, show in _FIGURES]


def figures_table(name: str, title: str, figures: Iterable[AccuracyFigures]) -> Table:
    """Build a table of the verdict and each criterion."""
    rows = [[words(one.title), *_figures(one)] for one in figures]
    return Table(name, title, [_CRITERION, *_COLUMNS], rows, NONE_YET)


def section(compared: JudgeVsHuman, filters: JudgeFilters, basis: Basis, part: Part) -> Table:
    """Build the table of one basis and part: the verdict and each criterion."""
    return Table(
        section_name(basis, part),
        SECTIONS[basis, part],
        [_CRITERION, *_COLUMNS],
        [
            [words(one.title, url=_groups_url(one, filters)), *_figures(one)]
            for one in compared.figures_of(basis, part)
        ],
        NONE_YET,
        f"{accuracy.BASES[basis]} {accuracy.PARTS[part]}",
    )


def verdicts(compared: JudgeVsHuman) -> Table:
    """Build the table of the verdict, for every basis and part."""
    rows = [[words(SECTIONS[one.basis, one.part]), *_figures(one)] for one in compared.of_verdicts]
    ratings = Column("ratings", "Ratings", _BASIS_HELP, is_number=False)
    return Table("verdicts", "Verdicts", [ratings, *_COLUMNS], rows, NONE_YET)


def best(compared: JudgeVsHuman) -> tuple[Basis, Part] | None:
    """Return the figures that say most about the judge: those with a value, blind ones first."""
    for basis, part in compared.rated:
        found = compared.find(None, basis, part)
        if found and found.accuracy.value is not None:
            return basis, part
    return next(iter(compared.rated), None)


def section_name(basis: Basis, part: Part) -> str:
    """Return the name of the section's table in URLs."""
    return f"{basis}-{part}"


def _groups_url(figures: AccuracyFigures, filters: JudgeFilters) -> str:
    """Return the URL of the figure by judge, prompt and model."""
    return filters.address("judge-errors", of=figures.criterion) + "#by-group" if figures.criterion else ""


_GROUP = text_columns(judge="Judge", template="Prompt", model="Model")
_PART = Column("part", "Records", _PART_HELP, is_number=False)
_RATED_FROM = [Column("basis", "Ratings", _BASIS_HELP, is_number=False), _PART]
_ACCURACY = estimate_column("accuracy", "Accuracy", DEFINITIONS["accuracy"])


def groups(compared: JudgeVsHuman, criterion: str | None) -> Table:
    """Build the table of one criterion by judge model, prompt template and evaluated model.

    The criterion None is the verdict. Of many groups, only those with most ratings are shown.
    """
    found = compared.groups_of(criterion)
    title = figure_title(criterion)
    most = {id(one) for one in nlargest(MOST_GROUPS, found, key=lambda one: one.accuracy.n)}
    shown = [one for one in found if id(one) in most]
    rows = [[*_group(one), Cell(_RATED[one.part], one.part), share(one.accuracy)] for one in shown]
    left_out = f"The groups with most ratings. The CSV file has all {len(found):,}." if shown != found else ""
    return Table(
        "groups",
        f"{title} by judge, prompt and model",
        [*_GROUP, _PART, _ACCURACY],
        rows,
        NONE_YET,
        left_out,
        folds=True,
    )


def all_groups(compared: JudgeVsHuman) -> Table:
    """Build the table of all groups and criteria for a CSV file."""
    rows = [
        [*_group(one), words(figure_title(one.criterion)), words(one.part), share(one.accuracy)]
        for one in compared.groups
    ]
    return Table("groups", "", [*_GROUP, _CRITERION, _PART, _ACCURACY], rows, NONE_YET)


def _group(group: GroupAccuracy) -> list[Cell]:
    return [words(group.group.judge), words(group.group.template), words(group.group.model or "no model")]


def changed_ratings(filters: JudgeFilters, criterion: str | None, changed: str = "any") -> str:
    """Return the URL of the blind ratings that were changed after the reveal: see `RatingFilter.changed`."""
    return filters.blind_ratings(criterion, changed=changed)


def after_reveal(compared: JudgeVsHuman, filters: JudgeFilters) -> Table:
    """Build the table of changes after the judge's scores were revealed."""
    rows = [
        [
            words(figure_title(one.criterion)),
            share(one.changed, changed_ratings(filters, one.criterion)),
            count(one.towards_judge, changed_ratings(filters, one.criterion, "to judge")),
            count(one.away_from_judge, changed_ratings(filters, one.criterion, "from judge")),
        ]
        for one in compared.after_reveal
    ]
    columns = [
        _CRITERION,
        estimate_column("changed", "Changed after reveal", DEFINITIONS["changed"]),
        Column("towards_judge", "To the judge's score"),
        Column("away_from_judge", "Away from the judge's score"),
    ]
    return Table(
        "after-reveal", "Changes after the judge's scores are revealed", columns, rows, NO_BLIND, folds=True
    )


def reviewers(found: Iterable[ReviewerAgreement]) -> Table:
    rows = [
        [
            words(figure_title(one.criterion)),
            share(one.unanimous),
            figure(one.fleiss_kappa),
            figure(one.alpha),
            figure(one.ordinal_alpha),
        ]
        for one in found
    ]
    columns = [
        _CRITERION,
        *(
            estimate_column(name, title, reviewer_agreement.DEFINITIONS[name])
            for name, title in (
                ("unanimous", "All agree"),
                ("fleiss_kappa", "Kappa"),
                ("alpha", "Alpha"),
                ("ordinal_alpha", "Ordinal alpha"),
            )
        ),
    ]
    return Table("reviewers", "Inter-reviewer agreement", columns, rows, _NO_INDEPENDENT_REVIEWS)


def pairs(compared: JudgeVsHuman) -> Table:
    """Build the table of all cells of all confusion matrices for a CSV file."""
    rows = [
        [
            words(one.title),
            words(one.basis),
            words(one.part),
            words(judge.label),
            words(human.label),
            count(ratings),
        ]
        for one in compared.overall
        for judge, human, ratings in one.table.cells()
    ]
    scores = text_columns(judge="Judge", human="Human")
    return Table(
        "pairs", "", [_CRITERION, *_RATED_FROM, *scores, Column("ratings", "Ratings")], rows, NONE_YET
    )
