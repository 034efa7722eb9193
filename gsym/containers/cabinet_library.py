"""Reader of cabinets; None if the extra `cab` or its library is not installed.

A module of its own, as confined processes load it before they are confined.
"""

from __future__ import annotations

__all__ = ("libarchive",)

try:
    import libarchive
except (ImportError, OSError, AttributeError):  # the last two without the library
    libarchive = None
