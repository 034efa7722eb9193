"""The zstd module, which is part of Python since 3.14."""

from __future__ import annotations

try:
    from compression import zstd
except ImportError:
    from backports import zstd

__all__ = ["zstd"]
