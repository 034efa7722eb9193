"""Modules: their names and ids, and when two of them are the same build."""
