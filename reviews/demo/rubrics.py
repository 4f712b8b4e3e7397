"""The two rubrics of the demo run, and the judge's sentences about each criterion.

The sentences contain the placeholders `{given}` (the answer of the response), `{answer}` (the right answer),
`{result}` (an intermediate result), `{method}`, `{assumes}` and `{criticism}`.
"""

from typing import NamedTuple


class Criterion(NamedTuple):
    """The judge's sentences about a criterion."""

    name: str
    #: Sentences for Yes.
    praise: tuple[str, ...]
    #: The sentence for No on a wrong response. Without it, a wrong response gets Yes.
    blame: str = ""
    #: The sentence for Partial on a right response.
    quibble: str = ""


class Rubric(NamedTuple):
    """The criteria of a prompt template."""

    template: str
    criteria: tuple[Criterion, ...]


RUBRICS = (
    Rubric(
        "prompts/judging/Math-L1-judge-v1.0.txt",
        (
            Criterion(
                "correctness_of_final_answer",
                (
                    "The final answer {given} agrees with the ideal response.",
                    "The response arrives at {given}, which is the expected answer.",
                    "{given} is what the question asks for, and it is correct.",
                ),
                blame="The final answer {given} does not match the correct answer {answer}.",
            ),
            Criterion(
                "completeness_of_steps",
                (
                    "Every step is there ({method}), and each follows from the one before.",
                    "The way taken is {method}, carried through without a gap.",
                    "The solution, by {method}, is complete.",
                ),
                quibble="The step that leads to {result} is stated, but not shown.",
            ),
            Criterion(
                "accuracy_of_intermediate_results",
                (
                    "The intermediate result {result} is correct and correctly used.",
                    "I checked {result} and found no slip.",
                    "Intermediate results, in particular {result}, are right.",
                ),
                blame="There is an error on the way: {criticism}.",
            ),
            Criterion(
                "validity_of_assumptions",
                (
                    "The response assumes that {assumes}, which is valid here.",
                    "Its only assumption, that {assumes}, is stated and appropriate.",
                ),
                quibble="The response takes for granted, without saying so, that {assumes}.",
            ),
        ),
    ),
    Rubric(
        "prompts/judging/STEM-L1-judge-v1.2.txt",
        (
            Criterion(
                "Problem Understanding",
                (
                    "The question is restated correctly, and {method} is a suitable way to answer it.",
                    "The response sees that this calls for {method}.",
                ),
            ),
            Criterion(
                "Assumptions",
                (
                    "The response says that {assumes}; nothing else is assumed.",
                    "It is made clear that {assumes}.",
                ),
                quibble="It is never mentioned that {assumes}, although the solution depends on it.",
            ),
            Criterion(
                "Logical Implications",
                (
                    "Each line follows from the one before, up to {given}.",
                    "The reasoning ({method}) is sound.",
                ),
                blame="The reasoning breaks: {criticism}.",
            ),
            Criterion(
                "Results Formulae",
                (
                    "{result} is correct, and so is the result {given}.",
                    "The formula {result} is right, and {given} follows from it.",
                ),
                blame="The result should be {answer}, but the response gives {given}.",
            ),
            Criterion(
                "Rigor and Completeness",
                (
                    "Nothing is missing, and the notation is consistent.",
                    "The argument is rigorous enough for a question of this kind.",
                ),
                quibble="{given} is right, but how it comes out of {result} is left to the reader.",
            ),
        ),
    ),
)
