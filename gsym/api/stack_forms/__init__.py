"""Forms in which people have stacks of addresses, one form a file."""
