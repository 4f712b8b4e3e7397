"""Parts of regular expressions."""


def repeated(alternatives: str) -> str:
    """Return a pattern that matches a group as often as possible and never gives a match back.

    It takes constant memory. Python before 3.11.5 matches possessive repeats of groups wrongly.
    """
    return f"(?>(?:(?>(?:{alternatives}){{1,1000}}))*)"


# A JSON string, without and with its quotation marks. With `re.DOTALL`, it may have line breaks.
STRING_BODY = repeated(r'[^"\\]++|\\.')
STRING = f'"{STRING_BODY}"'
