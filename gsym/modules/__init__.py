"""Modules: their names and ids, where their files are, and what these contain."""
