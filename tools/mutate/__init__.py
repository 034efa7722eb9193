"""Damaged files of every kind, read under sanitizers."""
