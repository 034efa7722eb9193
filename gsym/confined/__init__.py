"""Processes that read files of strangers, and what they may do."""
