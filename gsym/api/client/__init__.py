"""Clients of symbolication and symbol servers."""
