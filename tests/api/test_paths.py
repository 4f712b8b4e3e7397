"""Paths of records: every id that an import accepts is readable and decidable, and means one record."""

from collections.abc import Sequence

import pytest

from reviews.models import Evaluation, Run, User
from reviews.queue import claims
from tests.support.api_requests import Program, path_of
from tests.support.lines import file_of, import_data, line

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

IDS = (
    "a",
    "a/review",
    "a/review/review",
    "a/claim",
    "a/blind-scores",
    "review",
    "claim/",
    "/review",
    "/",
    "a//b",
    "x/evaluations/y",
    "x/evaluations/y/review",
    "imports",
    "a/imports",
    "a/export",
    "evaluations",
    "a b",
    " a ",
    "ä/ö 数学 🙂",
    "%2F",
    "a%2Freview",
    "100%",
    "?run=b",
    "a#b;c=d&e+f",
    ".",
    "..",
    "../../audit",
    "a\nb",
    "a\r\n/review",
    "\\",
    "\U0010ffff",
)
# One of each kind.
TELLING = ("a", "a/review", "/", "ä/ö 数学 🙂", "a%2Freview", "?run=b", "..", "a\r\n/review")
RUNS = ("one", "imports", "a b", "evaluations", "%2F", "ä?#")


def records(run: str, ids: Sequence[str]) -> list[Evaluation]:
    lines = (line(key, structured_model_response={"final_answer": "2"}) for key in ids)
    assert import_data(file_of(*lines), run=run).new == len(ids)
    return list(Evaluation.objects.select_related("run").filter(run__name=run).order_by("pk"))


def test_every_id_is_readable(of_ana: Program) -> None:
    # Another run has some of the ids.
    found = [record for number, run in enumerate(RUNS) for record in records(run, IDS[number::3])]
    assert {record.evaluation_id for record in found} == {*IDS}
    for record in found:
        read = of_ana.get(path_of(record)).json()
        assert (read["run"], read["evaluation_id"]) == (record.run.name, record.evaluation_id)


@pytest.mark.parametrize("ids", [TELLING, pytest.param(IDS, marks=pytest.mark.exhaustive)], ids=len)
def test_every_id_is_releasable_scored_blind_and_decidable(
    ids: Sequence[str], of_ana: Program, ana: User
) -> None:
    decided = records("imports", ids)
    Run.objects.update(blind_share=1)
    for record in decided:
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        released = of_ana.ask("DELETE", path_of(record, "claim"))
        assert (released.status_code, claimed_by(ana)) == (204, [])
        claims.claim(evaluation_id=record.pk, reviewer=ana)
        shown = of_ana.ask("PUT", path_of(record, "blind-scores"), {"scores": {"Clarity": "No"}})
        assert (shown.status_code, shown.json()["evaluation_id"]) == (200, record.evaluation_id)
        sent = {"corrected_scores": {"Clarity": {"score": "Yes"}}}
        saved = of_ana.ask("PUT", path_of(record, "review"), sent, Idempotency_Key=str(record.pk))
        assert (saved.status_code, claimed_by(ana)) == (200, [])
    done = Evaluation.objects.exclude(review=None).order_by("pk")
    assert [one.pk for one in done] == [record.pk for record in decided]


def claimed_by(person: User) -> list[str]:
    return [one.evaluation_id for one in Evaluation.objects.filter(claimed_by=person)]
