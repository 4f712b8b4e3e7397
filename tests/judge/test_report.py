"""The complete report about a run's judge, as JSON and as text."""

import json

import pytest
from pytest_django import DjangoAssertNumQueries

from reviews.judge import report
from reviews.judge.scope import JudgeScope
from reviews.models import Evaluation, Run, User
from tests.support.commands import manage
from tests.support.lines import file_of, import_data, line
from tests.support.population import decided, stratum
from tests.support.work import decide

pytestmark = pytest.mark.django_db
PARTS = (
    "data",
    "judge_vs_human",
    "reviewers",
    "flag_precision",
    "missed_errors",
    "leaderboard",
    "error_analysis",
)


def reviewed(reviewer: User) -> Run:
    """A run of three records, one of which has a decision."""
    run = import_data(file_of(line("a"), line("b"), line("c", model_id="o1"))).target_run
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


class TestReport:
    def test_report_has_every_part_as_plain_json(self, ana: User) -> None:
        found = json.loads(
            json.dumps(report.build_report(JudgeScope(reviewed(ana))).as_json(), allow_nan=False)
        )
        assert set(PARTS) <= set(found)
        assert found["progress"]["done"] == 1
        assert found["error_analysis"]["templates"][0]["causes"][0]["cause"] == "too lenient"

    def test_report_of_an_empty_run_gives_reasons(self) -> None:
        found = report.build_report(JudgeScope(Run.objects.create(name="empty"))).as_json()
        assert found["missed_errors"]["miss_rate"]["value"] is None
        assert found["missed_errors"]["miss_rate"]["why"] != ""
        assert found["judge_vs_human"]["overall"] == []

    def test_report_takes_the_same_queries_at_any_size(
        self, ana: User, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        run = reviewed(ana)
        with django_assert_max_num_queries(30):
            report.build_report(JudgeScope(run)).as_json()

    def test_report_of_the_sample_admits_thin_data(self, sample: bytes) -> None:
        import_data(sample, run="sample")
        found = report.build_report(JudgeScope(Run.objects.get()))
        assert found.data.records_of("verified", "no reference") == 49
        assert found.data.contradictions == ()
        assert len(found.flag_precision.families) == 2
        assert {family.advice for family in found.flag_precision.families} == {"not enough data"}
        assert not found.data.blind.is_possible
        assert [model.basis for model in found.leaderboard.models] == ["nothing"] * 5
        assert sum(model.passes for model in found.leaderboard.models) == 13
        assert found.missed_errors.sentences[0].startswith("Every record with a verdict is flagged")


class TestCommand:
    def test_judge_command_prints_json(self, ana: User, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        reviewed(ana)
        done = manage(capfdbinary, "judge_report", "evaluations", "--json")
        assert done.status == 0
        assert set(PARTS) <= set(json.loads(done.out))

    def test_judge_command_prints_tables(self, ana: User, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        reviewed(ana)
        done = manage(capfdbinary, "judge_report", "evaluations")
        text = done.out.decode()
        for part in ("Judge vs reviewers", "Flag reasons", "Missed errors", "Models", "Too lenient"):
            assert part in text
        assert "10%" in text
        assert "\x1b" not in text

    def test_judge_command_strips_terminal_escapes_from_texts(
        self, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        import_data(file_of(line("a", model_id="[bold]\x1b[2Jo1")))
        text = manage(capfdbinary, "judge_report", "evaluations").out.decode()
        assert "\x1b" not in text
        assert "[bold]" in text

    def test_judge_command_exits_with_2_for_an_unknown_run(
        self, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        done = manage(capfdbinary, "judge_report", "nothing")
        assert (done.status, done.out) == (2, b"")
        assert "There is no run named 'nothing'." in done.err


class TestRequirements:
    @pytest.fixture
    def run(self, ana: User) -> Run:
        """Create 40 blind decisions, 38 equal to the judge's verdict. Other figures are undefined."""
        run = Run.objects.create(name="nightly")
        flagged = stratum(run, {"Pass": 200})
        decided(flagged, ana, "Pass", "Pass", 38, is_blind=True)
        decided(flagged, ana, "Pass", "Fail", 2, is_blind=True)
        return run

    @pytest.mark.parametrize(
        ("required", "status", "begins"),
        [
            (["blind flagged agreement >= 0.8"], 0, "met: blind flagged agreement of the verdict: 0.950"),
            (["blind flagged agreement >= 0.9"], 2, "cannot tell: "),
            (["blind flagged agreement >= 0.99"], 1, "missed: "),
            (["blind flagged agreement <= 0.8"], 1, "missed: "),
            (["blind sampled agreement >= 0.9"], 2, "cannot tell: "),
            (["blind flagged agreement >= 0.8", "miss_rate <= 0.1"], 2, "met: "),
            (["blind flagged agreement >= 0.99", "miss_rate <= 0.1"], 1, "missed: "),
        ],
    )
    def test_requirements_set_the_exit_status_and_print_a_line_each(
        self,
        required: list[str],
        status: int,
        begins: str,
        run: Run,
        capfdbinary: pytest.CaptureFixture[bytes],
    ) -> None:
        options = [part for text in required for part in ("--require", text)]
        done = manage(capfdbinary, "judge_report", "nightly", *options)
        lines = done.out.decode().splitlines()
        assert (done.status, len(lines), lines[0].startswith(begins)) == (status, len(required), True)

    def test_report_json_has_the_requirements(
        self, run: Run, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        text = "blind flagged agreement >= 0.99"
        done = manage(capfdbinary, "judge_report", "nightly", "--json", "--require", text)
        [found] = json.loads(done.out)["requirements"]
        assert (done.status, found["require"], found["outcome"], found["limit"]) == (1, text, "missed", 0.99)
        assert found["estimate"] == json.loads(done.out)["judge_vs_human"]["overall"][0]["agreement"]

    def test_invalid_requirement_exits_with_2(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        done = manage(capfdbinary, "judge_report", "nightly", "--require", "kappa >= 0.6")
        assert (done.status, done.out) == (2, b"")
        assert "names an unknown metric" in done.err
