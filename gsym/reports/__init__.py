"""Stacks of reports, processes and cores; the GSYM files of binaries."""
