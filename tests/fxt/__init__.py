"""Fuchsia traces: matching, forms, commands."""
