"""symbfiles: read, print, check, compare, extract from debug information."""
