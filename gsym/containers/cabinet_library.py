"""Reader of cabinets; None if the extra `cab` or its library is not installed.

A module of its own, as confined processes load it before they are confined.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

__all__ = ("libarchive",)

libarchive: Any
try:
    libarchive = import_module("libarchive")
except (ImportError, OSError, AttributeError):  # the last two without the library
    libarchive = None
