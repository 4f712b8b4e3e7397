"""Word counts, shares and names in sentences for people."""

from decimal import ROUND_HALF_UP, Decimal


def rounded(number: float, digits: int = 0) -> str:
    """Round a number as people do, away from zero in the middle: "13" for 12.5, and "1,000" for 999.5."""
    # Without the error of binary fractions, which would round 100 * 0.145 down.
    exact = Decimal(repr(round(float(number), 9)))
    # Adding 0 turns -0 into 0.
    return f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP) + 0:,f}"


def per_day(number: float) -> str:
    """Format work per day, with a decimal unless it is 0: "30.5", "12"."""
    return rounded(number, 1).removesuffix(".0")


def percent(share: float) -> str:
    """Format a share from 0 to 1: "49%"."""
    return f"{rounded(100 * share)}%"


def counted(count: int, one: str, many: str = "") -> str:
    """Format a number of things: "1 record", "2 records"."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def printable(text: str) -> str:
    """Replace control characters, which a terminal would obey. Texts come from files and addresses."""
    kept = text.replace("\u00a0", " ")
    return "".join(character if character.isprintable() else "\ufffd" for character in kept)


def abbreviate(text: str, length: int = 60) -> str:
    """Return the first characters of a text, with "…" after them if there are more."""
    return text if len(text) <= length else f"{text[:length]}…"


def shorten_middle(text: str, length: int = 60) -> str:
    """Return a text with "…" for its middle if it is longer: the ends of ids and names tell them apart."""
    if len(text) <= length:
        return text
    end = length // 3
    return f"{text[: length - 1 - end]}…{text[-end:]}"


def quoted(name: str) -> str:
    """Return a name within quotation marks, so that its commas do not read as the sentence's."""
    return f"“{name}”"
