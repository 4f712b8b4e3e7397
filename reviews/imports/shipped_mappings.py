"""The mappings that ship with the program, for files of well-known tools."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from reviews.records.mapping import FieldMapping, parse_mapping

FOLDER = Path(__file__).with_name("mappings")


class ShippedMapping(NamedTuple):
    """A mapping in the file `NAME.toml` of `FOLDER`."""

    #: The name for commands, pages and the API.
    name: str
    #: The content of the file, as in "The file contains ...".
    title: str
    #: Keys that each record of the tool has, for each form in which the tool writes its records.
    keys: tuple[set[str], ...]

    def fits(self, keys: set[str]) -> bool:
        """Return whether a record with these keys may come from the tool."""
        return any(form <= keys for form in self.keys)

    def read(self) -> FieldMapping:
        return _read(self.name)


SHIPPED = (
    ShippedMapping("promptfoo", "promptfoo results", ({"testIdx", "promptIdx", "provider", "prompt"},)),
    ShippedMapping("inspect-ai", "a log of Inspect", ({"id", "epoch", "input", "target", "scores"},)),
    ShippedMapping(
        "lm-eval",
        "samples of lm-evaluation-harness",
        ({"doc_id", "doc", "resps", "filtered_resps", "metrics"},),
    ),
    ShippedMapping(
        "deepeval",
        "DeepEval test results",
        ({"name", "success", "metrics_data"}, {"name", "success", "metricsData"}),
    ),
    ShippedMapping(
        "mt-bench",
        "MT-Bench judgments of single answers",
        ({"question_id", "model", "judge", "judgment", "score", "turn"},),
    ),
    ShippedMapping(
        "mt-bench-pair",
        "MT-Bench judgments of pairs of answers",
        ({"question_id", "model_1", "model_2", "judge", "g1_winner", "g2_winner"},),
    ),
    ShippedMapping(
        "alpaca-eval",
        "AlpacaEval annotations",
        ({"instruction", "output_1", "output_2", "annotator", "preference"},),
    ),
)
BY_NAME = {shipped.name: shipped for shipped in SHIPPED}


@cache
def _read(name: str) -> FieldMapping:
    return parse_mapping((FOLDER / f"{name}.toml").read_bytes())
