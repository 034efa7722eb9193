"""GSYM files by the identifiers of their modules, and where more come from."""
