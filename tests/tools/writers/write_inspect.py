"""Evaluate two samples with Inspect's mock model, and write a log in each format: `python FILE FOLDER`."""

import sys
from collections.abc import Iterable

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, model_graded_qa
from inspect_ai.solver import generate, system_message

ANSWERS = ("It is Paris.", "Seven.", "Nobody knows.")
GRADES = ("The answer matches.\nGRADE: C", "The sum is 5.\nGRADE: I", "In part.\nGRADE: P")


def mock_model(texts: Iterable[str]) -> Model:
    """Return a model that says these texts. With a usage, Inspect does not load a tokenizer."""
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=outputs)


def write(folder: str, log_format: str) -> None:
    task = Task(
        name="capitals",
        dataset=[
            Sample(
                id="france", input="What is the capital of France?", target="Paris", metadata={"level": 1}
            ),
            Sample(id=2, input=[ChatMessageUser(content="What is 2 + 3?")], target=["5", "five"]),
            Sample(input="Who was the first to spell “naïve”?", target="Nobody"),
        ],
        solver=[system_message("Be brief."), generate()],
        scorer=[includes(), model_graded_qa(model=mock_model(GRADES), partial_credit=True)],
    )
    [log] = evaluate(
        task, model=mock_model(ANSWERS), log_dir=folder, log_format=log_format, display="none", max_samples=1
    )
    if log.status != "success":
        sys.exit(str(log.error))


for name in ("json", "eval"):
    write(sys.argv[1], name)
