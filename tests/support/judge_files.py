"""Write files in the shapes of MT-Bench and AlpacaEval, whose own writers call paid models."""

import json
from collections.abc import Iterator
from typing import Any

QUESTIONS = ("Name the capital of France.", "Is 91 a prime number?", "Spell “naïve”.")
ANSWERS = ("It is Paris.", "No: 7 times 13 is 91.", "n-a-ï-v-e")
RATINGS = (9, 10, 6.5, -1)
# The winners of the two games of a pair, with the answers in both orders.
WINNERS = (("model_1", "model_1"), ("model_1", "model_2"), ("tie", "model_2"), ("error", "tie"))
PREFERENCES = (1.0, 1.9999861, 1.5, None)


def mt_bench_lines() -> bytes:
    """Return judgments of single answers: two turns of each question."""
    return _lines(_single(number, rating) for number, rating in enumerate(RATINGS))


def mt_bench_pair_lines() -> bytes:
    """Return judgments of pairs of answers."""
    return _lines(_pair(number, *winners) for number, winners in enumerate(WINNERS))


def alpaca_eval_array() -> bytes:
    """Return annotations of a weighted annotator, as an indented JSON array."""
    annotations = [_annotation(number, preference) for number, preference in enumerate(PREFERENCES)]
    return json.dumps(annotations, indent=4).encode()


def _lines(entries: Iterator[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def _single(number: int, rating: float) -> dict[str, Any]:
    question, answer = QUESTIONS[number % 3], ANSWERS[number % 3]
    turn = number % 2 + 1
    framed = f"[The Start of Assistant's Answer]\n{answer}\n[The End of Assistant's Answer]"
    shown = f"[Question]\n{question}\n\n{framed}"
    if turn == 2:
        talk = f"### User:\n{question}\n\n### Assistant A:\n{answer}"
        edges = [f"<|The {edge} of Assistant A's Conversation with User|>" for edge in ("Start", "End")]
        shown = f"\n\n{talk}\n\n".join(edges)
    said = f"Short and to the point. Rating: [[{rating}]]" if rating >= 0 else "I cannot rate this."
    return {
        "question_id": 81 + number // 2,
        "model": "parrot-7b",
        "judge": ["offline-judge", "single-v1" if turn == 1 else "single-v1-multi-turn"],
        "user_prompt": shown,
        "judgment": said,
        "score": rating,
        "turn": turn,
        "tstamp": 1763859600.25 + number,
    }


def _pair(number: int, first: str, second: str) -> dict[str, Any]:
    question, answer = QUESTIONS[number % 3], ANSWERS[number % 3]
    other = "I would rather not say."
    return {
        "question_id": 81 + number,
        "model_1": "parrot-7b",
        "model_2": "magpie-13b",
        "g1_winner": first,
        "g2_winner": second,
        "judge": ["offline-judge", "pair-v2"],
        "g1_user_prompt": _pair_prompt(question, answer, other),
        "g1_judgment": f"In this order, it is {first}.",
        "g2_user_prompt": _pair_prompt(question, other, answer),
        "g2_judgment": f"In the other order, it is {second}.",
        "turn": 1,
        "tstamp": 1763859600.5 + number,
    }


def _pair_prompt(question: str, answer_a: str, answer_b: str) -> str:
    answers = "\n\n".join(
        f"[The Start of Assistant {name}'s Answer]\n{answer}\n[The End of Assistant {name}'s Answer]"
        for name, answer in (("A", answer_a), ("B", answer_b))
    )
    return f"[User Question]\n{question}\n\n{answers}"


def _annotation(number: int, preference: float | None) -> dict[str, Any]:
    return {
        "instruction": f"{QUESTIONS[number % 3]} ({number})",
        "output_1": "I would rather not say.",
        "generator_1": "magpie-13b",
        "dataset": "our own",
        "output_2": ANSWERS[number % 3],
        "generator_2": "parrot-7b",
        "annotator": "weighted_offline_judge",
        "preference": preference,
        "raw_completion": {"text": "m", "logprobs": [-0.5, -1.25]},
        "time_per_example": 0.031,
        "price_per_example": 0.00125,
    }
