"""Traces of Python programs."""
