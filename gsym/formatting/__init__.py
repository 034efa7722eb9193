"""Answers in the formats that commands print."""
