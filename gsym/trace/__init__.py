"""Fuchsia traces: what their events mean together, and other forms of them."""
