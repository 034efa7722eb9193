"""Codecs: bytes or text and records, of formats that others defined."""
