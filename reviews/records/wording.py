"""Word counts, shares and names in sentences for people."""


def percent(share: float) -> str:
    """Format a share from 0 to 1: "49%"."""
    return f"{share * 100:.0f}%"


def counted(count: int, one: str, many: str = "") -> str:
    """Format a number of things: "1 record", "2 records"."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def abbreviate(text: str, length: int = 60) -> str:
    """Return the first characters of a text, with "…" after them if there are more."""
    return text if len(text) <= length else f"{text[:length]}…"


def quoted(name: str) -> str:
    """Return a name within quotation marks, so that its commas do not read as the sentence's."""
    return f"“{name}”"
