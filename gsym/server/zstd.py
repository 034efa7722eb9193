"""zstd, which Python has from 3.14 on."""

from __future__ import annotations

try:
    from compression import zstd
except ImportError:
    from backports import zstd

__all__ = ["zstd"]
