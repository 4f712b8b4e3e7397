"""How much work a text may cost, in proportion to its length."""

# Characters gone through: for each character of the text, and for a text however short.
WORK_PER_CHARACTER = 16
WORK_AT_LEAST = 100_000


class OverBudget(Exception):
    """Reading a text costs more than its length allows."""


class Budget:
    """Count the characters that reading a text goes through. Raises `OverBudget`."""

    def __init__(self, length: int) -> None:
        self.limit = WORK_AT_LEAST + WORK_PER_CHARACTER * length
        self.spent = 0

    def spend(self, characters: int) -> None:
        self.spent += characters
        if self.spent > self.limit:
            raise OverBudget
