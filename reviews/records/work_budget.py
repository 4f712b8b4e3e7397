"""Limit the work that reading a text may cost, in proportion to its length."""

# Characters that may be examined: per character of the text, and at least.
WORK_PER_CHARACTER = 16
WORK_AT_LEAST = 100_000


class OverBudget(Exception):
    """Reading a text costs more than its length allows."""


class Budget:
    """Count the characters examined while reading a text. Raises `OverBudget`."""

    def __init__(self, length: int) -> None:
        self.limit = WORK_AT_LEAST + WORK_PER_CHARACTER * length
        self.spent = 0

    def spend(self, characters: int) -> None:
        self.spent += characters
        if self.spent > self.limit:
            raise OverBudget
