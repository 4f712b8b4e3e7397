"""Figures about all records are undefined while records of the run wait to be counted, and a gate says so."""

import json
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from reviews.judge import data_summary, quality_gates, report, sampling_settings
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, RunCount, Stratum, StratumCount, UnindexedImport, User
from reviews.search import indexing, strata
from tests.support.api_requests import program_of
from tests.support.commands import Capture, manage
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.pages import text, url
from tests.support.population import rated

pytestmark = pytest.mark.django_db

RECALL = "flag_recall >= 0.3"
ACCURACY = "assisted accuracy >= 0.5"
NOT_FLAGGED = {"needs_human_review": False, "human_review_status": "Not Required", "review_reasons": []}


def lines(prefix: str = "", count: int = 20, **changes: object) -> bytes:
    """Return a file with this number of flagged records and as many unflagged ones."""
    names = [f"{prefix}{number}" for number in range(count)]
    flagged = [line(f"f{name}", task_id=name, **changes) for name in names]
    others = [line(f"n{name}", task_id=name, **(NOT_FLAGGED | changes)) for name in names]
    return file_of(*flagged, *others)


def review(run: Run, reviewer: User) -> None:
    """Rate all records: the verdicts on all flagged ones and on half of the others are wrong."""
    for stratum in Stratum.objects.filter(run=run):
        rated(stratum, reviewer, "Pass", "Fail", 20 if stratum.is_flagged else 10)
        rated(stratum, reviewer, "Pass", "Fail", 20, is_blind=False)
        if not stratum.is_flagged:
            rated(stratum, reviewer, "Pass", "Pass", 10)


@pytest.fixture(scope="module")
def _reviewed(module_world: None) -> None:
    """Create the run. Tests undo their changes."""
    run = import_data(lines()).target_run
    review(run, UserFactory.create(username="ana", role="reviewer"))
    assert strata.why_not_counted(run) == ""


@pytest.fixture
def counted(_reviewed: None) -> Run:
    """Return a reviewed and counted run, in which two thirds of the wrong verdicts were flagged."""
    return Run.objects.get(name="evaluations")


def first_import(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mark the only import of the run as not counted yet."""
    source = run.files.get()
    StratumCount.objects.filter(stratum__run=run).delete()
    UnindexedImport.objects.create(source=source, evaluations=source.new)


def later_import(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "MAX_RECORDS_INLINE", 0)
    import_data(lines("more"))


def import_of_changed_records(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Import a file that changes all verdicts but no number of records."""
    monkeypatch.setattr(indexing, "MAX_RECORDS_INLINE", 0)
    import_data(lines(aggregated_score="Fail"))


def partly_covered_import(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    later_import(run, monkeypatch)
    UnindexedImport.objects.update(line=0)
    monkeypatch.setattr(indexing, "CHUNK_LINES", 15)
    assert indexing.index_next_chunk()


def small_import_behind_a_large_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small import count the run while a large one waits to be indexed."""
    later_import(run, monkeypatch)
    monkeypatch.setattr(indexing, "MAX_RECORDS_INLINE", 1_000)
    import_data(file_of(line("last")))


def failed_job(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    later_import(run, monkeypatch)

    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(indexing, "CHUNK_LINES", 1_000)
    with monkeypatch.context() as broken:
        broken.setattr(strata, "recount", fails)
        with pytest.raises(MemoryError):
            indexing.index_next_chunk()


def lost_row(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    later_import(run, monkeypatch)
    UnindexedImport.objects.all().delete()


PENDING = [
    first_import,
    later_import,
    import_of_changed_records,
    partly_covered_import,
    small_import_behind_a_large_one,
    failed_job,
    lost_row,
]
Pending = Callable[[Run, pytest.MonkeyPatch], None]


@pytest.mark.slow
@pytest.mark.parametrize("pending", PENDING)
def test_uncounted_run_has_no_figures_about_all_records(
    pending: Pending, counted: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending(counted, monkeypatch)
    found = report.build_report(JudgeScope(counted)).as_json()
    for name in ("miss_rate", "flagged_error_rate", "flag_recall", "missed"):
        assert found["missed_errors"][name]["value"] is None, name
        assert found["missed_errors"][name]["why"] == strata.NOT_COUNTED, name
    assert found["missed_errors"]["records"] is None
    for part in found["judge_vs_human"]["overall"]:
        assert (part["accuracy"]["value"] is None) == (part["basis"] == "blind")
    assert found["missed_errors"]["sentences"] == [strata.NOT_COUNTED]
    assert found["leaderboard"]["models"] == []
    assert found["leaderboard"]["sentences"] == [strata.NOT_COUNTED]
    assert {family["flagged"] for family in found["flag_precision"]["families"]} <= {None}
    assert found["flag_precision"]["unknown"] == strata.NOT_COUNTED
    assert found["data"]["sentences"][0] == strata.NOT_COUNTED
    for name in ("records", "flagged", "no_verdict", "verdicts_read"):
        assert found["data"][name] is None, name
    assert found["data"]["verifications"] == found["data"]["families"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "pending",
    [one if one is later_import else pytest.param(one, marks=pytest.mark.exhaustive) for one in PENDING],
)
class TestUncountedRun:
    @pytest.fixture(autouse=True)
    def _uncounted(self, pending: Pending, counted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        pending(counted, monkeypatch)

    def test_uncounted_run_has_figures_about_decisions(self, counted: Run) -> None:
        found = report.build_report(JudgeScope(counted))
        assert [one.n for one in found.judge_vs_human.overall] == [40, 20, 20] * 2
        assert found.missed_errors.ratings == 20

    def test_gate_is_not_shown_yet_for_an_uncounted_run(self, counted: Run, capfdbinary: Capture) -> None:
        for required in (RECALL, "flag_recall <= 0.1", "miss_rate <= 1", "flag_precision >= 0"):
            done = manage(capfdbinary, "judge_report", counted.name, "--require", required)
            assert (done.status, done.out[:14]) == (2, b"not shown yet:"), required
            assert strata.NOT_COUNTED.rstrip(".") in done.out.decode()

    def test_gate_on_assisted_ratings_has_an_outcome_in_an_uncounted_run(
        self, counted: Run, capfdbinary: Capture
    ) -> None:
        options = ("--json", "--require", RECALL, "--require", ACCURACY)
        done = manage(capfdbinary, "judge_report", counted.name, *options)
        outcomes = [one["outcome"] for one in json.loads(done.out)["requirements"]]
        assert (done.status, outcomes) == (1, ["not shown yet", "shown worse"])

    def test_share_descriptions_say_that_a_run_is_uncounted(self, counted: Run) -> None:
        reach = sampling_settings.describe_shares(Run.objects.get(pk=counted.pk))
        assert reach.sample == strata.NOT_COUNTED
        assert data_summary.summarize_data(counted).blind.answered is None

    def test_pages_of_an_uncounted_run_say_so_without_numbers(
        self, counted: Run, client: Client, lea: User
    ) -> None:
        client.force_login(lea)
        for place in (
            "judge",
            "judge-flags",
            "judge-models",
            "judge-report",
        ):
            page = client.get(url(place, counted))
            assert page.status_code == 200
            assert "not all counted yet" in text(page), place
        card = client.get(url("run", counted)).context["card"]
        recall = next(one for one in card.figures if one.name == "flag_recall")
        assert (recall.cell.value, recall.cell.why) == (None, strata.NOT_COUNTED)
        table = client.get(reverse("judge-table", args=[counted.pk, "missed-errors"])).getvalue().decode()
        assert table.splitlines()[1].startswith('"Miss rate",,')


@pytest.mark.slow
def test_list_by_an_unready_filter_has_no_total(
    counted: Run, lea: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = program_of(lea)
    path = f"runs/{counted.name}/evaluations?reason=final-answer-does-not-match"
    found = program.get(path).json()
    assert (found["total"], found["is_complete"]) == (20, True)
    partly_covered_import(counted, monkeypatch)
    found = program.get(path).json()
    assert (found["total"], found["is_complete"]) == (None, False)
    assert program.get(f"runs/{counted.name}/evaluations").json()["total"] == 80


@pytest.mark.slow
def test_figures_are_defined_once_all_records_are_counted(
    counted: Run, monkeypatch: pytest.MonkeyPatch, capfdbinary: Capture
) -> None:
    later_import(counted, monkeypatch)
    while indexing.index_next_chunk():
        pass
    [recall] = quality_gates.check_requirements(
        report.build_report(JudgeScope(counted)), [quality_gates.parse_requirement(RECALL)]
    )
    # All flagged records are wrong, and half of as many others.
    assert recall.estimate.value == pytest.approx(2 / 3)
    assert recall.outcome == "met"
    total = sum(RunCount.objects.filter(run=counted).values_list("evaluations", flat=True))
    assert (
        data_summary.summarize_data(counted).records
        == total
        == Evaluation.objects.filter(run=counted).count()
        == 80
    )


def test_uncounted_run_does_not_affect_another_run(counted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "MAX_RECORDS_INLINE", 0)
    import_data(file_of(line("b")), run="another")
    assert strata.why_not_counted(counted) == ""
    assert strata.why_not_counted(Run.objects.get(name="another")) == strata.NOT_COUNTED
    assert strata.why_not_counted(Run.objects.create(name="empty")) == ""
