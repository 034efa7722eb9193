"""The measurements of docs/benchmarks.md; each module supports one claim."""
