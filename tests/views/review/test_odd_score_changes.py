"""Odd scores of files survive undo, revision and restore."""

import pytest
from django.test import Client
from django.urls import reverse

from reviews.models import Evaluation, Review, User
from reviews.review import decisions, undo
from tests.support.lines import export_data
from tests.support.odd_scores import ODD, odd_records
from tests.support.work import decide, restore_version

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# Those whose history is always tried.
USUAL_ODD = ("scores of other types", "names that no form would take", "characters that break things")


class TestLaterChanges:
    @pytest.mark.parametrize("names", [USUAL_ODD, pytest.param((*ODD,), marks=pytest.mark.exhaustive)])
    def test_odd_file_scores_survive_undo_revision_and_restore(
        self, names: tuple[str, ...], as_ana: Client, as_lea: Client, ana: User, lea: User
    ) -> None:
        given = {"Clarity": {"score": "No", "justification": ""}}
        for name, record in odd_records()[1].items():
            if name not in names:
                continue
            known = Evaluation.objects.filter(pk=record.pk)
            decide(record, ana, scores=given, origins={"Clarity": "human"})
            undo.undo(run=record.run, actor=ana)
            assert as_ana.get(reverse("evaluation", args=[record.pk])).status_code == 200, name
            record.refresh_from_db()
            assert (record.human_corrected_scores or {}).keys() == {
                criterion.replace("\0", "\ufffd") for criterion in ODD[name]
            }
            known.update(human_review_status="Completed")
            decisions.reopen(evaluation_id=record.pk, actor=lea, reason="Once more.")
            decide(known.get(), lea, scores=given, origins={"Clarity": "human"})
            from_file = Review.objects.get(evaluation=record, origin="file")
            restore_version(known.get(), lea, from_file.version)
            for page in ("evaluation", "revise", "record-history"):
                assert as_lea.get(reverse(page, args=[record.pk])).status_code == 200, (name, page)
            undo.undo(run=record.run, actor=lea)
            assert as_lea.get(reverse("evaluation", args=[record.pk])).status_code == 200, name
        assert len(export_data().splitlines()) == len(ODD)
