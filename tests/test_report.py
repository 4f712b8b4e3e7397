"""The whole report on a run's judge, as JSON and as text."""

import json
from pathlib import Path

import pytest
from pytest_django import DjangoAssertNumQueries

from cognireview.environment import BASE_DIR
from reviews import report
from reviews.judging import Scope
from reviews.models import Evaluation, Run, User
from tests.commands import manage
from tests.lines import bring_in, file_of, line
from tests.work import decide

pytestmark = pytest.mark.django_db
SAMPLE = BASE_DIR.parent / "shared" / "data" / "cognibench-sample-75.jsonl"
PARTS = ("facts", "judge_vs_human", "reviewers", "reasons", "escapes", "scoreboard", "defects")


def reviewed(reviewer: User) -> Run:
    """A run of three records, one of which has a decision."""
    run = bring_in(file_of(line("a"), line("b"), line("c", model_id="o1"))).run
    decide(
        Evaluation.objects.get(evaluation_id="a"),
        reviewer,
        scores={"Clarity": {"score": "No", "justification": "It is not."}},
        origins={"Clarity": "human"},
        causes={"Clarity": "too lenient"},
        judged={"Clarity": "Yes"},
        active_ms=60_000,
    )
    return run


class TestTheObject:
    def test_has_every_part_as_plain_json(self, ana: User) -> None:
        found = json.loads(json.dumps(report.of(Scope(reviewed(ana))).as_json(), allow_nan=False))
        assert set(PARTS) <= set(found)
        assert found["progress"]["done"] == 1
        assert found["defects"]["templates"][0]["causes"][0]["cause"] == "too lenient"

    def test_of_an_empty_run_says_why_there_is_nothing(self) -> None:
        found = report.of(Scope(Run.objects.create(name="empty"))).as_json()
        assert found["escapes"]["rate"]["value"] is None
        assert found["escapes"]["rate"]["why"] != ""
        assert found["judge_vs_human"]["overall"] == []

    def test_takes_as_many_queries_for_many_decisions_as_for_one(
        self, ana: User, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        run = reviewed(ana)
        with django_assert_max_num_queries(30):
            report.of(Scope(run)).as_json()

    @pytest.mark.skipif(not SAMPLE.exists(), reason="the sample is not here")
    def test_of_the_sample_tells_the_truth_about_thin_data(self) -> None:
        bring_in(Path(SAMPLE).read_bytes(), run="sample")
        found = report.of(Scope(Run.objects.get()))
        assert found.facts.records_of("verified", "no reference") == 49
        assert found.facts.records_of("contradiction", "verifier") == 11
        assert len(found.reasons.families) == 2
        assert {family.advice for family in found.reasons.families} == {"too few"}
        assert not found.facts.blind.is_possible
        assert [model.basis for model in found.scoreboard.models] == ["nothing"] * 5
        assert sum(model.passes for model in found.scoreboard.models) == 13
        assert found.escapes.sentences[0].startswith("Every record here that has a verdict is flagged")


class TestTheCommand:
    def test_prints_json(self, ana: User, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        reviewed(ana)
        done = manage(capfdbinary, "judge_report", "evaluations", "--json")
        assert done.status == 0
        assert set(PARTS) <= set(json.loads(done.out))

    def test_prints_tables(self, ana: User, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        reviewed(ana)
        done = manage(capfdbinary, "judge_report", "evaluations")
        text = done.out.decode()
        for part in ("Judge against humans", "Reasons", "What the flags miss", "Models", "Too lenient"):
            assert part in text
        assert "10 %" in text
        assert "\x1b" not in text

    def test_prints_what_files_say_without_what_a_terminal_obeys(
        self, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        bring_in(file_of(line("a", model_id="[bold]\x1b[2Jo1")))
        text = manage(capfdbinary, "judge_report", "evaluations").out.decode()
        assert "\x1b" not in text
        assert "[bold]" in text

    def test_of_an_unknown_run_ends_with_2(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        done = manage(capfdbinary, "judge_report", "nothing")
        assert (done.status, done.out) == (2, b"")
        assert "There is no run named 'nothing'." in done.err
