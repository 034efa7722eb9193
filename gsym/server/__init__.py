"""Transports: what answers over HTTP."""
