"""Build the tables that compare the judge with humans, for pages, the report and CSV files."""

from collections.abc import Callable, Iterable
from heapq import nlargest

from reviews.judge import accuracy, reviewer_agreement
from reviews.judge.accuracy import DEFINITIONS, AccuracyFigures, Basis, JudgeGroup, JudgeVsHuman, Population
from reviews.views.judge.filters import JudgeFilters
from reviews.views.tables import LIMITS, Cell, Column, Table, count, figure, share, text_columns, words

# The titles of the sections.
SECTIONS: dict[tuple[Basis, Population], str] = {
    ("blind", "flagged"): "Blind reviews",
    ("assisted", "flagged"): "Assisted reviews (may overstate agreement)",
    ("blind", "sampled"): "Blind reviews of sampled records",
    ("assisted", "sampled"): "Assisted reviews of sampled records (may overstate agreement)",
    ("blind", "picked"): "Blind reviews of picked records",
    ("assisted", "picked"): "Assisted reviews of picked records (may overstate agreement)",
}
RECORDS: dict[Population, str] = {
    "flagged": "flagged records",
    "sampled": "sampled records",
    "picked": "picked records",
}
MOST_GROUPS = 40
NO_BLIND = "No blind reviews yet."
_NONE_YET = "No reviews to compare yet."
_NO_INDEPENDENT_REVIEWS = "No record has several independent reviews yet."


def estimate_column(name: str, title: str, explained: str, *, series: str = "") -> Column:
    """Return a column of estimates. A CSV file has the interval in further columns."""
    return Column(name, title, explained, series=series, parts=tuple(f"{name}_{part}" for part in LIMITS))


# The column of each figure, and the function that formats its cells.
_FIGURES: list[tuple[Column, Callable[[AccuracyFigures], Cell]]] = [
    (
        estimate_column("agreement", "Agreement", DEFINITIONS["agreement"], series="Agreement"),
        lambda of: share(of.agreement),
    ),
    (estimate_column("kappa", "Kappa", DEFINITIONS["kappa"]), lambda of: figure(of.kappa)),
    (
        estimate_column("weighted_kappa", "Weighted kappa", DEFINITIONS["weighted_kappa"]),
        lambda of: figure(of.weighted_kappa),
    ),
    (estimate_column("ac1", "AC1", DEFINITIONS["ac1"]), lambda of: figure(of.ac1)),
    (estimate_column("false_pass", "False pass", DEFINITIONS["false_pass"]), lambda of: share(of.false_pass)),
    (estimate_column("false_fail", "False fail", DEFINITIONS["false_fail"]), lambda of: share(of.false_fail)),
    (
        estimate_column("leniency", "Leniency", DEFINITIONS["leniency"]),
        lambda of: share(of.leniency, sign="+"),
    ),
]
_CRITERION = Column("criterion", "Criterion", is_number=False)
_COLUMNS = [column for column, _ in _FIGURES]


def _figures(of: AccuracyFigures) -> list[Cell]:
    return [read(of) for _, read in _FIGURES]


def section(compared: JudgeVsHuman, filters: JudgeFilters, basis: Basis, population: Population) -> Table:
    """Build the table of one basis and population: the verdict and each criterion."""
    of_section = [of for of in compared.overall if (of.basis, of.population) == (basis, population)]
    return Table(
        section_name(basis, population),
        SECTIONS[basis, population],
        [_CRITERION, *_COLUMNS],
        [[words(of.title, url=_groups_url(of, filters)), *_figures(of)] for of in of_section],
        _NONE_YET,
        f"{accuracy.BASES[basis]} {accuracy.POPULATIONS[population]}",
        chart="bar",
        is_percent=True,
    )


def verdicts(compared: JudgeVsHuman) -> Table:
    """Build the table of the verdict, for every basis and population."""
    rows = [
        [words(SECTIONS[of.basis, of.population]), *_figures(of)]
        for of in compared.overall
        if of.criterion is None
    ]
    reviews = Column("reviews", "Reviews", " ".join(accuracy.BASES.values()), is_number=False)
    return Table("verdicts", "Verdicts", [reviews, *_COLUMNS], rows, _NONE_YET)


def best(compared: JudgeVsHuman) -> tuple[Basis, Population] | None:
    """Return the reviews that say most about the judge: blind reviews of flagged records if there are any."""
    wanted: list[tuple[Basis, Population]] = [("blind", "flagged"), ("assisted", "flagged")]
    return next((of for of in (*wanted, *compared.reviews) if compared.reviews.get(of)), None)


def headline(compared: JudgeVsHuman) -> str:
    """Summarise the agreement of judge and humans in a sentence, or return an empty string."""
    basis_and_population = best(compared)
    found = [
        of
        for of in compared.overall
        if of.criterion is None and (of.basis, of.population) == basis_and_population
    ]
    if not found or found[0].agreement.value is None:
        return ""
    [of] = found
    biased = (
        "; the reviewers saw the judge's verdict, so this may overstate agreement"
        if of.basis == "assisted"
        else ""
    )
    agreed = share(of.agreement)
    sentence = (
        f"The judge and reviewers agree on {agreed.text} of verdicts ({agreed.note}, {of.basis} reviews of "
        f"{RECORDS[of.population]}{biased})."
    )
    if of.false_pass.value is None:
        return sentence
    return f"{sentence} The judge passes {share(of.false_pass).words} of the records that reviewers fail."


def section_name(basis: Basis, population: Population) -> str:
    """Return the name of the section's table in URLs."""
    return f"{basis}-{population}"


def _groups_url(of: AccuracyFigures, filters: JudgeFilters) -> str:
    """Return the URL of the figure by judge, prompt and model."""
    return filters.address("judge", of=of.criterion) + "#groups-title" if of.criterion else ""


_GROUP = text_columns(judge="Judge", template="Prompt", model="Model")
_DRAWN_FROM = [
    Column("basis", "Reviews", " ".join(accuracy.BASES.values()), is_number=False),
    Column("population", "Records", " ".join(accuracy.POPULATIONS.values()), is_number=False),
]


def groups(compared: JudgeVsHuman, criterion: str | None) -> Table:
    """Build the table of one criterion by judge model, prompt template and evaluated model.

    The criterion None is the verdict. Of many groups, only those with most reviews are shown.
    """
    found = [of for of in compared.groups if of.criterion == criterion]
    title = found[0].title if found else "Verdict"
    most = {id(of) for of in nlargest(MOST_GROUPS, found, key=lambda of: of.n)}
    shown = [of for of in found if id(of) in most]
    rows = [[*_group(of), *_drawn_from(of), *_figures(of)] for of in shown]
    left_out = f"The groups with most reviews. The CSV file has all {len(found):,}." if shown != found else ""
    columns = [*_GROUP, *_DRAWN_FROM, *_COLUMNS]
    return Table(
        "groups", f"{title} by judge, prompt and model", columns, rows, _NONE_YET, left_out, folds=True
    )


def all_groups(compared: JudgeVsHuman) -> Table:
    """Build the table of all groups and criteria for a CSV file."""
    rows = [[*_group(of), words(of.title), *_drawn_from(of), *_figures(of)] for of in compared.groups]
    return Table("groups", "", [*_GROUP, _CRITERION, *_DRAWN_FROM, *_COLUMNS], rows, _NONE_YET)


def _group(of: AccuracyFigures) -> list[Cell]:
    group = of.group or JudgeGroup("", "", "")
    return [words(group.judge), words(group.template), words(group.model or "no model")]


def _drawn_from(of: AccuracyFigures) -> list[Cell]:
    return [words(of.basis), words(of.population)]


def after_reveal(compared: JudgeVsHuman) -> Table:
    """Build the table of changes after the judge's scores were revealed."""
    rows = [
        [
            words(of.title),
            words(of.population),
            share(of.changed),
            count(of.towards_judge),
            count(of.away_from_judge),
        ]
        for of in compared.after_reveal
    ]
    columns = [
        _CRITERION,
        _DRAWN_FROM[1],
        estimate_column("changed", "Changed after reveal", DEFINITIONS["changed"]),
        Column("towards_judge", "To the judge's score"),
        Column("away_from_judge", "Away from the judge's score"),
    ]
    return Table(
        "after-reveal", "Changes after the judge's scores are revealed", columns, rows, NO_BLIND, folds=True
    )


def reviewers(found: Iterable[reviewer_agreement.ReviewerAgreement]) -> Table:
    """Build the table of agreement between reviewers."""
    rows = [
        [
            words(of.title),
            share(of.unanimous),
            figure(of.fleiss_kappa),
            figure(of.alpha),
            figure(of.ordinal_alpha),
        ]
        for of in found
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
        [words(of.title), *_drawn_from(of), words(judge.label), words(human.label), count(reviews)]
        for of in compared.overall
        for judge, human, reviews in of.table.cells()
    ]
    scores = text_columns(judge="Judge", human="Human")
    return Table(
        "pairs", "", [_CRITERION, *_DRAWN_FROM, *scores, Column("reviews", "Reviews")], rows, _NONE_YET
    )
