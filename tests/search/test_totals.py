"""Totals that are known without counting are those of the lists."""

import pytest

from reviews.models import Run
from reviews.queue.progress import run_progress
from reviews.search import listing
from reviews.search.filters import Filters
from tests.support.lines import file_of, import_data, line

pytestmark = pytest.mark.django_db

KNOWN = (
    "", "status=waiting", "status=done", "model=o1", "model=o1&model=gpt", "model=unknown",
    "judge=j-1&model=gpt", "template=t-0.txt", "verdict=none", "verdict=none&verdict=Fail&model=o1",
    "verdict=Pass&judge=j-0",
)  # fmt: skip
UNKNOWN = ("q=word", "status=waiting&status=done", "status=outdated", "model=o1&status=waiting", "reason=x")


@pytest.fixture
def run() -> Run:
    verdicts = ("Pass", "Fail", None)
    lines = (
        line(
            f"e-{number}",
            model_id=("o1", "gpt", None)[number % 3],
            judge_llm_model=f"j-{number % 2}",
            judge_prompt_template_path=f"t-{number % 4}.txt",
            aggregated_score=verdicts[number % 3],
            parsed_rubric_scores={} if number % 2 else {"Rigor": {"score": "No"}},
        )
        for number in range(24)
    )
    import_data(file_of(*lines))
    Run.objects.update(blind_share=0)
    return Run.objects.get()


def known(run: Run, query: str) -> int | None:
    return listing.known_total(run, Filters.from_query_string(query), run_progress(run))


@pytest.mark.slow
def test_known_totals_are_those_of_the_lists(run: Run) -> None:
    for query in KNOWN:
        assert known(run, query) == listing.load_page(run, Filters.from_query_string(query)).total, query
    assert known(run, "verdict=none&verdict=Fail&model=o1") is not None


def test_totals_of_other_filters_are_unknown(run: Run) -> None:
    assert [known(run, query) for query in UNKNOWN] == [None] * len(UNKNOWN)


def test_total_by_verdict_is_unknown_where_records_may_be_hidden(run: Run) -> None:
    run.blind_share = 0.5
    assert known(run, "verdict=Fail") is None
    assert known(run, "model=o1") == 8


def test_totals_are_unknown_until_all_records_are_counted(run: Run) -> None:
    run.strata.all().delete()
    assert known(run, "model=o1") is None
    assert known(run, "status=waiting") is not None
