"""Completions and manual pages of the commands, made from the declared options."""
