"""Symbolize addresses of several modules; the Mozilla symbolication API."""
