"""Lists show, filter and sort by the verdict that the page of the record shows."""

import json
import re
from typing import Any

import pytest
from django.db.models.expressions import RawSQL
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Run, UnindexedImport, User
from reviews.records.rubric import Rubric
from reviews.records.scales import ValueScale
from reviews.review.forms.review import ReviewForm
from reviews.review.rubric_changes import change_rubric
from reviews.rubric.run_rubric import run_rubric
from reviews.search import indexing, listing
from reviews.search.filters import Filters
from reviews.search.verdicts import judge_verdict, with_judged_scores
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text

pytestmark = pytest.mark.django_db

# Partial is the best score of this rubric.
LENIENT = Rubric(scale=ValueScale(("Yes", "Partial", "No"), pass_from="Partial"))


def raw(score: str) -> dict[str, Any]:
    """The members of a record whose only score has to be extracted from the raw output."""
    output = f'```json\n{{"clarity": {{"score": "{score}", "justification": "As it is."}}}}\n```'
    values = {"raw_judge_output": {"raw_content": output}, "parsed_rubric_scores": {}}
    return {**values, "aggregated_score": None}


def found(query: str, sort: str = "file") -> list[str]:
    page = listing.load_page(Run.objects.get(), Filters.from_query_string(query), sort=sort)
    return [row.evaluation_id for row in page.rows]


@pytest.fixture
def run(db: None) -> Run:
    """A run of which only record b has a verdict in the file."""
    nothing: dict[str, Any] = {"raw_judge_output": {}, "parsed_rubric_scores": {}, "aggregated_score": None}
    parsed = {"parsed_rubric_scores": {"Clarity": {"score": "Yes"}}, "aggregated_score": None}
    import_data(
        file_of(
            line("a", **raw("No")),
            line("b", aggregated_score="Pass"),
            line("c", **nothing),
            line("d", **parsed),
            line("e", **raw("Partial")),
        )
    )
    return Run.objects.get()


@pytest.mark.slow
def test_list_has_the_verdicts_of_the_record_pages(as_lea: Client, run: Run) -> None:
    context = as_lea.get(reverse("run", args=[run.pk])).context
    shown = re.findall('<span class="(?:badge .+?|muted)">(.+?)<', context["rows"])
    assert shown == ["Fail", "Pass", "none", "Pass", "Partial"]
    assert [ReviewForm(evaluation=one).judged_verdict or "none" for one in context["page"].rows] == shown


def test_filter_and_order_use_extracted_scores(run: Run) -> None:
    assert found("verdict=Fail") == ["a"]
    assert found("verdict=Pass") == ["b", "d"]
    assert found("verdict=none") == ["c"]
    assert found("", sort="verdict") == ["a", "e", "b", "d", "c"]


def test_filter_while_indexing_finds_parsed_and_indexed_verdicts(run: Run) -> None:
    run.evaluations.get(evaluation_id="e").facets.delete()
    UnindexedImport.objects.create(source=run.imports.get(), evaluations=1)
    assert found("verdict=Pass") == ["b", "d"]
    assert found("verdict=Partial") == []
    assert listing.RecordList(Filters.from_query_string("verdict=Fail"), "").needs_index


@pytest.mark.slow
def test_change_of_the_rubric_changes_verdicts(run: Run, lea: User) -> None:
    change_rubric(run_id=run.pk, actor=lea, rubric=LENIENT)
    assert found("verdict=Partial") == []
    assert found("verdict=Pass") == ["b", "d", "e"]
    assert found("", sort="verdict") == ["a", "b", "d", "e", "c"]


@pytest.mark.slow
def test_change_of_the_rubric_of_a_large_run_is_left_to_the_job(
    run: Run, lea: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "MAX_LINES_IN_REQUEST", 1)
    change_rubric(run_id=run.pk, actor=lea, rubric=LENIENT)
    assert indexing.unindexed_count(run) == 5
    while indexing.index_next_chunk():
        pass
    assert found("verdict=Pass") == ["b", "d", "e"]


def test_new_titles_and_causes_index_nothing(run: Run, lea: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "MAX_LINES_IN_REQUEST", 1)
    known = run_rubric(run)
    change_rubric(run_id=run.pk, actor=lea, rubric=Rubric(known.criteria, known.scale, known.rule, causes=()))
    assert indexing.unindexed_count(run) == 0


@pytest.mark.slow
def test_import_that_extends_the_rubric_changes_earlier_verdicts() -> None:
    def scored(name: str, **scores: Any) -> bytes:
        entries = {criterion: {"score": score} for criterion, score in scores.items()}
        return line(name, parsed_rubric_scores=entries, aggregated_score=None)

    import_data(file_of(scored("a", x="Yes", y=True), *(scored(f"b{n}", x="Yes") for n in range(3))))
    assert found("verdict=none") == ["a"]
    import_data(file_of(*(scored(f"c{n}", x="Yes", y=n > 4) for n in range(9))))
    assert "y" in run_rubric(Run.objects.get()).names
    assert found("verdict=none") == []


@pytest.mark.parametrize(
    "score",
    [
        "No",
        " no ",
        4,
        4.5,
        True,
        None,
        {"a": 1},
        ["No"],
        "N" * 2000,
        "ä" * 900,
        "",
        {"score": "No"},
        10**1200,
    ],
)
def test_verdict_in_sql_equals_that_in_python(score: Any) -> None:
    scores = {"x": {"score": score}, "no score": {}, 'a quote: "': {"score": "\\\n"}}
    import_data(file_of(line("a", parsed_rubric_scores=scores, aggregated_score=None)))
    run = Run.objects.get()
    of_function = RawSQL("judged_scores(parsed_rubric_scores, extracted_scores)", ())
    [expected] = run.evaluations.values_list(of_function, flat=True)
    rubric = run_rubric(run)
    records = run.evaluations.defer("parsed_rubric_scores", "extracted_scores")
    for of_all in (True, False):
        [row] = with_judged_scores(records, of_all=of_all)
        assert judge_verdict(row, rubric) == judge_verdict(Evaluation.objects.get(), rubric)
        assert vars(row)["judged_scores"] == json.loads(expected)


def test_verdict_of_a_record_to_review_blind_is_hidden(as_ana: Client) -> None:
    import_data(file_of(line("a", **raw("No"))))
    Run.objects.update(blind_share=1)
    page = text(as_ana.get(reverse("run", args=[Run.objects.get().pk])))
    assert "Blind" in page
    assert 'class="badge fail"' not in page
