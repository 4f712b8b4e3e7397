"""Entry point of `manage.py`, of `cognireview` and of `python -m cognireview`.

Importing the program takes seconds the first time. `up` therefore prints a line before any import.
"""

import os
import sys


def main() -> None:
    """Run the command in `sys.argv`."""
    if sys.argv[1:2] == ["up"]:
        sys.stderr.write("cognireview: Loading the program...\n")
        # Without bytecode, each of the processes that `up` starts would compile every module again.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
    from cognireview import command_line  # noqa: PLC0415 only after the first line

    command_line.main()


if __name__ == "__main__":
    main()
