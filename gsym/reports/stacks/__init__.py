"""Pasted stacks, one module for each format."""
