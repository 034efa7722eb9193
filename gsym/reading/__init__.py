"""Read GSYM files: lookups, functions, statistics."""
