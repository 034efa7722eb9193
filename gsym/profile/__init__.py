"""Profiles: stacks of addresses that programs were seen at, and what is there."""
