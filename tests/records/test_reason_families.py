"""Reasons with the same cause are in one family, whatever particulars they name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.records import reason_families
from reviews.records.reason_families import LONGEST_KEY, LONGEST_TITLE, reason_family

PIECES = ["'", '"', "…", ":", "12", "-3.5%", "a/b/c", "don't", "line", "4", "in criteria:", "x"]


@pytest.mark.parametrize(
    ("reason", "title"),
    [
        (
            "LLM response parsing failed: Parsed JSON is missing the required top-level key: 'evaluation'.",
            "Parsed JSON is missing the required top-level key",
        ),
        (
            "LLM response parsing failed: Invalid JSON: Invalid \\escape: line 2 column 109 (char 110)",
            "Invalid JSON: Invalid \\escape",
        ),
        ("Partial score in criteria: Assumptions, Rigor", "Partial score in criteria"),
        (
            "Potential trivial justification for 'No'/'Partial' score in criteria: 'Clarity'.",
            "Potential trivial justification for … score in criteria",
        ),
        ("Could not read /data/run/out.json: it's gone", "Could not read …: it's gone"),
        (
            "Judge of eval_cb5036a6-66ae-4378-92f1-ed0025f7d63f gave up after 3.5 s",
            "Judge of … gave up after … s",
        ),
        ("Agreement 0.4 is below 0.75", "Agreement … is below"),
        ("Random audit sample", "Random audit sample"),
        ("  ", "No reason given"),
    ],
)
def test_reason_family_ignores_particulars(reason: str, title: str) -> None:
    assert reason_family(reason).title == title


@pytest.mark.parametrize("place", ["line 2 column 109 (char 110)", "line 8 column 113 (char 420)"])
def test_reason_family_ignores_the_parsers_position(place: str) -> None:
    assert reason_family(f"Invalid JSON: {place}").key == "invalid-json"


def test_parsing_error_and_its_reason_share_a_family() -> None:
    error = "Parsed JSON is missing the required top-level key: 'evaluation'."
    assert reason_family(f"LLM response parsing failed: {error}") == reason_family(error)


def test_different_errors_are_different_families() -> None:
    assert (
        reason_family("Invalid JSON: Expecting value").key
        != reason_family("Invalid JSON: Invalid \\escape").key
    )


def test_sample_reasons_form_two_families(sample: bytes) -> None:
    records = map(json.loads, sample.splitlines())
    reasons = {reason for record in records for reason in record["review_reasons"]}
    assert len(reasons) == 5
    assert {reason_family(reason).key for reason in reasons} == {
        "parsed-json-is-missing-the-required-top-level-key",
        "invalid-json-format-in-extracted-block-invalid-escape",
    }


@given(st.text() | st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_family_of_a_title_is_stable_and_short(reason: str) -> None:
    found = reason_family(reason)
    assert reason_family(found.title) == found
    assert 0 < len(found.key) <= LONGEST_KEY
    assert 0 < len(found.title) <= LONGEST_TITLE


@pytest.mark.slow
@given(st.from_regex(reason_families._PLAIN, fullmatch=True))
def test_plain_reasons_have_no_particulars(reason: str) -> None:
    assert [
        instead for pattern, instead in reason_families._PATTERNS if pattern.sub(instead, reason) != reason
    ] == []
