"""What a check of the operations comes to: figures, and what was expected of them."""

from collections.abc import Iterable


class Missed(Exception):
    """Something was not as it should be."""


def expect(condition: object, sentence: str) -> None:
    """Raise `Missed` with what was expected unless the condition holds."""
    if not condition:
        raise Missed(sentence)


def tell(title: str, figures: Iterable[tuple[str, object]]) -> None:
    print(f"\n{title}")  # noqa: T201 this is what it is for
    for name, figure in figures:
        print(f"  {name}: {figure}")  # noqa: T201
