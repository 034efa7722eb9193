"""Whether the engine under test has sanitizers, which change time and memory."""

from __future__ import annotations

from pathlib import Path

import pytest


def has_address_sanitizer() -> bool:
    maps = Path("/proc/self/maps")
    return maps.exists() and "libasan" in maps.read_text()


no_sanitizer = pytest.mark.skipif(
    has_address_sanitizer(), reason="the sanitizer itself reserves terabytes"
)
