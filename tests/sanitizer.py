"""Whether the engine under test has sanitizers, which change time and memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def has_address_sanitizer() -> bool:
    maps = Path("/proc/self/maps")
    return maps.exists() and "libasan" in maps.read_text()


def drop_refused_flag() -> None:
    """Load libraries without a flag at which AddressSanitizer ends the process.

    Packages such as capstone use the flag where Python has it.
    """
    if has_address_sanitizer() and hasattr(os, "RTLD_DEEPBIND"):
        del os.RTLD_DEEPBIND


no_sanitizer = pytest.mark.skipif(
    has_address_sanitizer(), reason="the sanitizer itself reserves terabytes"
)
