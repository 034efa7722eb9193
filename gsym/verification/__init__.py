"""Verify GSYM files."""
