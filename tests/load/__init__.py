"""Load and fault tests, as commands: see docs/load.md."""
