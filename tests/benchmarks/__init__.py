"""Time and memory of imports, exports and pages, each against its limit. See docs/benchmarks.md."""
