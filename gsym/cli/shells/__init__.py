"""Completions of the commands, made from the declared options."""
