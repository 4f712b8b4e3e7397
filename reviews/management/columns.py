"""Print rows as aligned columns of plain text, the same on a terminal and in a pipe."""

from collections.abc import Collection, Iterator, Sequence

from reviews.records.wording import printable


def columns(
    titles: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Collection[int] = ()
) -> Iterator[str]:
    """Yield a line of titles and a line for each row; nothing without rows. `numbers` are aligned right."""
    if not rows:
        return
    lines = [[printable(text) for text in line] for line in (titles, *rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        padded = (
            text.rjust(width) if place in numbers else text.ljust(width)
            for place, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()
