"""Another judge's file of the same records: rejected in the run, and imported as a run of its own."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from reviews.audit import log
from reviews.database.statements import execute
from reviews.exports.output import ExportOptions, ExportOutput
from reviews.imports import jobs
from reviews.imports.importer import NothingImported
from reviews.models import Evaluation, Import, Run, User
from reviews.records.mapping import mapping_from_json
from tests.support.commands import Capture, manage
from tests.support.lines import export_data, file_of, import_data, line
from tests.support.pages import text
from tests.support.work import decide

pytestmark = pytest.mark.django_db

IDS = ("a", "b", "a/review")


def judged(key: str, **changes: Any) -> bytes:
    """Return the second judge's line about a record."""
    scores = {"Clarity": {"score": "No", "justification": "Unclear."}}
    return line(key, judge_llm_model="second", parsed_rubric_scores=scores, **changes)


MAPPING = {
    "fields": {
        "evaluation_id": "key",
        "judge_llm_model": "judge",
        "judge_prompt_template_path": "'prompt'",
        "created_at": "'2025-04-12T03:55:23Z'",
    },
    "criteria": [{"name": "'Clarity'", "score": "score"}],
}
FIRST, SECOND = file_of(*map(line, IDS)), file_of(*map(judged, IDS))


def values() -> list[Any]:
    return list(Evaluation.objects.order_by("pk").values())


def brought(data: bytes, actor: User, *, run: str = "evaluations", name: str = "second.jsonl") -> Import:
    source = jobs.enqueue_import(run_name=run, file_name=name, blocks=[data], strict=False, actor=actor)
    jobs.import_upload(import_id=source.pk)
    source.refresh_from_db()
    return source


class TestInTheSameRun:
    @pytest.mark.slow
    def test_file_of_another_judge_changes_nothing(self, ana: User, max: User) -> None:
        import_data(FIRST)
        decide(Evaluation.objects.get(evaluation_id="a"), ana)
        before, exported = values(), export_data()
        refused = brought(SECOND + file_of(judged("new")), max)
        assert (refused.state, refused.of_other_judge) == ("failed", 3)
        assert refused.error == (
            "3 of 4 lines are another judge's evaluations of records in this run, so nothing was imported. "
            "Import the file as a run of its own."
        )
        [reason] = {one["reason"] for one in refused.listed_exceptions()}
        assert reason.startswith("is 'second', but this run has the evaluation by ")
        assert (values(), export_data()) == (before, exported)

    @pytest.mark.slow
    def test_lines_of_another_judge_among_others_are_rejected(self, max: User) -> None:
        import_data(FIRST)
        before = values()
        done = brought(file_of(line("a"), judged("b"), line("c")), max)
        assert (done.state, done.of_other_judge) == ("done", 1)
        assert (done.new, done.unchanged, done.rejected) == (1, 1, 1)
        assert values()[:3] == before
        assert export_data() == FIRST + file_of(line("c"))

    def test_renamed_judge_of_the_same_evaluation_is_an_update(self) -> None:
        import_data(FIRST)
        done = import_data(file_of(line("a", judge_llm_model="judge-1-2025"), *map(line, IDS[1:])))
        assert (done.updated, done.unchanged, done.of_other_judge) == (1, 2, 0)
        assert Evaluation.objects.get(evaluation_id="a").judge_llm_model == "judge-1-2025"

    @pytest.mark.slow
    def test_file_of_another_judge_with_some_equal_scores_changes_nothing(self, ana: User) -> None:
        import_data(FIRST)
        decide(Evaluation.objects.get(evaluation_id="a"), ana)
        before = values()
        equal = line("a", judge_llm_model="second")
        with pytest.raises(NothingImported, match="1 of 3 lines are another judge's"):
            import_data(file_of(equal, judged("b"), judged("new")))
        assert values() == before

    def test_many_lines_of_another_judge_are_not_taken_for_another_format(self, settings: Any) -> None:
        settings.MAX_REJECTED_LINES = 2
        import_data(FIRST)
        with pytest.raises(NothingImported, match="another judge's evaluations"):
            import_data(SECOND)

    def test_command_names_the_other_judge_and_the_option(
        self, tmp_path: Path, capsysbinary: Capture
    ) -> None:
        import_data(FIRST)
        (tmp_path / "evaluations.jsonl").write_bytes(SECOND)
        finished = manage(capsysbinary, "import_run", str(tmp_path / "evaluations.jsonl"))
        assert finished.status == 2
        assert "3 of 3 lines are another judge's evaluations" in finished.err
        assert "judge_llm_model is 'second', but this run has the evaluation by" in finished.out.decode()
        assert "use --run with a new name" in finished.out.decode()


class TestAsARunOfItsOwn:
    @pytest.fixture
    def refused(self, max: User) -> Import:
        import_data(FIRST)
        return brought(gzip.compress(SECOND), max, name="second.jsonl.gz")

    @pytest.mark.slow
    def test_page_imports_the_stored_file_into_a_new_run(self, refused: Import, as_max: Client) -> None:
        page = text(as_max.get(reverse("import", args=[refused.pk])))
        assert "Another judge's file" in page.replace("&#x27;", "'")
        assert 'value="second"' in page
        response = as_max.post(reverse("import-as-new-run", args=[refused.pk]), {"run": "evaluations"})
        assert response.status_code == 422
        assert "A run with this name exists." in text(response)
        as_max.post(reverse("import-as-new-run", args=[refused.pk]), {"run": "second judge"})
        done = Import.objects.latest("pk")
        jobs.import_upload(import_id=done.pk)
        done.refresh_from_db()
        assert (done.target_name, done.state, done.new) == ("second judge", "done", 3)
        assert (done.size, done.sha256, done.file_name) == (refused.size, refused.sha256, "second.jsonl.gz")
        assert export_data(run="second judge") == SECOND
        assert export_data() == FIRST

    @pytest.mark.slow
    def test_page_says_if_the_new_run_of_a_restricted_run_is_open(
        self, refused: Import, as_max: Client, settings: Any
    ) -> None:
        sentence, address = "The new run is open to everybody", reverse("import", args=[refused.pk])
        assert sentence not in text(as_max.get(address))
        Run.objects.update(is_restricted=True)
        assert sentence in text(as_max.get(address))
        settings.RESTRICT_NEW_RUNS = True
        assert sentence not in text(as_max.get(address))

    @pytest.mark.slow
    def test_new_run_is_read_with_the_same_mapping(self, max: User) -> None:
        how = mapping_from_json(MAPPING)
        one, other = (b'{"key": "a", "judge": "%b", "score": %d}\n' % each for each in ((b"x", 1), (b"y", 2)))
        for data in (one, other):
            source = jobs.enqueue_import(
                run_name="mapped", file_name="a.jsonl", blocks=[data], strict=False, actor=max, mapping=how
            )
            jobs.import_upload(import_id=source.pk)
        source.refresh_from_db()
        assert source.of_other_judge == 1
        jobs.import_upload(import_id=jobs.enqueue_as_new_run(source=source, run_name="other", actor=max).pk)
        run = Run.objects.get(name="other")
        assert run.mapping == how.as_json()
        assert run.evaluations.get().judge_llm_model == "y"
        assert export_data(run="other") == other

    def test_ordinary_import_becomes_no_other_run(self, as_max: Client) -> None:
        done = import_data(FIRST)
        assert "new-run" not in text(as_max.get(reverse("import", args=[done.pk])))
        response = as_max.post(reverse("import-as-new-run", args=[done.pk]), {"run": "other"})
        assert response.status_code == 422
        assert not Run.objects.filter(name="other").exists()


@pytest.mark.slow
def test_two_judges_are_reviewed_exported_and_verified_as_two_runs(
    ana: User, bo: User, tmp_path: Path, capsysbinary: Capture
) -> None:
    for run, data, person, score in (("first", FIRST, ana, "Yes"), ("second", SECOND, bo, "Partial")):
        assert import_data(data, run=run).new == len(IDS)
        (tmp_path / f"{run}.jsonl").write_bytes(data)
        for record in Evaluation.objects.filter(run__name=run).exclude(evaluation_id="b"):
            decide(record, person, scores={"Clarity": {"score": score, "justification": run}})
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    for run in ("first", "second"):
        output = ExportOutput(ExportOptions(Run.objects.get(name=run)))
        (tmp_path / f"{run}.out").write_bytes(b"".join(output))
        (tmp_path / f"{run}.receipt").write_bytes(b"".join(output.receipt(f"{run}.out")))
    (tmp_path / "audit.jsonl").write_bytes(b"".join(log.jsonl_lines()))
    for run, reviewer in (("first", "ana"), ("second", "bo")):
        lines = [json.loads(one) for one in (tmp_path / f"{run}.out").read_bytes().splitlines()]
        assert [one["human_reviewer_id"] for one in lines] == [reviewer, None, reviewer]
        files = [str(tmp_path / f"{run}.{ending}") for ending in ("jsonl", "out")]
        receipt = ["--receipt", str(tmp_path / f"{run}.receipt")]
        verified = manage(
            capsysbinary, "verify_export", *files, *receipt, "--audit-log", str(tmp_path / "audit.jsonl")
        )
        assert verified.status == 0, verified
        assert verified.out.decode().startswith("1 identical, 2 changed")
    crossed = [str(tmp_path / "first.jsonl"), str(tmp_path / "second.out")]
    assert manage(capsysbinary, "verify_export", *crossed).status == 1
    assert manage(capsysbinary, "verify_runs").status == 0
    assert manage(capsysbinary, "verify_audit").status == 0
