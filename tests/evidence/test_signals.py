"""Flag reasons and contradictions as chips."""

from reviews.evidence.signals import Signal, list_signals
from reviews.records.contradictions import Contradiction

LONG = "The response was flagged, because " + "the answer differs " * 10


def test_contradictions_come_first_and_are_grouped_by_kind() -> None:
    found = list_signals(
        ["Sampled."],
        [
            Contradiction("justification", "One."),
            Contradiction("missing", "Two."),
            Contradiction("justification", "Three."),
        ],
    )
    assert found == [
        Signal("Check 2 justifications", ["One.", "Three."], "bad"),
        Signal("Scores missing", ["Two."], "warn"),
        Signal("Sampled.", [], "warn"),
    ]


def test_contradiction_of_another_kind_is_its_own_label() -> None:
    assert list_signals([], [Contradiction("new", "Short.")]) == [Signal("Short.", ["Short."], "bad")]


def test_long_reason_is_shortened_and_opens_as_a_whole() -> None:
    [signal] = list_signals([LONG], [])
    assert signal == Signal("The response was flagged, because the answer …", [LONG], "warn")


def test_reason_without_spaces_is_shortened_within_a_word() -> None:
    [signal] = list_signals(["x" * 60], [])
    assert signal == Signal(f"{'x' * 47}…", ["x" * 60], "warn")


def test_many_reasons_share_a_chip() -> None:
    reasons = [f"Reason {number}." for number in range(6)]
    assert [signal.label for signal in list_signals(reasons[:4], [])] == reasons[:4]
    *first, rest = list_signals(reasons, [])
    assert [signal.label for signal in first] == reasons[:3]
    assert rest == Signal("3 more reasons", reasons[3:], "warn")
