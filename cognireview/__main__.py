"""Entry point of `manage.py`, of `cognireview` and of `python -m cognireview`.

Importing the program takes seconds the first time. `up` therefore prints a line before any import. `mcp` runs
without the server's packages.
"""

import gc
import os
import sys

_NEEDS_PACKAGES = (
    "This Python has no package {name}, which the server needs. In a checkout: uv run manage.py up\n"
)
_NEEDS_EXTRA = "The MCP server needs further packages: pip install 'cognireview[mcp]'.\n"


def main() -> None:
    if sys.argv[1:2] == ["up"]:
        if all(map(_is_valid, sys.argv[2:])):
            sys.stderr.write("cognireview: Loading the program...\n")
        # Without bytecode, each of the processes that `up` starts would compile every module again.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False
    if sys.argv[1:] in (["--version"], ["version"]):
        from importlib.metadata import version  # noqa: PLC0415 takes longer than the rest of this module

        sys.stdout.write(f"CogniReview {version('cognireview')}\n")
        return
    if sys.argv[1:2] == ["mcp"]:
        sys.exit(_serve_assistant(sys.argv[2:]))
    if sys.argv[1:3] == ["help", "mcp"]:
        sys.exit(_serve_assistant(["--help"]))
    # Imports leave hardly any garbage. The collector, which looks for it all the time, is enabled after them.
    gc.disable()
    try:
        from cognireview import command_line  # noqa: PLC0415 only after the first line
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith(("cognireview", "reviews")):
            raise
        sys.stderr.write(_NEEDS_PACKAGES.format(name=error.name))
        sys.exit(2)
    command_line.main()


def _is_valid(argument: str) -> bool:
    """Return whether `up` will start with an argument, and not report an error or print its help."""
    port = argument.removeprefix("--port=")
    return argument in ("--demo", "--port") or (port.isdecimal() and 0 < int(port) < 2**16)


def _serve_assistant(arguments: list[str]) -> int:
    try:
        from cognireview.assistants import server  # noqa: PLC0415 needs an extra
    except ModuleNotFoundError:
        sys.stderr.write(_NEEDS_EXTRA)
        return 2
    return server.main(arguments)


if __name__ == "__main__":
    main()
