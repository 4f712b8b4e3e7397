"""Settings for measuring a judge, and descriptions of their effect."""

from dataclasses import replace
from typing import Any

import pytest

from cognireview.types.runs import SamplingSettings
from reviews.accounts.permissions import Denied
from reviews.judge import sampling_settings
from reviews.models import AuditEvent, Evaluation, Run, User
from reviews.records.conflicts import SettingsChanged
from reviews.rubric.run_settings import InvalidSettings, current_settings, fingerprint
from tests.support.factories import UserFactory
from tests.support.lines import file_of, import_data, line
from tests.support.work import agree

pytestmark = pytest.mark.django_db

CALM = {"needs_human_review": False, "review_reasons": [], "human_review_status": "Not Required"}


@pytest.fixture
def run() -> Run:
    """Create three flagged records, one without a model response, and ten unflagged ones."""
    flagged = [line("f0"), line("f1"), line("f2", structured_model_response=None)]
    import_data(file_of(*flagged, *(line(f"u{number}", **CALM) for number in range(10))))
    return Run.objects.get()


def configure(run: Run, actor: User, **changes: Any) -> Run:
    before = current_settings(SamplingSettings, Run.objects.get(pk=run.pk))
    settings = replace(before, **changes)
    return sampling_settings.configure(
        run_id=run.pk, actor=actor, settings=settings, seen=fingerprint(before)
    )


class TestConfigure:
    def test_configure_changes_the_shares_and_records_an_event(self, run: Run, lea: User) -> None:
        configure(run, lea, blind_share=0.3, overlap=3, accuracy_target=0.8)
        assert current_settings(SamplingSettings, Run.objects.get()) == SamplingSettings(0.3, 0, 0, 3, 0.8, 0)
        event = AuditEvent.objects.get(action="configure sampling")
        assert (event.actor, event.run) == (lea, run)
        assert event.detail["before"] == {
            "blind_share": 0,
            "sample_share": 0,
            "overlap_share": 0,
            "overlap": 2,
            "accuracy_target": None,
            "spot_check_share": 0,
        }
        assert event.detail["after"] == {
            "blind_share": 0.3,
            "sample_share": 0,
            "overlap_share": 0,
            "overlap": 3,
            "accuracy_target": 0.8,
            "spot_check_share": 0,
        }

    def test_configure_draws_a_changed_sample(self, run: Run, lea: User) -> None:
        configure(run, lea, sample_share=0.2)
        assert Evaluation.objects.filter(is_sampled=True).count() == 2
        configure(run, lea, sample_share=0)
        assert not Evaluation.objects.filter(is_sampled=True).exists()

    def test_configure_conflicts_with_a_concurrent_change(self, run: Run, lea: User) -> None:
        seen = fingerprint(current_settings(SamplingSettings, run))
        configure(run, lea, blind_share=0.3)
        with pytest.raises(SettingsChanged):
            sampling_settings.configure(
                run_id=run.pk, actor=lea, settings=current_settings(SamplingSettings, run), seen=seen
            )

    def test_configure_is_for_leads_only(self, run: Run, ana: User) -> None:
        with pytest.raises(Denied):
            configure(run, ana, blind_share=0.3)

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            ({"blind_share": 1.01}, "Enter a share from 0 to 100%, not 101%."),
            ({"sample_share": -0.1}, "Enter a share from 0 to 100%, not -10%."),
            ({"overlap_share": float("nan")}, "Enter a share from 0 to 100%, not nan%."),
            ({"accuracy_target": 1}, "Enter a target between 0 and 100%, not 100%."),
            ({"accuracy_target": float("nan")}, "Enter a target between 0 and 100%, not nan%."),
            ({"overlap": 1}, "Enter 2 to 9 reviewers per record."),
            ({"overlap": 10}, "Enter 2 to 9 reviewers per record."),
        ],
    )
    def test_configure_reports_every_invalid_value(
        self, run: Run, lea: User, wrong: dict[str, float], sentence: str
    ) -> None:
        with pytest.raises(InvalidSettings) as caught:
            configure(run, lea, **wrong)
        assert caught.value.problems == {name: [sentence] for name in wrong}
        assert not AuditEvent.objects.filter(action="configure sampling").exists()


class TestShareDescriptions:
    def test_descriptions_count_the_records_of_each_share(self, run: Run, lea: User, ana: User) -> None:
        UserFactory.create(username="cy", role="reviewer")
        reach = sampling_settings.describe_shares(
            configure(run, lea, blind_share=0.5, sample_share=0.2, overlap_share=0.4, overlap=3)
        )
        assert reach.blind == "50% of 2 records that are flagged and have a model response: about 1."
        assert reach.sample == ("20% of 10 records that are not flagged: 2. Drawn so far: 2 (0 decided).")
        assert reach.overlap == "40% of 5 records to review: about 2."
        assert reach.obstacles == ()

    def test_sample_description_counts_decided_records(self, run: Run, lea: User, ana: User) -> None:
        changed = configure(run, lea, sample_share=0.2)
        agree(Evaluation.objects.select_related("run").filter(is_sampled=True)[0], ana)
        assert sampling_settings.describe_shares(changed).sample.endswith("Drawn so far: 2 (1 decided).")

    def test_descriptions_name_obstacles(self, lea: User) -> None:
        import_data(file_of(line("f0", structured_model_response=None)))
        changed = configure(Run.objects.get(), lea, blind_share=0.5, overlap_share=0.5)
        reach = sampling_settings.describe_shares(changed)
        assert reach.blind == ""
        blind, people = reach.obstacles
        assert blind.startswith("No record of this run can be scored blind")
        assert people.startswith("2 people are to review the same record and only 1 person can.")

    def test_sample_description_explains_a_larger_sample(self, lea: User) -> None:
        import_data(file_of(*(line(f"u{number}", **CALM, model_id=f"model-{number}") for number in range(4))))
        reach = sampling_settings.describe_shares(configure(Run.objects.get(), lea, sample_share=0.25))
        assert reach.sample == (
            "25% of 4 records that are not flagged: 4. The number is higher because at least one is drawn "
            "for each judge, prompt, model and verdict. Drawn so far: 4 (0 decided)."
        )

    def test_descriptions_of_an_empty_run_say_so(self) -> None:
        reach = sampling_settings.describe_shares(Run.objects.create(name="empty", blind_share=0.5))
        assert reach.blind == reach.sample == "This run has no records yet."

    def test_shares_of_zero_have_no_obstacles(self, lea: User) -> None:
        import_data(file_of(line("f0", structured_model_response=None)))
        assert sampling_settings.describe_shares(Run.objects.get()).obstacles == ()


@pytest.mark.parametrize(
    ("share", "word"), [(0, "0"), (0.15, "15"), (0.07, "7"), (0.025, "2.5"), (1, "100"), (1 / 3, "33.3333")]
)
def test_share_is_formatted_in_percent(share: float, word: str) -> None:
    assert sampling_settings.percentage(share) == word
