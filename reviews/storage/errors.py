"""The error of an import that cannot take place."""


class ImportRefused(Exception):
    """An import as a whole was refused. The message is a sentence."""

    def __init__(self, reason: str, field: str = "file") -> None:
        super().__init__(reason)
        #: The cause of the refusal: "file", "run" or "mapping".
        self.field = field
