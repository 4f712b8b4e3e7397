"""Build the tables of checks with known answers."""

from django.urls import reverse

from reviews.dashboard.known_answers import (
    DEFINITION,
    FEWEST_ANSWERS,
    AnswerAgreement,
    Comparison,
    accuracies,
    compare,
    visible_checks,
)
from reviews.models import KnownAnswerCheck, Run, User
from reviews.records.scores import criterion_title
from reviews.views.tables import (
    LIMITS,
    NOTHING,
    Cell,
    Column,
    Table,
    count,
    moment,
    record_cell,
    share,
    text_columns,
    words,
)

# The checks that a person's page looks at.
_LATEST = 5


def reviewers(check: KnownAnswerCheck) -> Table:
    """Build the table of reviewers. While the check runs, its cells have no links."""
    found = accuracies(compare(check))
    criteria = sorted({name for one in found for name in one.criteria})
    columns = [
        *text_columns(reviewer="Reviewer"),
        Column("answers", "Answers"),
        Column("verdict", "Same verdict", DEFINITION, parts=LIMITS),
        *(Column(name, criterion_title(name), parts=LIMITS) for name in criteria),
    ]
    rows = []
    for one in found:
        place = reverse("known-answer-check", args=[check.pk], query={"reviewer": one.reviewer.username})
        url = place if check.ended_at else ""
        rows.append(
            [
                Cell(
                    one.reviewer.name,
                    one.reviewer.username,
                    reverse("reviewer-activity", args=[one.reviewer.pk]),
                ),
                count(one.records, url),
                _agreement(one.verdict),
                *(_agreement(one.criteria.get(name)) for name in criteria),
            ]
        )
    return Table("known-answers", "Agreement with the known answers", columns, rows, "No answers yet.")


def records(check: KnownAnswerCheck, reviewer: str) -> Table:
    """Build the table of the answers behind the figures, of one reviewer if a username is given."""
    found = [one for one in compare(check) if reviewer in ("", one.given.reviewer.username)]
    columns = text_columns(
        record="Record",
        reviewer="Reviewer",
        known="Known verdict",
        given="Reviewer's verdict",
        differs="Different scores",
    )
    rows = [
        [
            record_cell(one.evaluation),
            Cell(one.given.reviewer.name, one.given.reviewer.username),
            words(one.known.verdict or "none"),
            words(one.given.verdict or "none"),
            words(_differing(one)),
        ]
        for one in found
    ]
    return Table("records", "Answers", columns, rows, "No answers.", folds=True)


def checks_of(reviewer: User, reader: User, run: Run | None = None) -> Table:
    """Build the table of the latest checks that have ended and in which a person answered."""
    ended = visible_checks(reader).filter(ended_at__isnull=False)
    rows = []
    for check in (ended.filter(run=run) if run else ended)[:_LATEST]:
        url = reverse("known-answer-check", args=[check.pk], query={"reviewer": reviewer.username})
        ended_at = moment(check.ended_at) if check.ended_at else NOTHING
        rows += [
            [words(check.run.name, url=url), ended_at, count(one.records, url), _agreement(one.verdict)]
            for one in accuracies(compare(check))
            if one.reviewer == reviewer
        ]
    columns = [
        *text_columns(run="Run", ended="Ended"),
        Column("answers", "Answers"),
        Column("verdict", "Same verdict", DEFINITION, parts=LIMITS),
    ]
    return Table("known-answers", "Known answers", columns, rows, "No answers in a check that has ended.")


def _differing(one: Comparison) -> str:
    return ", ".join(criterion_title(name) for name, is_same in one.criteria.items() if not is_same) or "none"


def _agreement(found: AnswerAgreement | None) -> Cell:
    if not found or not found.answers:
        return NOTHING
    if found.answers < FEWEST_ANSWERS:
        return Cell(f"{found.same} of {found.answers}")
    return share(found.estimate)
