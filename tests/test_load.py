"""The load and fault tests in small, so that they go with the program, and what their checks find."""

import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from cognireview.environment import BASE_DIR
from reviews.api.decisions import _SUBMISSIONS
from reviews.models import Evaluation, Export, Import, Review, User
from reviews.queue import claims
from tests.load import imports, invariants, recounts
from tests.load.reviewer import Accepted
from tests.load.reviewers import after
from tests.support.lines import bring_in, file_of, line, take_out
from tests.support.work import SCORES, agree, decide


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["reviewers", "--records=400", "--reviewers=3"],
        ["kill", "--records=1500", "--reviewers=3", "--kills=1", "--pause=2"],
    ],
    ids=["reviewers", "kill"],
)
def test_all_of_it_holds_in_small(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.load", *arguments],
        cwd=BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["Everything holds."]), done.stderr


KEY = "ana-1"
DATA = file_of(line("eval_1"), line("eval_2"))


def decided(ana: User) -> Accepted:
    """A decision sent by a program, with the site's response."""
    record = Evaluation.objects.get(evaluation_id="eval_1")
    review = decide(record, ana, comments=KEY, submission=uuid.uuid5(_SUBMISSIONS, f"{ana.pk} {KEY}"))
    scores = {name: entry["score"] for name, entry in SCORES.items()}
    return Accepted("eval_1", "ana", KEY, review.version, scores)


def brought(folder: Path) -> Path:
    """The file that was imported, under the name it had."""
    path = folder / Import.objects.get().file_name
    path.write_bytes(DATA)
    return path


@pytest.mark.django_db(transaction=True)
class TestTheChecks:
    @pytest.fixture(autouse=True)
    def _a_file(self) -> None:
        bring_in(DATA)

    def test_find_nothing_where_all_holds(self, ana: User, tmp_path: Path) -> None:
        accepted, original, exported = decided(ana), brought(tmp_path), tmp_path / "exported.jsonl"
        exported.write_bytes(take_out())
        assert list(after([accepted], [original], once=True)) == []
        assert list(invariants.check_export([original], exported, [accepted])) == []

    def test_find_a_decision_that_is_lost_and_one_that_nobody_knows_of(self, ana: User) -> None:
        accepted = decided(ana)
        lost = Accepted("eval_2", "ana", "ana-2", 1, accepted.scores)
        [found, not_current] = invariants.check_decisions([accepted, lost], once=True)
        assert found == "the decision ana-2 on eval_2 was accepted, and is lost"
        assert not_current == "the decision ana-2 on eval_2 is not the current one"
        [unaccepted, decided_all_the_same] = invariants.check_decisions([], once=True)
        assert unaccepted.startswith(f"the decision {KEY} on ")
        assert unaccepted.endswith(" is saved, but was not accepted")
        assert decided_all_the_same == "eval_1 is decided, but no decision was accepted"

    def test_find_a_decision_that_is_another(self, ana: User) -> None:
        accepted = decided(ana)
        other = Accepted("eval_1", "ana", KEY, 1, accepted.scores | {"Clarity": "No"})
        assert list(invariants.check_decisions([other], once=True)) == [
            f"the decision {KEY} on eval_1 is not as it was accepted"
        ]

    def test_find_a_record_that_was_decided_twice(self, ana: User) -> None:
        accepted = decided(ana)
        twice = list(invariants.check_decisions([accepted, accepted], once=True))
        assert f"eval_1 was decided by {KEY} and by {KEY}" in twice

    def test_find_a_version_that_is_missing_and_a_submit_that_the_audit_log_lacks(self, ana: User) -> None:
        accepted = decided(ana)
        record = Evaluation.objects.get(evaluation_id="eval_1")
        beside = {"evaluation": record, "run": record.run, "reviewer": ana, "submitted_at": timezone.now()}
        Review.objects.create(version=3, comments="by nobody", **beside)
        found = "\n".join(invariants.check_decisions([accepted], once=True))
        assert "reviews whose versions have a gap" in found
        assert "reviews that the audit log does not have once" in found

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"lines": 3}, "has 3 lines and accounts for"),
            (
                {"new": 1, "rejected": 1},
                "has 1 lines that are rejected, and lists 0 (by heap: 0, by index: 0)",
            ),
            ({"sha256": "0" * 64}, "keeps other bytes than were brought"),
            ({"state": "running"}, "it is running, 2 records are new, and 2 show"),
            ({"state": "failed", "error": "a bug"}, "is failed: a bug"),
        ],
    )
    def test_find_an_import_that_does_not_add_up(
        self, changes: dict[str, object], sentence: str, tmp_path: Path
    ) -> None:
        Import.objects.update(**changes)
        assert sentence in "\n".join(imports.check_imports([brought(tmp_path)]))

    def test_find_what_is_held_and_what_is_left_to_do(self, ana: User) -> None:
        record = Evaluation.objects.get(evaluation_id="eval_1")
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        Export.objects.create(run=record.run, with_rejected=False, created_by=ana)
        assert list(invariants.check_claims()) == ["eval_1 is still claimed by ana"]
        assert "is unfinished" in "\n".join(invariants.check_jobs())

    @pytest.mark.parametrize(
        ("statement", "what"),
        [
            ("UPDATE run_count SET evaluations = evaluations + 1", "records by status"),
            ("UPDATE criterion_day SET overridden = overridden + 1", "overrides by day"),
            ("UPDATE judged_count SET reviews = reviews + 1", "decisions against the judge's"),
            ("UPDATE stratum_count SET evaluations = evaluations + 1", "records by stratum"),
            ("UPDATE facet_count SET evaluations = evaluations + 1", "records by facet"),
            ("DELETE FROM evaluation_words", "records with words"),
        ],
    )
    def test_find_a_count_that_is_wrong(self, statement: str, what: str, ana: User) -> None:
        agree(Evaluation.objects.get(evaluation_id="eval_1"), ana)
        assert list(recounts.check_counts()) == []
        with connection.cursor() as cursor:
            cursor.execute(statement)
        assert what in "\n".join(recounts.check_counts())

    def test_find_a_line_of_an_export_that_is_not_as_it_was_decided(self, ana: User, tmp_path: Path) -> None:
        accepted, original = decided(ana), brought(tmp_path)
        found = list(invariants.check_export([original], original, [accepted]))
        assert found == [
            f"the export has another decision on eval_1 than {KEY}",
            "0 lines are not as they came, and 1 records were decided",
        ]
        torn = tmp_path / "torn.jsonl"
        torn.write_bytes(DATA.replace(b"eval_2", b"eval_3"))
        assert "line 2 of the export is not in the original" in invariants.check_export([original], torn, [])
