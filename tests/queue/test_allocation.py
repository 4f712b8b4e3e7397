"""The allocation of records to shares of a run."""

from uuid import uuid4

import pytest

from reviews.database.statements import fetch_all
from reviews.models import Evaluation, Run
from reviews.queue import allocation
from tests.support.factories import EvaluationFactory

IDS = [str(uuid4()) for _ in range(4_000)]


def places(purpose: str, ids: list[str] = IDS) -> list[float]:
    return [allocation.position(purpose, evaluation_id) for evaluation_id in ids]


class TestPosition:
    def test_position_never_changes(self) -> None:
        assert (
            allocation.position("blind", "eval_1")
            == allocation.position("blind", "eval_1")
            == 0.10743455184011097
        )

    def test_position_is_at_least_0_and_less_than_1(self) -> None:
        assert all(0 <= place < 1 for place in places("blind"))

    @pytest.mark.parametrize("share", [0.05, 0.15, 0.5])
    def test_share_contains_as_many_records_as_chance_would_give(self, share: float) -> None:
        hit = sum(place < share for place in places("blind"))
        # Five standard deviations of the binomial distribution.
        assert abs(hit - share * len(IDS)) < 5 * (share * (1 - share) * len(IDS)) ** 0.5

    def test_positions_for_two_purposes_are_independent(self) -> None:
        blind, sample = places("blind"), places("sample")
        both = sum(one < 0.5 and other < 0.5 for one, other in zip(blind, sample, strict=True))
        assert abs(both - len(IDS) / 4) < 5 * (len(IDS) * 3 / 16) ** 0.5

    @pytest.mark.django_db
    def test_position_orders_records_as_postgresql_does(self) -> None:
        ids = [*IDS[:50], "", "é", "eval 1", "\N{SNOWMAN}"]
        ids_as_rows = "SELECT evaluation_id FROM unnest(%(ids)s::text[]) AS one (evaluation_id)"
        query = f"{ids_as_rows} ORDER BY {allocation.POSITION_SQL}"
        ordered = [
            evaluation_id for (evaluation_id,) in fetch_all(query, {"ids": ids, "purpose": allocation.SAMPLE})
        ]
        assert ordered == sorted(ids, key=lambda one: allocation.position(allocation.SAMPLE, one))

    @pytest.mark.django_db
    def test_position_is_stored_with_each_record(self) -> None:
        ids = [*IDS[:5], "é", "eval 1", "\N{SNOWMAN}"]
        for evaluation_id in ids:
            EvaluationFactory.create(evaluation_id=evaluation_id)
        assert dict(Evaluation.objects.values_list("evaluation_id", "blind_position")) == {
            evaluation_id: allocation.position(allocation.BLIND, evaluation_id) for evaluation_id in ids
        }


class TestShares:
    def test_share_of_0_is_empty_and_share_of_1_contains_all(self) -> None:
        nothing, everything = Run(blind_share=0), Run(blind_share=1, overlap_share=1, overlap=3)
        assert not any(allocation.is_blind(nothing, one) for one in IDS)
        assert all(allocation.is_blind(everything, one) for one in IDS)
        assert {allocation.required_independent_reviews(everything, one) for one in IDS} == {3}

    def test_larger_share_contains_the_smaller_one(self) -> None:
        small, large = Run(blind_share=0.1), Run(blind_share=0.2)
        held = {one for one in IDS if allocation.is_blind(small, one)}
        assert held
        assert held < {one for one in IDS if allocation.is_blind(large, one)}

    def test_records_outside_the_overlap_share_need_one_review(self) -> None:
        run = Run(overlap_share=0.1, overlap=2)
        wanted = [allocation.required_independent_reviews(run, one) for one in IDS]
        assert set(wanted) == {1, 2}
        assert 0.05 < wanted.count(2) / len(IDS) < 0.15
