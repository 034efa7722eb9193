"""All forms of lines, in order of preference."""

from __future__ import annotations

from gsym.modules.maps import MAPPING
from gsym.reports.stacks import (
    apple,
    debuggers,
    languages,
    linux,
    profilers,
    sanitizers,
)
from gsym.reports.stacks.line_forms import ImageForm

FRAMES = (
    *(*languages.FRAMES, *sanitizers.FRAMES, *linux.FRAMES),
    *(*debuggers.FRAMES, *apple.FRAMES, *profilers.FRAMES),
)
IMAGES = (
    *(*languages.IMAGES, *sanitizers.IMAGES, *linux.IMAGES),
    *(*debuggers.IMAGES, *apple.IMAGES, *profilers.IMAGES),
    ImageForm("-", MAPPING),
)
BETWEEN = (*languages.BETWEEN, *sanitizers.BETWEEN, *profilers.BETWEEN)
"""Lines among the frames of a stack that do not end it."""
