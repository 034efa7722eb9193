"""Symbolizer markup: read logs, filter them."""
