"""The demo run is deterministic, its answers are right, and its errors are realistic."""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from reviews.demo.run import demo_context, demo_lines
from reviews.demo.tasks import PATTERNS, Pattern, Task, draw
from reviews.queue.allocation import BLIND, position
from reviews.records.contradictions import find_contradictions
from reviews.records.rubric import Rubric
from reviews.records.schema import FIELDS, Record, parse_line
from reviews.records.score_extraction import extract_scores


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    return list(demo_lines())


@pytest.fixture(scope="module")
def records(lines: list[bytes]) -> list[Record]:
    return [parse_line(line) for line in lines]


def judged(record: Record) -> dict[str, Any]:
    """Return the judge's scores, parsed by the pipeline or extracted from raw output."""
    return record.parsed_rubric_scores or {
        proposal.criterion: {"score": proposal.score, "justification": proposal.justification}
        for proposal in extract_scores(record.raw_judge_output).proposals
    }


@pytest.mark.slow
class TestDemoFile:
    def test_demo_file_is_the_same_every_time(self, lines: list[bytes]) -> None:
        assert list(demo_lines()) == lines
        assert list(demo_lines(seed=8)) != lines

    def test_shorter_demo_file_is_the_beginning_of_a_longer_one(self, lines: list[bytes]) -> None:
        assert list(demo_lines(33)) == lines[:33]

    def test_demo_file_is_spelled_like_the_pipelines(self, lines: list[bytes]) -> None:
        for line in lines:
            assert line == json.dumps(json.loads(line)).encode() + b"\n"
            assert tuple(json.loads(line)) == FIELDS

    def test_demo_file_has_200_records_of_40_tasks(self, records: list[Record]) -> None:
        assert len({record.evaluation_id for record in records}) == len(records) == 200
        assert len({record.task_id for record in records} - {None}) == 40
        assert len({record.model_id for record in records} - {None}) == 5
        assert len({record.judge_llm_model for record in records}) == 2
        assert len({record.judge_prompt_template_path for record in records}) == 2
        assert 0 < sum(record.task_id is None for record in records) < 10
        assert [record.created_at for record in records] == sorted(record.created_at for record in records)

    def test_first_demo_record_is_assisted_and_second_is_blind(self, records: list[Record]) -> None:
        waiting = [record for record in records if record.needs_human_review and record.model_id]
        first, second = sorted(waiting, key=lambda record: (int(record.task_id or 10**9), record.model_id))[
            :2
        ]
        assert (first.model_id, second.model_id) == ("claude-3-5-sonnet-latest", "o1")
        share = 0.15
        assert position(BLIND, first.evaluation_id) > share > position(BLIND, second.evaluation_id)


class TestDemoContext:
    def test_demo_context_covers_exactly_the_tasks_of_the_file(self, records: list[Record]) -> None:
        tasks = [json.loads(line) for line in demo_context()]
        assert [str(task["task_id"]) for task in tasks] == sorted(
            {record.task_id for record in records if record.task_id}
        )
        assert all(task["prompt"].endswith(".") and "$" in task["final_answer"] for task in tasks)


class TestDemoRecords:
    def test_three_in_five_demo_records_are_flagged_with_reasons(self, records: list[Record]) -> None:
        words = Counter(record.human_review_status for record in records)
        assert words == {"Needs Review": 120, "Not Required": 80}
        for record in records:
            waits = record.human_review_status == "Needs Review"
            assert record.needs_human_review == waits == bool(record.review_reasons)

    def test_demo_records_have_every_kind_of_error(self, records: list[Record]) -> None:
        errors = " ".join(record.parsing_error or "" for record in records)
        assert "missing the required top-level key: 'evaluation'" in errors
        assert "Invalid \\escape" in errors
        assert "Could not find JSON block" in errors
        steps = {step for record in records for step in extract_scores(record.raw_judge_output).steps}
        assert steps == {"fence", "unwrap", "backslash", "truncation"}
        kinds = {
            found.kind
            for record in records
            for found in find_contradictions(record, judged(record), Rubric())
        }
        assert kinds == {"verifier", "justification"}

    def test_unflagged_demo_records_have_no_contradiction(self, records: list[Record]) -> None:
        clean = [record for record in records if not record.needs_human_review]
        assert not any(find_contradictions(record, judged(record), Rubric()) for record in clean)
        assert Counter(record.aggregated_score for record in clean)["Pass"] > len(clean) / 2

    def test_scores_of_demo_records_can_be_extracted(self, records: list[Record]) -> None:
        for record in records:
            assert len(judged(record)) >= (4 if "```" in record.raw_judge_output["raw_content"][3:] else 2)
            if record.parsing_error:
                assert (record.parsed_rubric_scores, record.aggregated_score) == ({}, None)
            else:
                assert record.aggregated_score == Rubric().verdict(record.parsed_rubric_scores)

    def test_demo_responses_are_objects_and_plain_text(self, records: list[Record]) -> None:
        ideal = {type(record.structured_ideal_response) for record in records}
        assert ideal == {dict, str, type(None)}
        given = [record.structured_model_response for record in records]
        assert {type(response["response"]) for response in given if isinstance(response, dict)} == {dict, str}

    def test_latex_of_demo_records_is_undamaged(self, records: list[Record]) -> None:
        texts = [entry["justification"] for record in records for entry in judged(record).values()]
        texts += [json.dumps(record.structured_model_response) for record in records]
        assert not any(re.search(r"[\x00-\x1f]|@[a-z]|\{given\}|\{answer\}", text) for text in texts)
        assert any("$" in text for text in texts)
        assert any(r"\(" in text for text in texts)
        assert any(r"\[" in text for text in texts)


def paths_around(m: int, n: int, hole: tuple[int, int]) -> int:
    counts: dict[tuple[int, int], int] = {}
    for x, y in itertools.product(range(m + 1), range(n + 1)):
        ways = counts.get((x - 1, y), 0) + counts.get((x, y - 1), 0)
        counts[x, y] = 0 if (x, y) == hole else ways or 1
    return counts[m, n]


def same_colour(red: int, blue: int) -> Fraction:
    pairs = list(itertools.combinations("r" * red + "b" * blue, 2))
    return Fraction(sum(one == other for one, other in pairs), len(pairs))


def looks(n: int) -> int:
    """Return the maximum number of steps of a binary search over `n` values."""
    count = 0
    while n:
        n, count = n // 2, count + 1
    return count


# Compute the answer of each method from the numbers of the question, in another way than the task does.
CHECKS: dict[str, Callable[..., float | Fraction]] = {
    "inclusion and exclusion": lambda n, a, b: sum(k for k in range(n) if k % a == 0 or k % b == 0),
    "counting cases": same_colour,
    "Fermat's little theorem": lambda a, n, p: a**n % p,
    "the half-angle identity": lambda _0, _1, a, _2: round((1 - math.cos(a * 1e-4)) / 1e-8, 2),
    "optimisation": lambda length: max(x * (length - 2 * x) for x in range(length // 2)),
    "counting the paths through the point": lambda _0, _1, m, n, p, q: paths_around(m, n, (p, q)),
    "the equations of projectile motion": lambda v, angle: round(
        2 * v**2 * math.sin(math.radians(angle)) * math.cos(math.radians(angle)) / 9.81, 1
    ),
    "counting how the range shrinks": looks,
    "solving the discharge equation": lambda c, r, _1, n: round(-r * c * 1e-3 * math.log(1 / n), 2),
    "the lens equation": lambda u, f: 1 / (Fraction(1, f) - Fraction(1, u)),
    "Bayes' theorem": lambda s, f, p: Fraction(p * s, p * s + (100 - p) * f),
    "conservation of momentum": lambda light, v, heavy: (
        Fraction(light * v**2, 2) - Fraction((light * v) ** 2, 2 * (light + heavy))
    ),
}


def value(answer: str) -> Fraction:
    """Parse a LaTeX fraction or decimal number, ignoring the unit."""
    fraction = re.match(r"\\frac\{(\d+)\}\{(\d+)\}", answer)
    return Fraction(int(fraction[1]), int(fraction[2])) if fraction else Fraction(answer.partition("\\")[0])


def draws(pattern: Pattern) -> list[Task]:
    return [draw(pattern, Random(seed)) for seed in range(20)]


class TestDemoTasks:
    @pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.task.method)
    def test_mistakes_of_demo_tasks_lead_to_wrong_answers(self, pattern: Pattern) -> None:
        for task in draws(pattern):
            assert task.answer not in {wrong.answer for wrong in task.mistakes}
            assert task.answer in " ".join(task.steps) or len(task.answer.split(",")) == 2
            assert task.respelled != f"${task.answer}$"

    @pytest.mark.parametrize(
        "pattern",
        [pattern for pattern in PATTERNS if pattern.task.method in CHECKS],
        ids=lambda pattern: pattern.task.method,
    )
    def test_answers_of_demo_tasks_are_right(self, pattern: Pattern) -> None:
        for task in draws(pattern):
            numbers = [int(number) for number in re.findall(r"\d+", task.asked)]
            assert value(task.answer) == Fraction(str(CHECKS[task.method](*numbers)))

    def test_answers_of_most_demo_tasks_are_checked(self) -> None:
        unchecked = {pattern.task.method for pattern in PATTERNS} - set(CHECKS)
        assert len(PATTERNS) == 16
        assert unchecked == {
            "integration by parts",
            "the characteristic polynomial",
            "the master theorem",
            "inverting the bits and adding one",
        }

    def test_twos_complement_answer_and_number_add_up_to_zero(self) -> None:
        pattern = next(each for each in PATTERNS if "bits" in each.task.method)
        for task in draws(pattern):
            negative = int(re.findall(r"[01]{8}", task.answer)[0], 2)
            assert negative + int(re.findall(r"\d+", task.asked)[0]) == 256
