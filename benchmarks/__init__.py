"""The measurements of benchmarks/RESULTS.md; each module supports one claim."""
