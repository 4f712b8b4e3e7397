"""A filter by what is compared does not apply."""

from itertools import product

import pytest
from django.test import Client
from django.urls import reverse

from reviews.judge.comparison.paired import compare_judges
from reviews.judge.comparison.shared_filters import read_shared_filters
from reviews.judge.scope import JudgeScope
from reviews.models import User
from tests.support.api_requests import program_of
from tests.support.filtered_runs import Judged, Rated, fill
from tests.support.pages import text

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


class TestCompared:
    """A filter by what is compared does not apply."""

    def records(self, *, judge: str, template: str = "v1") -> list[Judged]:
        given = (judge, template, "o1", "task 1", "Pass", True, (Rated("ana", "Pass", 1),))
        return [Judged(*given, raters=1)]

    def test_judge_of_runs_without_a_common_judge_is_no_filter(
        self, ana: User, client: Client, lea: User
    ) -> None:
        first, second = fill("a", self.records(judge="j1")), fill("b", self.records(judge="j2"))
        client.force_login(lea)
        page = client.get(reverse("judge-compare", args=[second.pk], query={"with": first.pk, "judge": "j2"}))
        assert "The judge is compared, so there is no filter by judge." in text(page)
        assert "judge" not in {field.name for field in page.context["fields"]}
        assert page.context["kept"] == [("judge", "j2")]
        assert page.context["sections"][0].figures[0][1].value == 2
        assert "2 ratings of common responses so far. A comparison needs 10 or more." in text(page)
        refused = program_of(lea).get("runs/b/comparison?earlier=a&judge=j2")
        assert refused.status_code == 422
        assert "The judge is compared" in refused.text

    def test_judge_of_one_side_does_not_apply(self, ana: User) -> None:
        first = fill("a", self.records(judge="j1"))
        second = fill("b", [*self.records(judge="j1"), *self.records(judge="j2")])
        shared = read_shared_filters(first, second, {"judge": "j2"})
        assert shared.scope == JudgeScope(second)
        assert shared.problems == {"judge": "The filter by judge does not apply: only one side has j2."}
        assert read_shared_filters(first, second, {"judge": "j1"}).scope == JudgeScope(second, judge="j1")

    @pytest.mark.parametrize(
        ("kept", "compared"), [({"judge": "j1"}, ("j1, v1", "j1, v2")), ({"template": "v1"}, ("j1", "j2"))]
    )
    def test_filter_within_a_run_keeps_the_pairs_that_differ_in_something_else(
        self, ana: User, kept: dict[str, str], compared: tuple[str, str]
    ) -> None:
        run = fill("a", [one for pair in product(("j1", "j2"), ("v1", "v2")) for one in self.of(*pair)])
        [found] = compare_judges(read_shared_filters(None, run, kept).scope)
        ends = tuple(name.rpartition(", ")[2] for name in compared)
        assert (found.first, found.second) == ends

    def of(self, judge: str, template: str) -> list[Judged]:
        return self.records(judge=judge, template=template)

    def test_judges_of_a_run_with_one_prompt_are_compared(self, ana: User) -> None:
        run = fill("a", [*self.records(judge="j1"), *self.records(judge="j2")])
        shared = read_shared_filters(None, run, {"judge": "j1", "template": "v1"})
        assert shared.reasons == {"judge": "The judge is compared, so there is no filter by judge."}
        assert len(compare_judges(shared.scope)) == 1
