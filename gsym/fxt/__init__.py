"""Fuchsia traces as files: opened, and what their records say of each other."""
