"""The rubric of a run: the default, one that is declared, and one that imports infer."""

from dataclasses import replace

import pytest

from reviews.accounts.permissions import Denied
from reviews.models import AuditEvent, Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.records.rubric import Cause, Criterion, Rubric, VerdictRule
from reviews.records.rubric_file import RubricError
from reviews.records.scales import RangeScale, ValueScale
from reviews.rubric.inference import infer_rubric
from reviews.rubric.run_rubric import declare_rubric, extend_rubric, run_rubric
from tests.support.lines import file_of, import_data, line
from tests.support.rubrics import rubric_of

MINE = Rubric(
    (Criterion("rigor", weight=2), Criterion("clarity", scale=RangeScale(0, 5, pass_from=4))),
    ValueScale(("Good", "Fair", "Poor"), "Good", "Fair", ("N/A",)),
    VerdictRule("worst"),
    (Cause("Typo"), Cause("Other")),
)


def declare(run: Run, wanted: Rubric, actor: User | None) -> Run:
    return declare_rubric(run_id=run.pk, actor=actor, rubric=wanted, seen=run_rubric(run).fingerprint)


def kept(run: Run) -> Rubric:
    return run_rubric(Run.objects.get(pk=run.pk))


def test_run_without_rubric_has_the_default_one() -> None:
    assert run_rubric(Run()) == Rubric()


class TestDeclare:
    def test_declared_rubric_is_saved(self, run: Run, lea: User) -> None:
        changed = declare(run, MINE, lea)
        assert run_rubric(changed) == kept(run) == MINE
        assert changed.is_rubric_declared

    def test_declared_values_keep_their_json_type(self, run: Run, lea: User) -> None:
        scale = ValueScale((5, "5", True, 2.5, 0, False), pass_from=True)
        declare(run, replace(MINE, scale=scale), lea)
        assert repr(kept(run).scale) == repr(scale)

    def test_declaration_records_an_event_with_both_rubrics(self, run: Run, lea: User) -> None:
        declare(run, MINE, lea)
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.run) == ("declare rubric", lea, run)
        assert event.detail["before"] == Rubric().as_json()
        assert event.detail["after"] == MINE.as_json()

    def test_declaration_is_for_leads(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied, match="Only a lead or an admin can change the settings of a run"):
            declare(run, MINE, ana)
        assert kept(run) == Rubric()
        assert not Run.objects.get(pk=run.pk).is_rubric_declared

    def test_command_line_declares_without_an_actor(self, run: Run) -> None:
        declare_rubric(run_id=run.pk, actor=None, rubric=MINE)
        assert kept(run) == MINE
        assert AuditEvent.objects.get().actor is None

    def test_declaration_after_a_change_by_another_lead_is_refused(self, run: Run, lea: User) -> None:
        seen = run_rubric(run).fingerprint
        declare(run, MINE, lea)
        with pytest.raises(SettingsChanged):
            declare_rubric(run_id=run.pk, actor=lea, rubric=Rubric(), seen=seen)
        assert kept(run) == MINE
        assert AuditEvent.objects.count() == 1

    def test_invalid_rubric_is_refused_with_every_problem(self, run: Run, lea: User) -> None:
        wrong = replace(MINE, scale=ValueScale(("Good",)), rule=VerdictRule("mean"), causes=(Cause(""),))
        with pytest.raises(RubricError) as refused:
            declare(run, wrong, lea)
        assert [place for place, _ in refused.value.problems] == [
            "scale.values",
            "verdict.pass_from",
            "causes[1]",
        ]
        assert kept(run) == Rubric()
        assert not AuditEvent.objects.exists()


class TestExtend:
    def extended(self, run: Run, found: Rubric) -> Rubric:
        extend_rubric(run_id=run.pk, found=found)
        return kept(run)

    def test_first_file_sets_the_rubric(self, run: Run) -> None:
        found = rubric_of("b", "a", scale=RangeScale(1, 5), rule=VerdictRule("none"))
        assert self.extended(run, found) == found
        assert not Run.objects.get(pk=run.pk).is_rubric_declared
        event = AuditEvent.objects.get()
        assert (event.action, event.actor, event.run) == ("infer rubric", None, run)
        assert (event.detail["before"], event.detail["after"]) == (Rubric().as_json(), found.as_json())

    def test_later_file_adds_criteria_and_scores(self, run: Run) -> None:
        self.extended(run, rubric_of("a", "b", scale=RangeScale(1, 5)))
        found = self.extended(run, rubric_of("c", "b", scale=RangeScale(1, 10)))
        assert found.names == ("a", "b", "c")
        assert [found.scale_of(name) for name in found.names] == [
            *(RangeScale(1, 5), RangeScale(1, 10), RangeScale(1, 10)),
        ]

    def test_file_without_news_changes_nothing(self, run: Run) -> None:
        self.extended(run, rubric_of("a", "b"))
        self.extended(run, rubric_of("b"))
        assert AuditEvent.objects.count() == 1

    @pytest.mark.slow
    @pytest.mark.django_db
    def test_import_does_not_change_a_declared_rubric(self, lea: User) -> None:
        run = import_data(file_of(line("a"))).target_run
        declare(run, MINE, lea)
        import_data(file_of(line("b", parsed_rubric_scores={"Tone": {"score": 9}})))
        infer_rubric(Run.objects.get(pk=run.pk))
        extend_rubric(run_id=run.pk, found=rubric_of("c"))
        assert kept(run) == MINE
        assert AuditEvent.objects.filter(action="declare rubric").count() == 1
        assert AuditEvent.objects.latest("pk").action != "infer rubric"
