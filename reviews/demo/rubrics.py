"""The two rubrics of the demo run, read from rubrics.toml."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Criterion(NamedTuple):
    """The judge's sentences about a criterion."""

    name: str
    #: Sentences for Yes.
    praise: list[str]
    #: The sentence for No on a wrong response. Without it, a wrong response gets Yes.
    blame: str = ""
    #: The sentence for Partial on a right response.
    quibble: str = ""


class Rubric(NamedTuple):
    """The criteria of a prompt template."""

    template: str
    criteria: tuple[Criterion, ...]


RUBRICS = tuple(
    Rubric(rubric["template"], tuple(Criterion(**criterion) for criterion in rubric["criteria"]))
    for rubric in tomllib.loads((Path(__file__).parent / "rubrics.toml").read_text("utf-8"))["rubrics"]
)
