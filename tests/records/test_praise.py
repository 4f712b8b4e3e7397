"""A justification praises only if it finds nothing wrong."""

import pytest

from reviews.records.praise import is_praise


@pytest.mark.parametrize(
    "justification",
    [
        "The final answer is correct.",
        "All steps are present and fully justified.",
        "The model correctly identifies both roots and clearly explains each step.",
        "The results match the correct values.",
        "There are no errors in the derivation.",
        "It is completely accurate, without any mistakes.",
    ],
)
def test_praise_is_detected(justification: str) -> None:
    assert is_praise(justification)


@pytest.mark.parametrize(
    "justification",
    [
        "",
        "The final answer is 54.",
        "The model does not correctly identify the pattern.",
        "It doesn't clearly state what it assumes.",
        "It doesn\u2019t clearly state what it assumes.",
        "The steps are correct, but the answer is off by one.",
        "The steps are correct. However, the last one lacks a reason.",
        "The setup is valid; the sign in step 3 is wrong.",
        "The ideal response correctly identifies two singularities.",
        "The method is correct until step 4.",
        "Only the first root is correct.",
        "There are no errors, yet two cases are missing.",
        "The result is incorrect.",
        "The model is overconfident in what is correct and misinterprets the rest.",
    ],
)
def test_text_with_a_fault_is_no_praise(justification: str) -> None:
    assert not is_praise(justification)
