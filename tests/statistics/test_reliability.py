"""Agreement among several raters matches published examples, or is undefined."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.statistics.intervals import Z, wilson
from reviews.statistics.reliability import DEFINITIONS, Patterns, Units, alpha, fleiss_kappa, unanimous
from tests.support.estimates import limits, value

# Krippendorff 2011, part C: four observers, twelve units, some of them not seen by all.
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
# Krippendorff's example with three coders and fifteen units.
CODERS = (
    ". . . . . 3 4 1 2 1 1 3 3 . 3",
    "1 . 2 1 3 3 4 3 . . . . . . .",
    ". . 2 1 3 4 4 . 2 1 1 3 3 . 4",
)


def units(rows: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """Parse a table with a row for each observer and a column for each unit. A point means no score."""
    columns = zip(*(row.split() for row in rows), strict=True)
    return Counter(tuple(sorted(score for score in column if score != ".")) for column in columns)


@st.composite
def independent_reviews(draw: st.DrawFn) -> Units:
    scores = st.lists(st.sampled_from("abc"), max_size=4).map(lambda given: tuple(sorted(given)))
    return draw(st.dictionaries(scores, st.integers(1, 9), max_size=6))


class TestPublishedExamples:
    def test_alpha_matches_krippendorffs_example(self) -> None:
        found = units(OBSERVERS)
        assert round(value(alpha(found)), 3) == 0.743
        assert round(value(alpha(found, "12345")), 3) == 0.815
        assert alpha(found).n == 11

    def test_alpha_matches_krippendorffs_example_with_three_coders(self) -> None:
        found = units(CODERS)
        assert round(value(alpha(found)), 3) == 0.691
        assert round(value(alpha(found, "1234")), 3) == 0.807
        assert alpha(found).n == 12

    def test_fleiss_kappa_matches_the_example_with_fourteen_raters(self) -> None:
        """The usual example of Fleiss' kappa: ten subjects and five categories."""
        raters = "0 0 0 0 14, 0 2 6 4 2, 0 0 3 5 6, 0 3 9 2 0, 2 2 8 1 1, 7 7 0 0 0, 3 2 6 3 0, 2 5 3 2 2, "
        subjects = (map(int, subject.split()) for subject in (raters + "6 5 2 1 0, 0 2 2 3 7").split(","))
        found = Counter(
            tuple("".join(category * times for category, times in zip("abcde", subject, strict=True)))
            for subject in subjects
        )
        assert round(value(fleiss_kappa(found)), 3) == 0.210

    def test_coefficients_match_gwets_example_with_two_abstractors(self) -> None:
        """Scott's pi, and the error that the author's package irrCAC prints."""
        found = fleiss_kappa({("a", "a"): 13, ("b", "b"): 20, ("b", "c"): 11, ("c", "c"): 56})
        assert round(value(found), 7) == 0.7962397
        low, high = limits(found)
        assert (high - low) / 2 / Z == pytest.approx(0.05905473, rel=0.05)


class TestInterval:
    @pytest.mark.slow
    @given(independent_reviews())
    def test_reliability_interval_contains_the_value(self, given_scores: Units) -> None:
        for found in (alpha(given_scores), alpha(given_scores, "abc"), fleiss_kappa(given_scores)):
            if found.value is None:
                assert found.why.endswith(".")
            else:
                assert limits(found)[0] <= round(found.value, 9) <= limits(found)[1] <= 1

    def test_reliability_interval_has_a_width_if_few_records_all_agree(self) -> None:
        found = alpha({("Yes", "Yes"): 3, ("No", "No"): 4})
        assert found.value == 1
        assert limits(found)[0] < 0.5

    def test_reliability_interval_is_wide_if_one_record_decides(self) -> None:
        found = alpha({("Yes", "Yes"): 39, ("No", "No"): 1})
        assert found.value == 1
        assert limits(found)[0] < 0.25


class TestSymmetry:
    @pytest.mark.slow
    @given(independent_reviews())
    def test_ordinal_alpha_is_the_same_in_reverse_order(self, given_scores: Units) -> None:
        assert alpha(given_scores, "abc").value == pytest.approx(alpha(given_scores, "cba").value)

    @pytest.mark.slow
    @given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1))
    def test_ordinal_alpha_of_two_scores_is_nominal_alpha(self, given_scores: list[tuple[str, str]]) -> None:
        found = Counter(tuple(sorted(pair)) for pair in given_scores)
        assert alpha(found, "ab").value == pytest.approx(alpha(found).value)


class TestUndefined:
    def test_reliability_is_undefined_if_all_scores_are_equal(self) -> None:
        assert alpha({("Yes", "Yes"): 40}).why == (
            "All scores are the same: chance alone would agree, so alpha is undefined."
        )
        assert fleiss_kappa({("Yes", "Yes"): 40}).n == 40

    def test_reliability_is_undefined_without_common_records(self) -> None:
        for found in (alpha({("Yes",): 40}), alpha({}), fleiss_kappa({}), unanimous({("No",): 2})):
            assert (found.value, found.n) == (None, 0)

    def test_ordinal_alpha_omits_unranked_scores(self) -> None:
        with_others = {("a", "b"): 2, ("a", "a"): 3, ("a", "x"): 5, ("b", "b", "x"): 1}
        without = {("a", "b"): 2, ("a", "a"): 3, ("b", "b"): 1}
        assert alpha(with_others, "ab") == alpha(without, "ab")


def test_weighted_alpha_compares_each_score_with_all_others() -> None:
    """Chance is the disagreement of any two scores that are not the same one, by their weights."""
    records = [((0, 0), 1.0)] * 3 + [((0, 1), 5.0)] * 2 + [((1, 1), 5.0), ((0, 1), 1.0), ((0, 0, 1), 5.0)]
    scores, weight = [one for one, _ in records], np.array([one for _, one in records])
    each = [(score, record) for record, given in enumerate(scores) for score in given]
    observed = by_chance = pairs = 0.0
    for (one, record), (other, another) in permutations(each, 2):
        both = weight[record] * weight[another]
        by_chance, pairs = by_chance + both * (one != other), pairs + both
        if record == another:
            observed += weight[record] * (one != other) / (len(scores[record]) - 1)
    observed /= sum(weight[record] for _, record in each)
    patterns = Patterns(tuple(scores), weight, np.arange(len(scores)))
    expected = pytest.approx(1 - observed / (by_chance / pairs))
    assert alpha(patterns.counts, weighing=patterns.weighing).value == expected
    assert alpha(patterns.counts, (0, 1), weighing=patterns.weighing).value == expected


def test_unanimous_records_have_equal_scores() -> None:
    given_scores = {("Yes", "Yes", "Yes"): 6, ("Yes", "Yes", "No"): 3, ("No", "No"): 1, ("No",): 9}
    assert unanimous(given_scores) == wilson(7, 10)


def test_every_reliability_figure_has_a_definition_with_its_source() -> None:
    assert {"alpha", "ordinal_alpha", "fleiss_kappa", "unanimous"} == {*DEFINITIONS}
    assert all(re.search(r"\b(19|20)\d\d\b", text) for text in DEFINITIONS.values())
