"""Inputs of a conversion: each module opens one kind of file."""
