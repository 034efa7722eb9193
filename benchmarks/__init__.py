"""Measurements behind docs/benchmarks.md; each module proves one claim."""
