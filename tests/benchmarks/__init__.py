"""How fast and how lean the import and the export are, each against its own limit. See docs/benchmarks.md."""
