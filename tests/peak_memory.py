"""How much memory a process takes at most, as Linux counts it."""

from __future__ import annotations

import os

import pytest

knows_peak = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak is not known"
)

MEASURES = """
def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if field in line)

def begin():
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    return status("VmRSS:")

def peak():
    return status("VmHWM:")
"""
"""For scripts: `begin()` returns the bytes in use, `peak()` the most since."""
